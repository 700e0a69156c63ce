/** Our own requests in one conversation: ids, timeouts, cancellation, progress, answers. */
import { cancelled, McpxError, RpcError } from '../errors.ts';
import { isExact } from '../exact.ts';
import { InFlight } from '../in-flight.ts';
import { type Id, INTERNAL_ERROR, isId, isRecord, type Message, type Params, type RpcResponse } from './message.ts';
import type { About, RequestOptions } from './peer.ts';
import { Unparsed } from './unparsed.ts';
import { readVerbatim, verbatimOf } from './verbatim.ts';

export interface Calls {
  readonly size: number;
  begin(method: string, params: Params | undefined, options: RequestOptions): Promise<unknown>;
  /** Settles the request that this answers; returns what is wrong with the answer when it belongs to none. */
  answer(response: RpcResponse): string | undefined;
  /** The same for one in pieces; false where it is to be read in full. */
  large(pieces: Buffer[]): boolean;
  /** Progress of one of our requests; of any other it is ignored. */
  progress(params: Params): void;
  /** Whose behalf something from the far side is on. */
  about(origin: Id | undefined): About | undefined;
  /** The far side waits for us, on behalf of that request or any: only the total time of those counts until the returned function is called. */
  hold(origin: Id | undefined): () => void;
  fail(id: Id, error: Error): void;
  failAll(error: Error): void;
}

