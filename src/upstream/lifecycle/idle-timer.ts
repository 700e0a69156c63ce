/** Detects a connection that has been idle for a given time. */
import { LONGEST_TIMER } from '../../event-loop.ts';

export interface IdleOptions {
  /** Returns the idle time in ms, which may grow while the connection is in use; 0 = never. */
  after(): number;
  /** Returns true while the connection is in use. */
  busy(): boolean;
  /** Returns the monotonic ms of the last use. */
  used(): number;
  /** Called once when the connection is idle. */
  idle(): void;
}

/**
 * Watches until the returned function is called. A call sets no timer: the remaining time is computed when the timer
 * fires.
 */
export function watchIdle({ after, busy, used, idle }: IdleOptions): () => void {
  if (after() <= 0) return () => undefined;
  let timer: NodeJS.Timeout;
  const arm = (ms: number) => {
    timer = setTimeout(look, Math.min(Math.max(1, ms), LONGEST_TIMER));
    timer.unref();
  };
  const look = () => {
    const left = used() + after() - performance.now();
    if (busy()) arm(after());
    else if (left >= 1) arm(left);
    else idle();
  };
  arm(after());
  return () => clearTimeout(timer);
}
