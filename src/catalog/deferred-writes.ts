/** Writes to disk that wait until lists have not changed for a moment, so that they delay no answer. */
import { beginSteps, type Interruptible, runAtOnce } from '../event-loop.ts';

/** Milliseconds without a change after which is written, and the longest wait of a change. */
const QUIET = 300;
const LONGEST = 3000;

export interface DeferredWrites {
  /** Adds a write; it replaces a pending one with this key. A write must not throw. */
  add(key: string, write: () => Interruptible<void>): void;
  /** Writes everything that is pending before it returns. */
  flush(): void;
}

export function createDeferredWrites(): DeferredWrites {
  const pending = new Map<string, () => Interruptible<void>>();
  let timer: NodeJS.Timeout | undefined;
  let since = 0;
  let isWriting = false;

  const writePending = async () => {
    timer = undefined;
    isWriting = true;
    const steps = beginSteps();
    for (const [key, write] of pending) {
      const work = write();
      // A replaced write is not finished; the new one follows.
      while (pending.get(key) === write && !work.next().done) if (steps.isOver()) await steps.next();
      if (pending.get(key) === write) pending.delete(key);
      if (steps.isOver()) await steps.next();
    }
    isWriting = false;
    if (pending.size > 0) schedule();
  };

  const schedule = () => {
    const now = performance.now();
    if (timer === undefined) since = now;
    clearTimeout(timer);
    timer = setTimeout(() => void writePending(), Math.max(0, Math.min(QUIET, since + LONGEST - now))).unref();
  };

  return {
    add(key, write) {
      // A replaced write moves to the end, so that the loop in progress reaches it.
      pending.delete(key);
      pending.set(key, write);
      if (!isWriting) schedule();
    },
    flush() {
      clearTimeout(timer);
      timer = undefined;
      const writes = [...pending.values()];
      pending.clear();
      for (const write of writes) runAtOnce(write());
    },
  };
}
