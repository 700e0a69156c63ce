/** HTTP requests under way, looked at together a few times a second: a timer for each would cost more than most of what is done for it. */
import type { Trace } from './trace.ts';

export interface UnderWay extends Iterable<Trace> {
  add(trace: Trace): void;
  remove(trace: Trace): void;
  close(): void;
}

/** ms between two looks. */
const LOOK = 125;
/** ms after which an answer is slow. */
const PATIENCE = 500;

/** `look` is called at every look, while there are any. They are in the order in which they came, and each joins and leaves with a few writes. */
export function createUnderWay(look: (all: Iterable<Trace>) => void): UnderWay {
  let first: Trace | undefined;
  let last: Trace | undefined;
  let timer: NodeJS.Timeout | undefined;

  function* all(): Generator<Trace> {
    for (let next = first; next !== undefined; ) {
      const trace = next;
      // Whoever looks at it may end it.
      next = trace.after;
      yield trace;
    }
  }
  const lookAround = () => {
    timer = undefined;
    const now = performance.now();
    for (const trace of all()) if (now - trace.began >= PATIENCE) trace.isSlow();
    look({ [Symbol.iterator]: all });
    if (first !== undefined) schedule();
  };
  const schedule = () => {
    timer ??= setTimeout(lookAround, LOOK).unref();
  };

  return {
    add(trace) {
      trace.before = last;
      if (last === undefined) first = trace;
      else last.after = trace;
      last = trace;
      schedule();
    },
    remove(trace) {
      const { before, after } = trace;
      if (before === undefined) first = after;
      else before.after = after;
      if (after === undefined) last = before;
      else after.before = before;
      // One that has left must not keep those alive that came after it.
      trace.before = undefined;
      trace.after = undefined;
    },
    close: () => clearTimeout(timer),
    [Symbol.iterator]: all,
  };
}
