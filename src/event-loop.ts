/** Divides long work into steps, so that the event loop continues between them. */
import { setImmediate as nextTurn } from 'node:timers/promises';

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
