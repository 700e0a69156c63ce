/** Collects items for a short time, because handling many at once is cheaper than handling each. */

export interface Batcher<T> {
  readonly isEmpty: boolean;
  add(one: T): void;
  /** Handles all waiting items now. */
  flush(): void;
}

/** Milliseconds that an item waits for others; `MOST` is the maximum number of waiting items. */
const GATHER = 20;
const MOST = 64;

/** Creates a batcher. `take` gets all waiting items in their order, and is never called with an empty list. */
export function createBatcher<T>(take: (all: T[]) => void): Batcher<T> {
  let waiting: T[] = [];
  let timer: NodeJS.Timeout | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting.length === 0) return;
    const all = waiting;
    waiting = [];
    take(all);
  };
  return {
    get isEmpty() {
      return waiting.length === 0;
    },
    add(one) {
      waiting.push(one);
      if (waiting.length >= MOST) flush();
      else timer ??= setTimeout(flush, GATHER).unref();
    },
    flush,
  };
}
