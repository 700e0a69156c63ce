/** How one call gets to an upstream: waits for its turn and for the connection, is sent, and sent again only where that is harmless. */
import type { ServerSpec } from '../config/config.ts';
import { cancelled, McpxError, messageOf, RpcError } from '../errors.ts';
import type { Params } from '../wire/message.ts';
import { isUndelivered, undelivered } from '../wire/undelivered.ts';
import { BREAKER_LIMIT, type Breaker, seconds } from './breaker.ts';
import type { CallOptions, ConnectionState } from './connection.ts';
import { retryDelay } from './health.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Link } from './link.ts';
import type { Slots } from './queue.ts';
import { dress } from './rounds.ts';

export interface AskDeps {
  spec: Pick<ServerSpec, 'name' | 'reconnect'>;
  /** ms that a call waits for a connection. */
  connectWait: number;
  lifecycle: Pick<Lifecycle, 'state' | 'link' | 'hello' | 'open' | 'drop' | 'lose' | 'recovers' | 'refusal'>;
  breaker: Breaker;
  slots: Slots;
  /** Whether it serves several clients, each of which gets a share of the slots only. */
  shared: boolean;
  /** A call is over. */
  over(): void;
}

export type Timed = CallOptions & { timeout: number };

export function isTimed(wanted: CallOptions | undefined): wanted is Timed {
  return wanted?.timeout !== undefined;
}

export type Ask = (method: string, params: Params | undefined, wanted: Timed) => Promise<unknown>;

export function createAsk({ spec, connectWait, lifecycle, breaker, slots, shared, over }: AskDeps): Ask {
  /** The open conversation, or the next one: one that was lost is waited for; one that never was says at once why not. */
  const reach = async (method: string, deadline: number, signal: AbortSignal | undefined): Promise<Link> => {
    for (;;) {
      if (lifecycle.link) return lifecycle.link;
      if (signal?.aborted) throw cancelled(method);
      const left = deadline - performance.now();
      try {
        return await within(lifecycle.open(left), { method, signal, left, spec, lifecycle });
      } catch (error) {
        const rest = deadline - performance.now();
        if (rest <= 0 || signal?.aborted) throw error;
        if (!lifecycle.recovers(rest)) throw (lifecycle.hello && lifecycle.refusal(rest)) ?? error;
      }
    }
  };

  /** The same, once what the call relies on holds there. */
  const reachRelied = async ({ method, wanted, since }: Asked): Promise<Link> => {
    const { signal, reliance, timeout } = wanted;
    const deadline = since + Math.min(timeout, connectWait);
    for (;;) {
      const link = await reach(method, deadline, signal);
      if (reliance === undefined || reliance.holds(link.hello)) return link;
      if (signal?.aborted) throw cancelled(method);
      const left = deadline - performance.now();
      const holds = await within(reliance.renew(link.hello, wanted), { method, signal, left, spec, lifecycle });
      if (lifecycle.link !== link) continue;
      if (holds) return link;
      throw undelivered(`server "${spec.name}" did not say what it offers`);
    }
  };

  /** One more failure of the transport; too many in a row and the conversation is given up. */
  const count = (failure: McpxError, link: Link, since: number) => {
    const failures = breaker.failures + 1;
    if (failures >= BREAKER_LIMIT && lifecycle.link === link) lifecycle.lose(link, failure);
    else breaker.failed(failure, Date.now() + retryDelay(failures, spec.reconnect.interval), since);
  };

  /** Whether what failed is sent once more: only when it certainly did not arrive, or may run twice. */
  const goesAgain = (error: unknown, link: Link, { since, wanted }: Asked, last = false): boolean => {
    if (isUndelivered(error)) lifecycle.drop(link, messageOf(error));
    const harmless = isUndelivered(error) || (wanted.repeatable === true && isTransport(error));
    if (harmless && !last) return true;
    if (isTransport(error)) count(error, link, since);
    return false;
  };

  const sendOn = (link: Link, { method, params, wanted }: Asked) =>
    link.peer.request(method, link.hello.era === 'modern' ? dress(params, wanted) : params, wanted);

  const reachAndSend = async (asked: Asked, last = false): Promise<unknown> => {
    const link = await reachRelied(asked);
    try {
      return await sendOn(link, asked);
    } catch (error) {
      if (goesAgain(error, link, asked, last)) return reachAndSend(asked, true);
      throw error;
    }
  };

  /** One that has its turn. Nearly always there is an open conversation on which nothing has changed: then nothing is waited for but the answer, and no promise is made but one. */
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
      // Its own words, whatever they say, show that it is there.
      if (error instanceof RpcError) breaker.succeeded();
      leave();
      throw error;
    };
    try {
      if (!asked.wanted.ahead) probed = breaker.enter();
      const { link } = lifecycle;
      if (link === undefined || asked.wanted.reliance?.holds(link.hello) === false)
        return reachAndSend(asked).then(answered, failed);
      return sendOn(link, asked).then(answered, (error) =>
        goesAgain(error, link, asked) ? reachAndSend(asked, true).then(answered, failed) : failed(error),
      );
    } catch (error) {
      return Promise.reject(error).catch(failed);
    }
  };

  return (method, params, wanted) => {
    const { signal, timeout, caller, client, ahead } = wanted;
    const holder = shared ? client?.holder : undefined;
    const turn = slots.enter({ signal, timeout, key: holder ?? caller, holder, ahead });
    if (turn === undefined) return begin({ method, params, wanted, since: performance.now() });
    return turn.then(() => begin({ method, params, wanted, since: performance.now() }));
  };
}

interface Asked {
  method: string;
  params: Params | undefined;
  wanted: Timed;
  /** Monotonic ms since which it has its turn. */
  since: number;
}

/** ms that a request waits for a connection, a recovery or a new list of tools. The answer to a call may take much longer. */
export const CONNECT_WAIT = 60_000;

/** ms that a caller waits for a connection: a start has a bound of its own, which may be the longer one and says why it failed. */
export function patience({ startupTimeout }: Pick<ServerSpec, 'startupTimeout'>, wait: number): number {
  return Math.max(wait, startupTimeout + 1000);
}

/** A failure of what carries the messages, not of the call. */
function isTransport(error: unknown): error is McpxError {
  return error instanceof McpxError && error.code === 'unreachable';
}

function stillFetching(name: string, { since, fetching }: ConnectionState & { kind: 'connecting' }): McpxError {
  const so = `${fetching} has been downloading it for ${seconds(Date.now() - since)}`;
  return new McpxError('timeout', `server "${name}" is not there yet: ${so}`, { hint: 'try again in a minute' });
}

export interface Patience {
  method: string;
  signal?: AbortSignal | undefined;
  /** ms. */
  left: number;
  spec: Pick<ServerSpec, 'name'>;
  lifecycle: Pick<Lifecycle, 'state'>;
}

/** A caller that gives up does not wait for a start, and does not stop it for the others. */
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
