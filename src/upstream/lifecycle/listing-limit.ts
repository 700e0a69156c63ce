/** Limits how many processes run only to be listed. If others wait, listed ones are stopped at once. */

/** A process that was started only to be listed. */
export interface OnlyListed {
  /** Returns true if the server has been listed and may be stopped. */
  isIdle(): boolean;
  stop(): void;
}

export interface ListingLimit {
  /** Resolves when the server may be started; at once if a place is free. */
  enter(one: OnlyListed): Promise<void>;
  /** Frees the place of a process that has ended or is now used by a client. A waiting entry is admitted. */
  leave(one: OnlyListed): void;
  /** Stops idle listed processes if others wait. */
  look(): void;
}

/** Milliseconds after which a process loses its place: a server that hangs must not block the others. */
export const MAX_LISTING_TIME = 10_000;

export function createListingLimit(limit: number): ListingLimit {
  /** The admitted processes with the timers that free their places. */
  const placed = new Map<OnlyListed, NodeJS.Timeout>();
  const waiting = new Map<OnlyListed, () => void>();
  const stopping = new Set<OnlyListed>();

  const admit = (one: OnlyListed) => {
    placed.set(one, setTimeout(() => leave(one), MAX_LISTING_TIME).unref());
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
