/** Sends one call to an upstream: queues it, waits for a connection, and retries only if that is safe. */
import type { CancelSignal } from '../../cancel-signal.ts';
import type { ServerSpec } from '../../config/config.ts';
import { cancelled, McpxError, messageOf, RpcError } from '../../errors.ts';
import type { Params } from '../../wire/message.ts';
import { isUndelivered, undelivered } from '../../wire/undelivered.ts';
import type { CallOptions, SendRequest, TimedOptions } from '../call-options.ts';
import type { ConnectionState } from '../connection-interface.ts';
import { withEnvelope } from '../era/input-required.ts';
import { BREAKER_LIMIT, type Breaker, seconds } from './breaker.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Link } from './link.ts';
import type { Slots } from './queue.ts';
import { retryDelay } from './retry-delay.ts';

export interface AskDeps {
  spec: Pick<ServerSpec, 'name' | 'reconnect'>;
  /** Milliseconds that a call waits for a connection. */
  connectWait: number;
  lifecycle: Pick<Lifecycle, 'state' | 'link' | 'handshake' | 'open' | 'replace' | 'fail' | 'recovers' | 'refusal'>;
  breaker: Breaker;
  slots: Slots;
  /** True if several clients share the connection; then each client gets a share of the slots. */
  shared: boolean;
  /** Called when a call has ended. */
  over(): void;
}

export function isTimed(wanted: CallOptions | undefined): wanted is TimedOptions {
  return wanted?.timeout !== undefined;
}

export function createSender({ spec, connectWait, lifecycle, breaker, slots, shared, over }: AskDeps): SendRequest {
  /**
   * Returns the open connection or waits for the next one. A lost connection is awaited; a first connect that failed
   * rejects at once.
   */
  const reach = async (method: string, deadline: number, signal: CancelSignal | undefined): Promise<Link> => {
    for (;;) {
      if (lifecycle.link) return lifecycle.link;
      if (signal?.aborted) throw cancelled(method);
      const left = deadline - performance.now();
      try {
        return await within(lifecycle.open(left), { method, signal, left, spec, lifecycle });
      } catch (error) {
        const rest = deadline - performance.now();
        if (rest <= 0 || signal?.aborted) throw error;
        if (!lifecycle.recovers(rest)) throw (lifecycle.handshake && lifecycle.refusal(rest)) ?? error;
      }
    }
  };

  /** Returns a connection that meets the precondition of the call. */
  const reachRelied = async ({ method, wanted, since }: Asked): Promise<Link> => {
    const { signal, precondition, timeout } = wanted;
    const deadline = since + Math.min(timeout, connectWait);
    for (;;) {
      const link = await reach(method, deadline, signal);
      if (precondition === undefined || precondition.isMet(link.handshake)) return link;
      if (signal?.aborted) throw cancelled(method);
      const left = deadline - performance.now();
      const holds = await within(precondition.satisfy(link.handshake, wanted), {
        method,
        signal,
        left,
        spec,
        lifecycle,
      });
      if (lifecycle.link !== link) continue;
      if (holds) return link;
      throw undelivered(`server "${spec.name}" did not say what it offers`);
    }
  };

  /** Counts a transport failure; after too many in a row the connection is closed. */
  const count = (failure: McpxError, link: Link, since: number) => {
    const failures = breaker.failures + 1;
    if (failures >= BREAKER_LIMIT && lifecycle.link === link) lifecycle.fail(link, failure);
    else breaker.failed(failure, Date.now() + retryDelay(failures, spec.reconnect.interval), since);
  };

  /** Returns true if a failed request may be sent again: it was certainly not delivered, or it is idempotent. */
  const goesAgain = (error: unknown, link: Link, { since, wanted }: Asked, last = false): boolean => {
    if (isUndelivered(error)) lifecycle.replace(link, messageOf(error));
    const harmless = isUndelivered(error) || (wanted.repeatable === true && isTransport(error));
    if (harmless && !last) return true;
    if (isTransport(error)) count(error, link, since);
    return false;
  };

  const sendOn = (link: Link, { method, params, wanted }: Asked) =>
    link.peer.request(method, link.handshake.era === 'modern' ? withEnvelope(params, wanted) : params, wanted);

  const reachAndSend = async (asked: Asked, last = false): Promise<unknown> => {
    const link = await reachRelied(asked);
    try {
      return await sendOn(link, asked);
    } catch (error) {
      if (goesAgain(error, link, asked, last)) return reachAndSend(asked, true);
      throw error;
    }
  };

  /** Sends a call that holds a slot. The fast path uses the open connection and creates only one promise. */
  const begin = (asked: Asked): Promise<unknown> => {
    let probed: (() => void) | undefined;
    const leave = () => {
      probed?.();
      slots.leave(shared ? asked.wanted.client?.holder : undefined);
      over();
    };
    const answered = (result: unknown) => {
      breaker.succeeded();
      leave();
      return result;
    };
    const failed = (error: unknown) => {
      // An RPC error is a response, so the upstream is reachable.
      if (error instanceof RpcError) breaker.succeeded();
      leave();
      throw error;
    };
    try {
      if (!asked.wanted.bypassQueue) probed = breaker.enter();
      const { link } = lifecycle;
      if (link === undefined || asked.wanted.precondition?.isMet(link.handshake) === false)
        return reachAndSend(asked).then(answered, failed);
      return sendOn(link, asked).then(answered, (error) =>
        goesAgain(error, link, asked) ? reachAndSend(asked, true).then(answered, failed) : failed(error),
      );
    } catch (error) {
      return Promise.reject(error).catch(failed);
    }
  };

  return (method, params, wanted) => {
    const { signal, timeout, caller, client, bypassQueue } = wanted;
    const holder = shared ? client?.holder : undefined;
    const turn = slots.enter({ signal, timeout, key: holder ?? caller, holder, bypass: bypassQueue });
    if (turn === undefined) return begin({ method, params, wanted, since: performance.now() });
    return turn.then(() => begin({ method, params, wanted, since: performance.now() }));
  };
}

