/** Health checks of an idle connection. */
import { messageOf, RpcError } from '../../errors.ts';
import type { Link } from './link.ts';

/** The timeout of a check in ms; a shorter check interval takes precedence. */
const CHECK_TIMEOUT = 10_000;

export interface HealthOptions {
  /** Milliseconds between two checks. */
  interval: number;
  /** The number of consecutive failed checks after which the upstream is unhealthy. */
  failures: number;
  /** Returns true while calls are pending: a busy upstream may not answer a ping in time. */
  busy(): boolean;
  /** Returns the monotonic ms of the last response. */
  heard(): number;
  /** Called for every failed check with the number of consecutive failures. */
  missed(reason: string, count: number): void;
  /** Called once, after `failures` failed checks in a row. */
  unhealthy(reason: string): void;
}

/** Checks a connection until the returned function is called. */
export function watchHealth(link: Pick<Link, 'peer' | 'handshake'>, options: HealthOptions): () => void {
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

/**
 * Returns the reason of a failed check. Any response passes, also an error. The modern era has no `ping`, so it gets
 * `tools/list`.
 */
async function failureOf({ peer, handshake }: Pick<Link, 'peer' | 'handshake'>, timeout: number, signal: AbortSignal) {
  try {
    await peer.request(handshake.era === 'modern' ? 'tools/list' : 'ping', undefined, { timeout, signal });
    return undefined;
  } catch (error) {
    return error instanceof RpcError ? undefined : messageOf(error);
  }
}