/** One request of ours without an answer; listens to its own signal. */
interface Call {
  handleEvent(event: Event): void;
  id: number;
  method: string;
  options: RequestOptions;
  timeout: number;
  /** Monotonic ms after which no progress helps. */
  deadline: number;
  /** Monotonic ms at which it has waited too long, unless there is progress. */
  due: number;
  /** Questions of the far side that are not answered yet. */
  questions: number;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

const TIMEOUT = 60_000;
const TOTAL_TIMEOUT = 30 * 60_000;
/** Timers beyond this fire at once in Node. */
const LONGEST_TIMER = 2 ** 31 - 1;
/** The specification forbids to cancel this one. */
const NOT_CANCELLABLE = 'initialize';

const NOTHING = () => undefined;
/** The attribution of a message that may be about requests of several principals. */
const NOBODY: About = { ambiguous: true };

export interface CallsOptions {
  /** How messages name the far side. */
  subject: string;
  /** Applied to every error that the far side sent or caused. */
  redact: (error: Error) => Error;
}

export function createCalls(send: (message: Message) => void, { subject, redact }: CallsOptions): Calls {
  const calls = new InFlight<Call>();
  // Some peers take 0 for none, and broken ones send answers and progress for small ids that nobody asked for.
  let lastId = 1000;
  // One timer for all calls, for the first that is due: most are answered long before, and a timer of its own would cost each call more than its look-up.
  let timer: NodeJS.Timeout | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;

  /** Forgets a call; whatever still comes for it is late. */
  const settle = (call: Call) => {
    calls.delete(call.id);
    call.options.signal?.removeEventListener('abort', call);
  };

  const giveUp = (call: Call, error: McpxError, reason: string) => {
    settle(call);
    call.reject(error);
    if (call.method === NOT_CANCELLABLE) return;
    try {
      send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: call.id, reason } });
    } catch {
      // The far side is gone or does not read: there is nobody to tell.
    }
  };

  const expire = (call: Call) => {
    const total = performance.now() >= call.deadline - 1;
    const limit = total ? (call.options.totalTimeout ?? Math.max(TOTAL_TIMEOUT, call.timeout)) : call.timeout;
    const text = `did not answer "${call.method}" within ${duration(limit)}`;
    giveUp(call, new McpxError('timeout', `${subject} ${text}`), `timeout after ${duration(limit)}`);
  };

  const wake = (at: number, now: number) => {
    clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(look, Math.min(Math.max(0, Math.ceil(at - now)), LONGEST_TIMER));
    // What a call waits for keeps the process alive, if anything does.
    timer.unref();
  };

  const look = () => {
    wakeAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = wakeAt;
    for (const call of calls.values()) {
      if (call.due <= now) expire(call);
      else next = Math.min(next, call.due);
    }
    if (next < wakeAt) wake(next, now);
  };

  const arm = (call: Call, now: number) => {
    call.due = call.questions > 0 ? call.deadline : Math.min(now + call.timeout, call.deadline);
    if (call.due < wakeAt) wake(call.due, now);
  };

  /** The `handleEvent` of every call. */
  function onAbort(this: Call): void {
    giveUp(this, cancelled(this.method), abortReason(this.options.signal));
  }

  const launch = (call: Call, params: Params | undefined) => {
    const { id, method, options } = call;
    calls.set(id, call);
    options.signal?.addEventListener('abort', call, { once: true });
    const own = withToken(params, options.progress ? id : undefined);
    try {
      send(own === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params: own });
    } catch (error) {
      settle(call);
      call.reject(redact(error as Error));
    }
  };

  /** A message that may be about any request of one principal goes to the client of each, once, for the first that wants it. */
  const anybody: About = {
    ambiguous: true,
    heard(notification) {
      const told = new Set<object>();
      for (const { options } of calls.values()) {
        const client = options.client ?? options;
        if (!told.has(client) && options.heard?.(notification) !== false) told.add(client);
      }
    },
  };

  /** Our ids are numbers; some peers send them back as text. */
  const find = (id: unknown) => (isId(id) && !isExact(id) ? calls.get(Number(id)) : undefined);

  return {
    get size() {
      return calls.size;
    },
    begin(method, params, options) {
      if (options.signal?.aborted) return Promise.reject(cancelled(method));
      const timeout = options.timeout ?? TIMEOUT;
      const total = options.totalTimeout ?? Math.max(TOTAL_TIMEOUT, timeout);
      return new Promise((resolve, reject) => {
        const now = performance.now();
        const id = ++lastId;
        const deadline = now + total;
        const call: Call = {
          id,
          method,
          options,
          timeout,
          deadline,
          due: 0,
          questions: 0,
          handleEvent: onAbort,
          resolve,
          reject,
        };
        arm(call, now);
        launch(call, params);
      });
    },
    answer(response) {
      const call = find(response.id);
      if (!call) return `an answer to no open request, id ${JSON.stringify(response.id ?? null)}`;
      settle(call);
      const { result, error } = response;
      if (error !== undefined && error !== null) call.reject(redact(rpcError(error)));
      else if (result instanceof Unparsed) settleUnparsed(call, result, subject);
      else call.resolve(result);
      return undefined;
    },
    large(pieces) {
      if (!calls.values().some(({ options }) => options.verbatim === 'large')) return false;
      const read = readVerbatim(pieces);
      const call = read && find(read.id);
      if (call?.options.verbatim !== 'large') return false;
      settle(call);
      call.resolve(read?.result);
      return true;
    },
    progress(params) {
      const call = find(params.progressToken);
      if (!call?.options.progress) return;
      arm(call, performance.now());
      const { progressToken: _, ...rest } = params;
      call.options.progress(rest);
    },
    about(origin) {
      if (origin !== undefined) return find(origin)?.options;
      if (calls.size === 0) return undefined;
      let last: RequestOptions | undefined;
      let parties = 0;
      for (const { options } of calls.values()) {
        if (!options.asked) continue;
        if (last && last.principal !== options.principal) return NOBODY;
        if (last?.party === undefined || last.party !== options.party) parties += 1;
        last = options;
      }
      return parties > 1 ? anybody : last;
    },
    hold(origin) {
      if (calls.size === 0) return NOTHING;
      const waiting = calls.values().filter(({ options }) => options.asked);
      const named = origin === undefined ? undefined : find(origin);
      const count = (step: number) => {
        const now = performance.now();
        for (const call of named ? [named] : waiting) {
          call.questions += step;
          if (calls.has(call.id)) arm(call, now);
        }
      };
      count(1);
      return () => count(-1);
    },
    fail(id, error) {
      const call = find(id);
      if (!call) return;
      settle(call);
      call.reject(redact(error));
    },
    failAll(error) {
      clearTimeout(timer);
      for (const call of calls.values()) {
        settle(call);
        call.reject(error);
      }
    },
  };
}

/** The params with our own progress token, and never with a token of somebody else's conversation. */
function withToken(params: Params | undefined, token: number | undefined): Params | undefined {
  const meta = params?._meta;
  if (token !== undefined) return { ...params, _meta: { ...(isRecord(meta) ? meta : {}), progressToken: token } };
  if (!isRecord(meta) || meta.progressToken === undefined) return params;
  const { progressToken: _, ...rest } = meta;
  return { ...params, _meta: rest };
}

function settleUnparsed({ options, resolve, reject }: Call, result: Unparsed, subject: string): void {
  const usable = options.verbatim === 'large' ? verbatimOf(result.text) : options.verbatim && result;
  if (usable === undefined) reject(tooCostly(subject));
  else resolve(usable);
}

function tooCostly(subject: string): McpxError {
  return new McpxError(
    'protocol',
    `${subject} sent an answer that holds too many values, or is nested too deeply, to be read`,
  );
}

function rpcError(error: unknown): RpcError {
  const { code, message, data } = isRecord(error) ? error : {};
  return new RpcError(typeof code === 'number' ? code : INTERNAL_ERROR, String(message ?? 'unknown error'), data);
}

function abortReason(signal: AbortSignal | undefined): string {
  return typeof signal?.reason === 'string' ? signal.reason : 'cancelled by the caller';
}

function duration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
