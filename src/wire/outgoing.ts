/** Our requests on one connection: ids, timeouts, cancellation, progress and responses. */
import type { CancelSignal } from '../cancel-signal.ts';
import { cancelled, McpxError, RpcError } from '../errors.ts';
import { LONGEST_TIMER } from '../event-loop.ts';
import { isLosslessNumber } from '../lossless-json.ts';
import { SlotMap } from '../slot-map.ts';
import { type Id, INTERNAL_ERROR, isId, isRecord, type Params, type RpcResponse } from './message.ts';
import type { Attribution, Channel, RequestOptions } from './peer.ts';
import { rawResultOf, readRawResult } from './raw-result.ts';
import { Unparsed } from './unparsed-result.ts';

export interface Calls {
  readonly size: number;
  begin(method: string, params: Params | undefined, options: RequestOptions): Promise<unknown>;
  /** Settles the request that this response belongs to; returns an error message if there is none. */
  answer(response: RpcResponse): string | undefined;
  /** Does the same for an unparsed response, to `origin` if it is known; returns false if it must be parsed in full. */
  large(pieces: Buffer[], origin?: Id): boolean;
  /** Handles a progress notification; one for an unknown request is ignored. */
  progress(params: Params): void;
  /** Returns the request of ours that a message of the peer belongs to. */
  attribution(origin: Id | undefined): Attribution | undefined;
  /**
   * Stops the idle timeout of a request (of all, if `origin` is undefined) while the peer waits for us; only the total
   * timeout applies until the returned function is called.
   */
  hold(origin: Id | undefined): () => void;
  fail(id: Id, error: Error): void;
  failAll(error: Error): void;
}

/** A request of ours without a response. It is the event listener of its own abort signal. */
interface Call {
  handleEvent(this: Call, event: Event): void;
  id: number;
  method: string;
  options: RequestOptions;
  timeout: number;
  /** Monotonic time in ms at which the total timeout expires, regardless of progress. */
  deadline: number;
  /** Monotonic time in ms at which the request expires unless progress arrives. */
  due: number;
  /** Number of the peer's requests that belong to this request and are unanswered. */
  questions: number;
  resolve: (result: unknown) => void;
  reject: (error: Error) => void;
}

const TIMEOUT = 60_000;
const TOTAL_TIMEOUT = 30 * 60_000;
/** The specification forbids cancelling this request. */
const NOT_CANCELLABLE = 'initialize';

const NOTHING = () => undefined;
/** The attribution of a message that may belong to requests of several principals. */
const NOBODY: Attribution = { ambiguous: true };

export interface CallsOptions {
  /** The name of the peer in error messages. */
  subject: string;
  /** Applied to every error that the peer sent or caused. */
  redact: (error: Error) => Error;
}

export class OutgoingCalls implements Calls {
  readonly #channel: Pick<Channel, 'send'>;
  readonly #options: CallsOptions;
  readonly #calls = new SlotMap<Call>();
  // Some peers treat id 0 as absent, and broken ones send responses and progress for small ids that were never used.
  #lastId = 1000;
  // A single timer serves all calls and fires when the first is due. Most calls are answered long before, and a timer
  // for each would cost more than its look-up.
  #timer: NodeJS.Timeout | undefined;
  #wakeAt = Number.POSITIVE_INFINITY;
  /** Serves as the `handleEvent` of every call. */
  readonly #onAbort: Call['handleEvent'];

