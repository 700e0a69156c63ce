/** How many processes that were started only to be listed are alive at once. Where others wait, those that were listed stop at once. */

/** A process that was started only to be listed. */
export interface OnlyListed {
  /** Whether it was listed, and may be stopped. */
  isIdle(): boolean;
  stop(): void;
}

export interface ListingPlaces {
  /** Resolves when it may be started; at once where there is room. */
  enter(one: OnlyListed): Promise<void>;
  /** It has ended, or is no longer such a process; also for one that waits, which then need not. */
  leave(one: OnlyListed): void;
  /** It may be one that can be stopped. */
  look(): void;
}

/** ms for which one that does not come to its end keeps others waiting: a server that hangs must not hold up all that come after it. */
export const LISTING_TURN = 10_000;

export function createListingPlaces(limit: number): ListingPlaces {
  /** Those that have a place, with the timers that take it from them. */
  const placed = new Map<OnlyListed, NodeJS.Timeout>();
  const waiting = new Map<OnlyListed, () => void>();
  const stopping = new Set<OnlyListed>();

  const admit = (one: OnlyListed) => {
    placed.set(one, setTimeout(() => leave(one), LISTING_TURN).unref());
    const resolve = waiting.get(one);
    waiting.delete(one);
    resolve?.();
  };
  const fill = () => {
    for (const one of waiting.keys()) {
      if (placed.size >= limit) break;
      admit(one);
    }
  };
  const look = () => {
    for (const one of placed.keys()) {
      if (stopping.size >= waiting.size) return;
      if (stopping.has(one) || !one.isIdle()) continue;
      stopping.add(one);
      one.stop();
    }
  };
  const leave = (one: OnlyListed) => {
    waiting.get(one)?.();
    waiting.delete(one);
    stopping.delete(one);
    clearTimeout(placed.get(one));
    if (placed.delete(one)) fill();
  };

  return {
    enter(one) {
      return new Promise((resolve) => {
        waiting.set(one, resolve);
        fill();
        look();
      });
    },
    leave,
    look,
  };
}
