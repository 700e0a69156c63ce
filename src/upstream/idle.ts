/** Notices when a connection has not been used for a while. */

export interface IdleOptions {
  /** ms without use, which may become more while it is used; 0 = never. */
  after(): number;
  /** Whether it is in use right now. */
  busy(): boolean;
  /** Monotonic ms of the last use. */
  used(): number;
  /** Called once. */
  idle(): void;
}

/** Timers beyond this fire at once in Node. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** Watches until the returned function is called. A call costs no timer: the time left is worked out when the timer fires. */
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