interface Asked {
  method: string;
  params: Params | undefined;
  wanted: TimedOptions;
  /** Monotonic ms at which the call got its slot. */
  since: number;
}

/**
 * Milliseconds that a request waits for a connection, a reconnect or a new list of tools. The response to a call may
 * take much longer.
 */
export const CONNECT_WAIT = 60_000;

/**
 * Returns the ms that a caller waits for a connection. The startup timeout may be longer, and its error names the
 * cause, so it has to expire first.
 */
export function patience({ startupTimeout }: Pick<ServerSpec, 'startupTimeout'>, wait: number): number {
  return Math.max(wait, startupTimeout + 1000);
}

/** Returns true for a transport failure, as opposed to a failed call. */
function isTransport(error: unknown): error is McpxError {
  return error instanceof McpxError && error.code === 'unreachable';
}

function stillFetching(name: string, { since, fetching }: ConnectionState & { kind: 'connecting' }): McpxError {
  const so = `${fetching} has been downloading it for ${seconds(Date.now() - since)}`;
  return new McpxError('timeout', `server "${name}" is not ready yet: ${so}`, { hint: 'try again in a minute' });
}

export interface Patience {
  method: string;
  signal?: CancelSignal | undefined;
  /** Milliseconds that are left. */
  left: number;
  spec: Pick<ServerSpec, 'name'>;
  lifecycle: Pick<Lifecycle, 'state'>;
}

/** Awaits the work until the timeout or the abort of one caller; the start continues for other callers. */
export function within<T>(work: Promise<T>, { method, signal, left, spec, lifecycle }: Patience): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const onAbort = () => reject(cancelled(method));
    const onTimeout = () => {
      const { state } = lifecycle;
      if (state.kind === 'connecting' && state.fetching !== undefined) return reject(stillFetching(spec.name, state));
      const why = 'reason' in state && state.reason !== undefined ? `: ${state.reason}` : '';
      const missed = state.kind === 'ready' ? 'did not say what it offers' : 'was not connected';
      reject(new McpxError('timeout', `server "${spec.name}" ${missed} in time${why}`));
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(onTimeout, Math.min(Math.max(0, left), 2 ** 31 - 1));
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    work.then(resolve, reject).finally(done);
  });
}
