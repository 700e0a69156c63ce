/** One end of a JSON-RPC connection: ids, timeouts, cancellation and progress; errors are relayed verbatim. */
import type { CancelSignal } from '../cancel-signal.ts';
import { McpxError, messageOf, RPC_CODES, RpcError, toRpcError } from '../errors.ts';
import { SlotMap } from '../slot-map.ts';
import { cancel, IncomingCall } from './incoming-request.ts';
import {
  type Id,
  INVALID_REQUEST,
  isRequest,
  isResponse,
  METHOD_NOT_FOUND,
  type Message,
  type Params,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './message.ts';
import { type Calls, OutgoingCalls } from './outgoing.ts';
import { RawResult } from './raw-result.ts';

/** A message transport, such as the pipes of a process, HTTP requests or memory; one per connection. */
export interface Channel {
  /** Starts delivery; called once. */
  start(receiver: Receiver): void;
  /**
   * Queues one message and returns at once. Throws McpxError: `unreachable` if closed, `overloaded` if the peer does
   * not read.
   */
  send(message: Message): void;
  /** Closes the connection, first gracefully, then by force; resolves when all resources are released. */
  close(): Promise<void>;
}

export interface Receiver {
  /**
   * Receives a message. `origin` is the id of our request on whose response stream it arrived, if the transport knows
   * it.
   */
  message(message: Message, origin?: Id): void;
  /**
   * Receives a large message as unparsed chunks; returns false if it must be parsed in full. `origin` is the request of
   * ours that it has to answer, if the transport knows it.
   */
  large?(pieces: Buffer[], origin?: Id): boolean;
  /** Reports input that is not a JSON-RPC message and was dropped. */
  invalid(reason: string): void;
  /**
   * Reports that a request of ours will get no response although the connection stays open: its HTTP request failed, or
   * its response was unreadable.
   */
  failed?(id: Id, error: Error): void;
  /** Reports the end of the connection. Called once; the error is absent after a clean end. */
  closed(error?: Error): void;
}

/** The context that a request handler receives with a request. */
export interface Incoming {
  /** Aborted when the peer cancels the request or disconnects. */
  signal: CancelSignal;
  /** Sends progress under the requester's own token; absent if the request has none. */
  progress?: (params: Params) => void;
  origin?: Id;
  /** The request of ours that this request belongs to, if it is known. */
  attribution?: Attribution;
}

/**
 * The request of ours that a message of the peer belongs to: the one whose stream it arrived on, else the only one in
 * flight that accepts requests, or the last of several for one party. With several parties it is ambiguous: requests
 * are sent to no client, and notifications once to each client. With several principals notifications are sent to no
 * client either.
 */
export type Attribution = Pick<RequestOptions, 'onServerRequest' | 'onNotification' | 'conversation' | 'client'> & {
  ambiguous?: true;
};

export interface PeerHandlers {
  /** Handles a request; a thrown error becomes the JSON-RPC error. If absent, every request is answered with -32601. */
  request?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  notification?: (notification: RpcNotification, about?: Attribution) => void;
  invalid?: (reason: string) => void;
  /** Called once when the connection ends, on either side. */
  closed?: (error?: Error) => void;
  /** Applied to every error that the peer sent or caused, before it is reported. */
  redact?: (error: Error) => Error;
  /** The name of the peer in messages, such as `server "github"` (default: `the peer`). */
  subject?: string;
  /**
   * Maximum number of the peer's requests in flight (default: unlimited); further requests are answered with an error.
   */
  maxIncoming?: number;
}

export interface RequestOptions {
  /** Milliseconds without a response or progress; then the request is cancelled. */
  timeout?: number;
  /** Milliseconds in total, regardless of progress (default: the larger of 30 min and `timeout`). */
  totalTimeout?: number;
  signal?: CancelSignal | undefined;
  /**
   * The results that need not be parsed: `large` leaves every large one as `RawResult`; `costly` leaves one that would
   * take too much memory as `Unparsed`. If absent, all are parsed and a costly one is an error.
   */
  verbatim?: 'large' | 'costly' | undefined;
  /** Requests progress and receives the params of each notification, without the token. */
  progress?: (params: Params) => void;
  /** Answers the peer's requests that belong to this request. */
  onServerRequest?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  /**
   * Receives the notifications that belong to this request, except progress and cancellation; returns false to decline
   * one.
   */
  onNotification?: (notification: RpcNotification) => unknown;
  /** The id of the recipient behind `onServerRequest`, if several requests share one (default: not shared). */
  conversation?: string | undefined;
  /**
   * The client that sent the request. A message that may belong to requests of several principals is delivered to none.
   */
  client?: Readonly<{ key: string; principal?: string | undefined; holder?: string | undefined }> | undefined;
}

export interface Peer {
  /**
   * Resolves with the result; rejects with RpcError (the peer's error) or McpxError (timeout, cancelled, unreachable).
   */
  request(method: string, params?: Params, options?: RequestOptions): Promise<unknown>;
  notify(method: string, params?: Params): void;
  /** Closes the connection; answers the peer's open requests with the error `last` if it is given. */
  close(last?: { code: number; message: string }): Promise<void>;
  /** Number of our requests without a response, and of the peer's requests in progress. */
  readonly pending: { ours: number; theirs: number };
}

type Answer = RpcResponse & { id: Id };

export function createPeer(channel: Channel, handlers: PeerHandlers = {}): Peer {
  return new Connection(channel, handlers);
}

class Connection implements Peer {
  readonly #channel: Channel;
  readonly #handlers: PeerHandlers;
  readonly #calls: Calls;
  /** The peer's requests in progress. */
  readonly #theirs = new SlotMap<IncomingCall>();
  #ended: Error | undefined;
  // These are passed on as functions.
  readonly request: Peer['request'] = (method, params, options = {}) =>
    this.#ended ? Promise.reject(this.#ended) : this.#calls.begin(method, params, options);
  readonly notify: Peer['notify'] = (method, params) =>
    this.#trySend({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) });
  readonly #trySend = (message: Message) => this.#sendOrReport(message);

  constructor(channel: Channel, handlers: PeerHandlers) {
    const { subject = 'the peer', redact = (error) => error } = handlers;
    this.#channel = channel;
    this.#handlers = handlers;
    this.#calls = new OutgoingCalls(channel, { subject, redact });
    channel.start({
      message: (message, origin) => this.#receive(message, origin),
      large: (pieces, origin) => this.#calls.large(pieces, origin),
      invalid: (reason) => this.#invalid(reason),
      failed: (id, error) => this.#calls.fail(id, error),
      closed: (error) => this.#finish(error),
    });
  }

  get pending(): Peer['pending'] {
    return { ours: this.#calls.size, theirs: this.#theirs.size };
  }

  close(last?: { code: number; message: string }): Promise<void> {
    if (last !== undefined)
      for (const [id] of this.#theirs.entries()) this.#sendOrReport({ jsonrpc: '2.0', id, error: last });
    this.#finish(undefined);
    return this.#channel.close();
  }

  #invalid(reason: string): void {
    guarded(() => this.#handlers.invalid?.(reason));
  }

  /** Sends a response or a notification; a failure is only reported, because the peer is gone or does not read. */
  #sendOrReport(message: Message): void {
    if (this.#ended) return;
    try {
      this.#channel.send(message);
    } catch (error) {
      this.#invalid(`could not be sent: ${messageOf(error)}`);
    }
  }

  #finish(reason: Error | undefined): void {
    if (this.#ended) return;
    const { subject = 'the peer', redact = (error) => error, closed } = this.#handlers;
    const error = reason && redact(reason);
    const ended = error instanceof McpxError ? error : gone(subject, error);
    this.#ended = ended;
    this.#calls.failAll(ended);
    for (const incoming of this.#theirs.values()) incoming.abort(ended.message);
    this.#theirs.clear();
    guarded(() => closed?.(error));
  }

  #receive(message: Message, origin: Id | undefined): void {
    if (this.#ended) return;
    if (isResponse(message)) {
      const reason = this.#calls.answer(message);
      if (reason !== undefined) this.#invalid(reason);
    } else if (isRequest(message)) this.#serve(message, origin);
    else
      guarded(
        () => this.#onNotification(message, origin),
        (reason) => this.#invalid(reason),
      );
  }

  #serve(request: RpcRequest, origin: Id | undefined): void {
    const error = objection(request, this.#theirs, this.#handlers);
    if (error === undefined) this.#begin(request, origin);
    else this.#sendOrReport({ jsonrpc: '2.0', id: request.id, error });
  }

  #begin(request: RpcRequest, origin: Id | undefined): void {
    const attribution = this.#calls.attribution(origin);
    const incoming = new IncomingCall(request, this.#trySend, { origin, attribution });
    this.#theirs.set(request.id, incoming);
    // The peer cannot respond while it waits for us, and a user may need time to answer.
    void this.#answer(request, incoming, this.#calls.hold(origin));
  }

  async #answer(request: RpcRequest, incoming: IncomingCall, release: () => void): Promise<void> {
    const { id } = request;
    let answer: Answer;
    try {
      const result = await answerTo(this.#handlers, request, incoming);
      answer = { jsonrpc: '2.0', id, result: result === undefined ? {} : result };
    } catch (error) {
      answer = { jsonrpc: '2.0', id, error: toRpcError(error) };
    }
    release();
    this.#reply(incoming, answer);
  }

  #reply(incoming: IncomingCall, answer: Answer): void {
    // A cancelled request gets no response, and its id may be in use again.
    if (this.#theirs.get(answer.id) !== incoming) return;
    this.#theirs.delete(answer.id);
    incoming.finish();
    try {
      this.#channel.send(answer);
    } catch (error) {
      if (answer.result instanceof RawResult) answer.result.discard();
      // A result that cannot be written (too large, too deep) must not leave the peer waiting.
      this.#sendOrReport({ jsonrpc: '2.0', id: answer.id, error: toRpcError(error) });
    }
  }

  #onNotification(notification: RpcNotification, origin: Id | undefined): void {
    const { method, params = {} } = notification;
    if (method === 'notifications/progress') this.#calls.progress(params);
    else if (method === 'notifications/cancelled') cancel(this.#theirs, params);
    else this.#handlers.notification?.(notification, this.#calls.attribution(origin));
  }
}

function answerTo(handlers: PeerHandlers, request: RpcRequest, incoming: IncomingCall): Promise<unknown> {
  if (handlers.request) return handlers.request(request, incoming);
  throw new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method}`);
}

/** Returns the error for a request that is rejected before its handler; undefined if it is accepted. */
function objection(
  { id }: RpcRequest,
  theirs: SlotMap<IncomingCall>,
  { maxIncoming }: PeerHandlers,
): RpcResponse['error'] {
  if (theirs.has(id)) return { code: INVALID_REQUEST, message: `request id ${JSON.stringify(id)} is in use` };
  if (maxIncoming === undefined || theirs.size < maxIncoming) return undefined;
  return { code: RPC_CODES.overloaded, message: `${maxIncoming} requests are under way already` };
}

function gone(subject: string, cause: Error | undefined): McpxError {
  const why = cause ? `: ${cause.message}` : '';
  return new McpxError('unreachable', `the connection to ${subject} is closed${why}`, { cause });
}

/** Runs a callback; an exception must not affect the connection or other callbacks. */
function guarded(run: () => void, report?: (reason: string) => void): void {
  try {
    run();
  } catch (error) {
    report?.(`a handler failed: ${messageOf(error)}`);
  }
}
