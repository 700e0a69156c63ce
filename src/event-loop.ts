/** The event loop: the limit of its timers, and steps of long work between which it continues. */
import { setImmediate as nextTurn } from 'node:timers/promises';

/** The longest delay of a Node timer in ms; a timer with a longer delay fires at once. */
export const LONGEST_TIMER = 2 ** 31 - 1;

/** Milliseconds of one step. */
const STEP = 5;

export interface Steps {
  /** True if the current step has taken long enough. */
  isOver(): boolean;
  /** Resolves when pending events were handled, and begins the next step. */
  next(): Promise<void>;
}

export function beginSteps(): Steps {
  let began = performance.now();
  return {
    isOver: () => performance.now() - began >= STEP,
    async next() {
      await nextTurn();
      began = performance.now();
    },
  };
}

/** Work that can be interrupted at each `yield`. */
export type Interruptible<T> = Generator<undefined, T, undefined>;

/** Runs work in steps. The first step is done at once, so that short work is done when this returns. */
export async function runInSteps<T>(work: Interruptible<T>, steps = beginSteps()): Promise<T> {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
    if (steps.isOver()) await steps.next();
  }
}

export function runAtOnce<T>(work: Interruptible<T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done) return value;
  }
}
