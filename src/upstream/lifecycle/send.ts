/** Sends one call to an upstream: queues it, waits for a connection, and retries only if that is safe. */
import type { CancelSignal } from '../../cancel-signal.ts';
import type { ServerSpec } from '../../config/config.ts';
import { cancelled, McpxError, messageOf, RpcError } from '../../errors.ts';
import { LONGEST_TIMER } from '../../event-loop.ts';
import { isUndelivered, undelivered } from '../../wire/undelivered.ts';
import type { CallOptions, Outgoing, SendRequest, TimedOptions } from '../call-options.ts';
import type { ConnectionState } from '../connection-interface.ts';
import { withEnvelope } from '../era/input-required.ts';
import { BREAKER_LIMIT, type Breaker, seconds } from './breaker.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Link } from './link.ts';
import type { Slots } from './queue.ts';
import { retryDelay } from './retry-delay.ts';

export interface SenderDeps {
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

/** A call that holds a slot. */
interface Call {
  method: string;
  signal: CancelSignal | undefined;
  /** Monotonic ms at which the call got its slot, and until which it waits for a connection. */
  since: number;
  deadline: number;
}

type Request = Outgoing<TimedOptions>;

/** Returns the function that sends requests: wait for a slot → connect → verify → send → retry once if that is safe. */
export function createSender(deps: SenderDeps): SendRequest {
  const { slots, shared, breaker, lifecycle, over } = deps;
  return async (method, params, options) => {
    const { signal, timeout, client, bypassQueue } = options;
    const holder = shared ? client?.holder : undefined;
    // A slot is usually free, and an `await` of nothing would create two promises per call.
    if (!slots.take(holder))
      await slots.enter({ signal, timeout, key: holder ?? client?.key, holder, bypass: bypassQueue });
    const since = performance.now();
    const call: Call = { method, signal, since, deadline: since + Math.min(timeout, deps.connectWait) };
    let request: Request = { params, options };
    let probed: (() => void) | undefined;
    try {
      if (!bypassQueue) probed = breaker.enter();
      for (let isLast = false; ; ) {
        const link = lifecycle.link ?? (await connect(call, deps));
        const verified = isVerified(request, link) ? request : await verify(request, link, call, deps);
        // The connection was replaced meanwhile.
        if (verified === undefined) continue;
        request = verified;
        try {
          const result = await send(call, request, link);
          breaker.succeeded();
          return result;
        } catch (error) {
          failed(error, { call, request, link, isLast }, deps);
          isLast = true;
        }
      }
    } finally {
      probed?.();
      slots.leave(holder);
      over();
    }
  };
}

interface Failed {
  call: Call;
  request: Request;
  link: Link;
  /** True if the request was sent for the second time. */
  isLast: boolean;
}

/** Throws the error unless the request may be sent again: it was certainly not delivered, or it is idempotent. */
function failed(error: unknown, { call, request, link, isLast }: Failed, deps: SenderDeps): void {
  const { breaker, lifecycle } = deps;
  // An RPC error is a response, so the upstream is reachable.
  if (error instanceof RpcError) breaker.succeeded();
  if (isUndelivered(error)) lifecycle.replace(link, messageOf(error));
  const isHarmless = isUndelivered(error) || (request.options.repeatable === true && isTransport(error));
  if (isHarmless && !isLast) return;
  if (isTransport(error)) countFailure(error, link, call, deps);
  throw error;
}

/**
 * Waits for the next connection. A lost connection is awaited; a first connect that failed rejects at once.
 */
async function connect({ method, signal, deadline }: Call, { lifecycle, spec }: SenderDeps): Promise<Link> {
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
}

function isVerified({ options: { precondition } }: Request, { handshake }: Link): boolean {
  return precondition === undefined || precondition.isMet(handshake);
}

/** Returns the request that meets its precondition on this connection; undefined if another connection has replaced it. */
async function verify(
  request: Request,
  link: Link,
  { method, signal, deadline }: Call,
  { lifecycle, spec }: SenderDeps,
): Promise<Request | undefined> {
  const { precondition } = request.options;
  if (precondition === undefined) return request;
  if (signal?.aborted) throw cancelled(method);
  const left = deadline - performance.now();
  const satisfied = precondition.satisfy(link.handshake, request);
  const verified = await within(satisfied, { method, signal, left, spec, lifecycle });
  if (lifecycle.link !== link) return undefined;
  if (verified === undefined) throw undelivered(`server "${spec.name}" did not say what it offers`);
  return verified;
}

function send({ method }: Call, { params, options }: Request, { peer, handshake }: Link): Promise<unknown> {
  return peer.request(method, handshake.era === 'modern' ? withEnvelope(params, options) : params, options);
}

/** Counts a transport failure; after too many in a row the connection is closed. */
function countFailure(error: McpxError, link: Link, { since }: Call, { breaker, lifecycle, spec }: SenderDeps): void {
  const failures = breaker.failures + 1;
  if (failures >= BREAKER_LIMIT && lifecycle.link === link) lifecycle.fail(link, error);
  else breaker.failed(error, Date.now() + retryDelay(failures, spec.reconnect.interval), since);
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
    const timer = setTimeout(onTimeout, Math.min(Math.max(0, left), LONGEST_TIMER));
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', onAbort);
    };
    work.then(resolve, reject).finally(done);
  });
}
