/** Stops asking an upstream that keeps failing: after a few transport failures in a row calls are answered at once, and one at a time probes. */
import { McpxError } from '../errors.ts';

/** Transport failures in a row before calls are answered at once. */
export const BREAKER_LIMIT = 5;

export interface Breaker {
  /** Transport failures since something last came back. */
  readonly failures: number;
  /** Whether calls are answered at once now. */
  readonly open: boolean;
  /**
   * One more failure; the next try is at `until` (epoch ms). Calls that were under way together fail together, so one that began
   * (`since`, monotonic ms) before the last failure is no further failure.
   */
  failed(failure: McpxError, until: number, since?: number): void;
  /** The upstream can be reached again: whether it also answers is for the next call to find out. */
  connected(): void;
  /** Something came back. */
  succeeded(): void;
  /** Lets a call pass or throws. What it returns, if anything, is called when that call is over. */
  enter(): (() => void) | undefined;
  /** Why a call that is no probe cannot pass. */
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

/** A wait for people: whole seconds, at least one. */
export function seconds(ms: number): string {
  return `${Math.max(1, Math.ceil(ms / 1000))} s`;
}
