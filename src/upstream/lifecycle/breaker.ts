/** Circuit breaker: after several transport failures in a row calls fail fast, and one call at a time probes. */
import { McpxError } from '../../errors.ts';

/** Consecutive transport failures after which calls fail fast. */
export const BREAKER_LIMIT = 5;

export interface Breaker {
  /** Transport failures since the last response. */
  readonly failures: number;
  /** True while calls fail fast. */
  readonly open: boolean;
  /**
   * Counts a failure; the next attempt is at `until` (epoch ms). Concurrent calls fail together, so a call that began
   * (`since`, monotonic ms) before the last failure is not counted again.
   */
  failed(failure: McpxError, until: number, since?: number): void;
  /** Allows a probe at once after a reconnect; only a response resets the failure count. */
  connected(): void;
  /** Resets the failure count after a response. */
  succeeded(): void;
  /** Admits a call or throws. The returned function, if any, must be called when the call has ended. */
  enter(): (() => void) | undefined;
  /** Returns the error for a call that is not admitted; undefined while the breaker is closed. */
  refusal(): McpxError | undefined;
}

export function createBreaker(): Breaker {
  let failures = 0;
  let last: { failure: McpxError; at: number; until: number } | undefined;
  let probing = false;

  const tripped = () => failures >= BREAKER_LIMIT;
  const open = () => tripped() && Date.now() < (last?.until ?? 0);
  const refusal = () => (tripped() && last ? refusalOf(last.failure, failures, last.until) : undefined);

  return {
    get failures() {
      return failures;
    },
    get open() {
      return open();
    },
    failed(failure, until, since = Number.POSITIVE_INFINITY) {
      if (last && since <= last.at) return;
      failures += 1;
      last = { failure, at: performance.now(), until };
    },
    connected() {
      if (last) last.until = Date.now();
    },
    succeeded() {
      if (failures === 0) return;
      failures = 0;
      last = undefined;
    },
    enter() {
      if (!tripped()) return undefined;
      const refused = open() || probing ? refusal() : undefined;
      if (refused) throw refused;
      probing = true;
      return () => {
        probing = false;
      };
    },
    refusal,
  };
}

function refusalOf(failure: McpxError, failures: number, until: number): McpxError {
  const wait = until - Date.now();
  const next = wait > 0 ? `next try in ${seconds(wait)}` : 'it is being tried again now';
  return new McpxError(failure.code, `${failure.message}; ${failures} failures in a row, ${next}`, {
    hint: failure.hint,
    cause: failure,
  });
}

/** Formats a wait in whole seconds, at least one. */
export function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1000))} s`;
}
