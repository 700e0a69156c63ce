/** What is cheaper done for many than for each: waits a moment for more of its kind. */

export interface Gathered<T> {
  readonly isEmpty: boolean;
  add(one: T): void;
  /** Does it now for all that wait. */
  flush(): void;
}

/** ms, and how many, that wait for others. */
const GATHER = 20;
const MOST = 64;

/** `take` gets all that waited, in their order, and is never called for nothing. */
export function gather<T>(take: (all: T[]) => void): Gathered<T> {
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
