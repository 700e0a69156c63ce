/** Limits how many processes run only to be listed. If others wait, listed ones and ones that hang are stopped. */

/** A process that was started only to be listed. */
export interface OnlyListed {
  /** Returns true if the server has been listed and may be stopped. */
  isIdle(): boolean;
  stop(): void;
  /** Stops the process of a start or of lists that have not ended; these then enter again. */
  interrupt(): void;
}

export interface ListingLimit {
  /** Resolves when the server may be started; at once if a place is free or if it has one. */
  enter(one: OnlyListed): Promise<void>;
  /** Takes a free place; false if there is none or if others wait. */
  tryEnter(one: OnlyListed): boolean;
  /** Frees the place of a process that has ended or is now used by a client. A waiting entry is admitted. */
  leave(one: OnlyListed): void;
  /** Frees a place; an entry that waits goes on waiting. */
  release(one: OnlyListed): void;
  /** Called when a launcher begins to download the server, and when it has ended: a download keeps its place. */
  downloads(one: OnlyListed, isDownloading: boolean): void;
  /** Stops processes if others wait. */
  look(): void;
}

/** Milliseconds after which a start is interrupted if others wait: a server that hangs must not block them. */
export const MAX_LISTING_TIME = 10_000;

interface Waiting {
  admitted: Promise<void>;
  admit(): void;
}

function createEntry(): Waiting {
  let admit = () => {};
  const admitted = new Promise<void>((resolve) => {
    admit = resolve;
  });
  return { admitted, admit };
}

/**
 * At most `limit` processes have a place. A start is interrupted once, for servers that have not been started yet; then
 * it comes after all of them, and its start timeout ends it.
 */
export function createListingLimit(limit: number, maxTime = MAX_LISTING_TIME): ListingLimit {
  /** The admitted processes with the timers that make them overdue; a download has no timer. */
  const placed = new Map<OnlyListed, NodeJS.Timeout | undefined>();
  const overdue = new Set<OnlyListed>();
  const waiting = new Map<OnlyListed, Waiting>();
  /** Processes that end to free their places. */
  const stopping = new Set<OnlyListed>();
  /** Servers whose start was interrupted. */
  const interrupted = new Set<OnlyListed>();

  const timed = (one: OnlyListed) =>
    setTimeout(() => {
      overdue.add(one);
      look();
    }, maxTime).unref();
  const fill = () => {
    for (const [one, { admit }] of waiting) {
      if (placed.size >= limit) break;
      waiting.delete(one);
      placed.set(one, timed(one));
      admit();
    }
  };
  const look = () => {
    for (const one of placed.keys()) {
      if (stopping.size >= waiting.size) return;
      if (stopping.has(one) || !one.isIdle()) continue;
      stopping.add(one);
      one.stop();
    }
    const unstarted = [...waiting.keys()].filter((one) => !interrupted.has(one)).length;
    for (const one of overdue) {
      if (stopping.size >= unstarted) return;
      if (stopping.has(one) || interrupted.has(one)) continue;
      stopping.add(one);
      interrupted.add(one);
      one.interrupt();
    }
  };
  const release = (one: OnlyListed) => {
    clearTimeout(placed.get(one));
    overdue.delete(one);
    stopping.delete(one);
    if (placed.delete(one)) fill();
  };

  return {
    enter(one) {
      const isInterrupted = stopping.has(one) && interrupted.has(one);
      if (placed.has(one) && !isInterrupted) return Promise.resolve();
      const entry = waiting.get(one) ?? createEntry();
      waiting.set(one, entry);
      if (isInterrupted) release(one);
      fill();
      look();
      return entry.admitted;
    },
    tryEnter(one) {
      if (placed.size >= limit || waiting.size > 0) return false;
      placed.set(one, undefined);
      return true;
    },
    leave(one) {
      waiting.get(one)?.admit();
      waiting.delete(one);
      interrupted.delete(one);
      release(one);
    },
    release,
    downloads(one, isDownloading) {
      if (!placed.has(one)) return;
      clearTimeout(placed.get(one));
      overdue.delete(one);
      placed.set(one, isDownloading ? undefined : timed(one));
    },
    look,
  };
}
