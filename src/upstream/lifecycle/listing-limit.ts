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
  /** Called when a launcher begins to download the server, and when it has ended: a download keeps its place. */
  downloads(one: OnlyListed, isDownloading: boolean): void;
  /** Stops idle listed processes if others wait. */
  look(): void;
}

/** Milliseconds after which a process loses its place: a server that hangs must not block the others. */
export const MAX_LISTING_TIME = 10_000;

/** At most `limit` processes have a place, and at most as many are alive after they lost theirs. */
export function createListingLimit(limit: number): ListingLimit {
  /** The admitted processes with the timers that free their places; a download has no timer. */
  const placed = new Map<OnlyListed, NodeJS.Timeout | undefined>();
  /** Processes that hang and keep their places, because `slow` is full. */
  const late = new Set<OnlyListed>();
  /** Processes that hang and have lost their places. */
  const slow = new Set<OnlyListed>();
  const waiting = new Map<OnlyListed, () => void>();
  const stopping = new Set<OnlyListed>();

  const expire = (one: OnlyListed) =>
    setTimeout(() => {
      late.add(one);
      fill();
    }, MAX_LISTING_TIME).unref();
  const admit = (one: OnlyListed) => {
    placed.set(one, expire(one));
    const resolve = waiting.get(one);
    waiting.delete(one);
    resolve?.();
  };
  const fill = () => {
    for (const one of late) {
      if (slow.size >= limit) break;
      late.delete(one);
      placed.delete(one);
      slow.add(one);
    }
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

  return {
    enter(one) {
      return new Promise((resolve) => {
        waiting.set(one, resolve);
        fill();
        look();
      });
    },
    leave(one) {
      waiting.get(one)?.();
      waiting.delete(one);
      stopping.delete(one);
      clearTimeout(placed.get(one));
      late.delete(one);
      const wasSlow = slow.delete(one);
      if (placed.delete(one) || wasSlow) fill();
    },
    downloads(one, isDownloading) {
      if (!placed.has(one)) return;
      clearTimeout(placed.get(one));
      late.delete(one);
      placed.set(one, isDownloading ? undefined : expire(one));
    },
    look,
  };
}