  constructor(channel: Pick<Channel, 'send'>, options: CallsOptions) {
    this.#channel = channel;
    this.#options = options;
    const giveUp = (call: Call) => this.#giveUp(call, cancelled(call.method), abortReason(call.options.signal));
    this.#onAbort = function onAbort(this: Call) {
      giveUp(this);
    };
  }

  get size(): number {
    return this.#calls.size;
  }

  begin(method: string, params: Params | undefined, options: RequestOptions): Promise<unknown> {
    if (options.signal?.aborted) return Promise.reject(cancelled(method));
    const timeout = options.timeout ?? TIMEOUT;
    const total = options.totalTimeout ?? Math.max(TOTAL_TIMEOUT, timeout);
    return new Promise((resolve, reject) => {
      const now = performance.now();
      this.#lastId += 1;
      const times = { timeout, deadline: now + total, due: 0, questions: 0 };
      const call: Call = { id: this.#lastId, method, options, ...times, handleEvent: this.#onAbort, resolve, reject };
      this.#arm(call, now);
      this.#launch(call, params);
    });
  }

  answer(response: RpcResponse): string | undefined {
    const call = this.#find(response.id);
    if (!call) return `an answer to no open request, id ${JSON.stringify(response.id ?? null)}`;
    const { subject, redact } = this.#options;
    const { result, error } = response;
    this.#settle(call);
    if (error !== undefined && error !== null) call.reject(redact(rpcError(error)));
    else if (result instanceof Unparsed) settleUnparsed(call, result, subject);
    else call.resolve(result);
    return undefined;
  }

  large(pieces: Buffer[], origin?: Id): boolean {
    const awaited = origin === undefined ? this.#calls.values() : [this.#find(origin)];
    if (!awaited.some((call) => call?.options.verbatim === 'large')) return false;
    const read = readRawResult(pieces);
    const call = read && this.#find(read.id);
    if (call?.options.verbatim !== 'large' || (origin !== undefined && call.id !== origin)) return false;
    this.#settle(call);
    call.resolve(read?.result);
    return true;
  }

  progress(params: Params): void {
    const call = this.#find(params.progressToken);
    if (!call?.options.progress) return;
    this.#arm(call, performance.now());
    const { progressToken: _, ...rest } = params;
    call.options.progress(rest);
  }

  attribution(origin: Id | undefined): Attribution | undefined {
    if (origin !== undefined) return this.#find(origin)?.options;
    if (this.#calls.size === 0) return undefined;
    let last: RequestOptions | undefined;
    let parties = 0;
    for (const { options } of this.#calls.values()) {
      if (!options.onServerRequest) continue;
      if (last && last.client?.principal !== options.client?.principal) return NOBODY;
      if (last?.conversation === undefined || last.conversation !== options.conversation) parties += 1;
      last = options;
    }
    return parties > 1 ? this.#anybody : last;
  }

  hold(origin: Id | undefined): () => void {
    if (this.#calls.size === 0) return NOTHING;
    const waiting = this.#calls.values().filter(({ options }) => options.onServerRequest);
    const named = origin === undefined ? undefined : this.#find(origin);
    const count = (step: number) => {
      const now = performance.now();
      for (const call of named ? [named] : waiting) {
        call.questions += step;
        if (this.#calls.has(call.id)) this.#arm(call, now);
      }
    };
    count(1);
    return () => count(-1);
  }

  fail(id: Id, error: Error): void {
    const call = this.#find(id);
    if (!call) return;
    this.#settle(call);
    call.reject(this.#options.redact(error));
  }

  failAll(error: Error): void {
    clearTimeout(this.#timer);
    for (const call of this.#calls.values()) {
      this.#settle(call);
      call.reject(error);
    }
  }

  /**
   * Delivers a message that may belong to any request of one principal once to each client, by the first of its
   * requests that accepts it.
   */
  readonly #anybody: Attribution = {
    ambiguous: true,
    onNotification: (notification) => {
      const told = new Set<string | number>();
      for (const { id, options } of this.#calls.values()) {
        const client = options.client?.key ?? id;
        if (!told.has(client) && options.onNotification?.(notification) !== false) told.add(client);
      }
    },
  };

  #launch(call: Call, params: Params | undefined): void {
    const { id, method, options } = call;
    this.#calls.set(id, call);
    options.signal?.addEventListener('abort', call, { once: true });
    const own = withToken(params, options.progress ? id : undefined);
    try {
      this.#channel.send(
        own === undefined ? { jsonrpc: '2.0', id, method } : { jsonrpc: '2.0', id, method, params: own },
      );
    } catch (error) {
      this.#settle(call);
      call.reject(this.#options.redact(error as Error));
    }
  }

  /** Our ids are numbers; some peers return them as strings. */
  #find(id: unknown): Call | undefined {
    return isId(id) && !isLosslessNumber(id) ? this.#calls.get(Number(id)) : undefined;
  }

  /** Removes a call; messages for it that arrive later are ignored. */
  #settle(call: Call): void {
    this.#calls.delete(call.id);
    call.options.signal?.removeEventListener('abort', call);
  }

  #giveUp(call: Call, error: McpxError, reason: string): void {
    this.#settle(call);
    call.reject(error);
    if (call.method === NOT_CANCELLABLE) return;
    try {
      const params = { requestId: call.id, reason };
      this.#channel.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
    } catch {
      // The peer is gone or does not read, so the cancellation cannot be delivered.
    }
  }

  #arm(call: Call, now: number): void {
    call.due = call.questions > 0 ? call.deadline : Math.min(now + call.timeout, call.deadline);
    if (call.due < this.#wakeAt) this.#wake(call.due, now);
  }

  #wake(at: number, now: number): void {
    clearTimeout(this.#timer);
    this.#wakeAt = at;
    this.#timer = setTimeout(() => this.#look(), Math.min(Math.max(0, Math.ceil(at - now)), LONGEST_TIMER));
    // This timer must not keep the process alive.
    this.#timer.unref();
  }

  #look(): void {
    this.#wakeAt = Number.POSITIVE_INFINITY;
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.#calls.values()) {
      if (call.due <= now) this.#expire(call);
      else next = Math.min(next, call.due);
    }
    if (next < this.#wakeAt) this.#wake(next, now);
  }

  #expire(call: Call): void {
    const { subject } = this.#options;
    const total = performance.now() >= call.deadline - 1;
    const limit = total ? (call.options.totalTimeout ?? Math.max(TOTAL_TIMEOUT, call.timeout)) : call.timeout;
    const text = `did not answer "${call.method}" within ${duration(limit)}`;
    this.#giveUp(call, new McpxError('timeout', `${subject} ${text}`), `timeout after ${duration(limit)}`);
  }
}

/** Replaces the progress token of another connection with our own, or removes it. */
function withToken(params: Params | undefined, token: number | undefined): Params | undefined {
  const meta = params?._meta;
  if (token !== undefined) return { ...params, _meta: { ...(isRecord(meta) ? meta : {}), progressToken: token } };
  if (!isRecord(meta) || meta.progressToken === undefined) return params;
  const { progressToken: _, ...rest } = meta;
  return { ...params, _meta: rest };
}

function settleUnparsed({ options, resolve, reject }: Call, result: Unparsed, subject: string): void {
  const usable = options.verbatim === 'large' ? rawResultOf(result.text) : options.verbatim && result;
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

function abortReason(signal: CancelSignal | undefined): string {
  return typeof signal?.reason === 'string' ? signal.reason : 'cancelled by the caller';
}

function duration(ms: number): string {
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`;
}
