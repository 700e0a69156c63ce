/** When to try again after a failure, and whether a connected upstream that nobody asks anything still answers. */
import { messageOf, RpcError } from '../errors.ts';
import type { Link } from './link.ts';

/** ms; the longest pause between two tries. */
const LONGEST = 30_000;
const JITTER = 0.2;
/** ms that an upstream must have been up for its next failure to count as the first. */
export const STABLE_AFTER = 10_000;
/** ms a check may take at most; where checks are closer together, until the next one. */
const CHECK_TIMEOUT = 10_000;

/** Pause in ms before the next try: the first interval, doubled with each further failure, ±20 % so that many do not come back at once. */
export function retryDelay(failures: number, interval: number, random: () => number = Math.random): number {
  const base = Math.min(interval * 2 ** Math.max(0, failures - 1), Math.max(LONGEST, interval));
  return Math.round(base * (1 - JITTER + 2 * JITTER * random()));
}

export interface HealthOptions {
  /** ms between two checks. */
  interval: number;
  /** Checks in a row that must fail. */
  failures: number;
  /** Whether calls are under way: an upstream at work may be too busy to answer a ping. */
  busy(): boolean;
  /** Monotonic ms of the last answer. */
  heard(): number;
  /** Told of every check that failed, with how many did so in a row. */
  missed(reason: string, count: number): void;
  /** Called once, after `failures` in a row. */
  unhealthy(reason: string): void;
}

/** Checks a conversation until the returned function is called. */
export function watchHealth(link: Pick<Link, 'peer' | 'hello'>, options: HealthOptions): () => void {
  let missed = 0;
  let checking = false;
  const over = new AbortController();

  const check = async () => {
    if (checking) return;
    if (options.busy() || performance.now() - options.heard() < options.interval) {
      missed = 0;
      return;
    }
    checking = true;
    const reason = await failureOf(link, Math.min(options.interval, CHECK_TIMEOUT), over.signal);
    checking = false;
    if (over.signal.aborted) return;
    missed = reason === undefined ? 0 : missed + 1;
    if (reason === undefined) return;
    options.missed(reason, missed);
    if (missed < options.failures) return;
    stop();
    options.unhealthy(reason);
  };
  const timer = setInterval(() => void check(), options.interval);
  timer.unref();
  const stop = () => {
    clearInterval(timer);
    over.abort();
  };
  return stop;
}

/** Any answer will do, also a refusal: the upstream is there. `ping` is gone from the modern era, so a list takes its place. */
async function failureOf({ peer, hello }: Pick<Link, 'peer' | 'hello'>, timeout: number, signal: AbortSignal) {
  try {
    await peer.request(hello.era === 'modern' ? 'tools/list' : 'ping', undefined, { timeout, signal });
    return undefined;
  } catch (error) {
    return error instanceof RpcError ? undefined : messageOf(error);
  }
}
