/** One JSON-RPC conversation over a channel: ids, timeouts, cancellation, progress; errors are relayed verbatim. */
import { McpxError, messageOf, RPC_CODES, RpcError, toRpcError } from '../errors.ts';
import { InFlight } from '../in-flight.ts';
import { createCalls } from './calls.ts';
import { IncomingCall } from './incoming.ts';
import {
  type Id,
  INVALID_REQUEST,
  isId,
  isRequest,
  isResponse,
  METHOD_NOT_FOUND,
  type Message,
  type Params,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './message.ts';
import { Verbatim } from './verbatim.ts';

/** Messages over something: a process's pipes, HTTP requests, memory. One per conversation. */
export interface Channel {
  /** Begins delivery; called once. */
  start(receiver: Receiver): void;
  /** Queues one message and returns at once. Throws McpxError: `unreachable` when closed, `overloaded` when the far side does not read. */
  send(message: Message): void;
  /** Ends the conversation, first politely, then by force; resolves when nothing of it is left. */
  close(): Promise<void>;
}

export interface Receiver {
  /** `origin` is the id of our own request on whose answer stream this message came, where the transport can tell. */
  message(message: Message, origin?: Id): void;
  /** A large message in the pieces it came in; false where it is to be read in full. */
  large?(pieces: Buffer[]): boolean;
  /** Something arrived that is no JSON-RPC message; it is dropped. */
  invalid(reason: string): void;
  /** One of our requests will get no answer, while the conversation goes on: its own HTTP request failed, or its answer was unreadable. */
  failed?(id: Id, error: Error): void;
  /** The far side is gone. Called once; the error says why, or is absent after a clean end. */
  closed(error?: Error): void;
}

/** What a request handler is told about the request it answers. */
export interface Incoming {
  /** Aborted when the far side cancels the request or goes away. */
  signal: AbortSignal;
  /** Sends progress under the requester's own token; absent when it gave none. */
  progress?: (params: Params) => void;
  origin?: Id;
  /** Which of our own requests it belongs to, as far as can be told; see `About`. */
  about?: About;
}

/**
 * The request of ours on whose behalf the far side speaks: by the stream it came on, else the only one under way that
 * takes questions, or the last of several for one party. With several parties, it is ambiguous: nobody is asked, and each client hears it once;
 * with several principals nobody hears it either.
 */
export type About = Pick<RequestOptions, 'asked' | 'heard' | 'party'> & { ambiguous?: true };

export interface PeerHandlers {
  /** Answers a request; what it throws becomes the JSON-RPC error. Absent: every request is -32601. */
  request?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  notification?: (notification: RpcNotification, about?: About) => void;
  invalid?: (reason: string) => void;
  /** Called once, whoever ended the conversation. */
  closed?: (error?: Error) => void;
  /** Applied to every error that the far side sent or caused, before anybody is told of it. */
  redact?: (error: Error) => Error;
  /** How messages about the far side name it, such as `server "github"` (default: `the peer`). */
  subject?: string;
  /** Requests of the far side that may be under way at once (default: any number); one more is answered with an error. */
  maxIncoming?: number;
}

export interface RequestOptions {
  /** ms without an answer or progress; then the far side is told to cancel. */
  timeout?: number;
  /** ms in all, however much progress flows (default: the larger of 30 min and `timeout`). */
  totalTimeout?: number;
  signal?: AbortSignal | undefined;
  /**
   * Which results need not be parsed: every large one, which then is `Verbatim`, or one that would take too much memory, which is
   * `Unparsed`. Absent: none, and the latter is a failure.
   */
  verbatim?: 'large' | 'costly' | undefined;
  /** Asks for progress and receives the params of each notification, without the token. */
  progress?: (params: Params) => void;
  /** Answers what the far side asks while it works on this request. */
  asked?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  /** Hears the notifications that belong to this request, progress and cancellation excepted; false for one that it does not want. */
  heard?: (notification: RpcNotification) => unknown;
  /** Whom `asked` and `heard` reach, where it is all the same on behalf of which of its requests (default: nobody else). */
  party?: string | object | undefined;
  /** Whose request it is: the same for all of one client. */
  client?: object | undefined;
  /** As whom the client was authenticated: what may be about requests of several principals reaches none of them. */
  principal?: string | undefined;
}

export interface Peer {
  /** Resolves with the result; rejects with RpcError (what the far side said) or McpxError (timeout, cancelled, unreachable). */
  request(method: string, params?: Params, options?: RequestOptions): Promise<unknown>;
  notify(method: string, params?: Params): void;
  /** What the far side still waits for is answered with `last`, where it is given. */
  close(last?: { code: number; message: string }): Promise<void>;
  /** Our requests without an answer yet, and theirs that we are still working on. */
  readonly pending: { ours: number; theirs: number };
}

export function createPeer(channel: Channel, handlers: PeerHandlers = {}): Peer {
  const subject = handlers.subject ?? 'the peer';
  const { redact = (error) => error } = handlers;
  const calls = createCalls((message) => channel.send(message), { subject, redact });
  const theirs = new InFlight<IncomingCall>();
  let ended: Error | undefined;

  const invalid = (reason: string) => guarded(() => handlers.invalid?.(reason));

  /** Answers and notifications have nobody to tell when the far side is gone or does not read. */
  const trySend = (message: Message) => {
    if (ended) return;
    try {
      channel.send(message);
    } catch (error) {
      invalid(`could not be sent: ${messageOf(error)}`);
    }
  };

  const finish = (reason: Error | undefined) => {
    if (ended) return;
    const error = reason && redact(reason);
    ended = error instanceof McpxError ? error : gone(subject, error);
    calls.failAll(ended);
    for (const incoming of theirs.values()) incoming.abort(ended.message);
    theirs.clear();
    guarded(() => handlers.closed?.(error));
  };

  const reply = (incoming: IncomingCall, answer: RpcResponse & { id: Id }) => {
    // A cancelled request gets no answer, and its id may be in use again.
    if (theirs.get(answer.id) !== incoming) return;
    theirs.delete(answer.id);
    incoming.finish();
    try {
      channel.send(answer);
    } catch (error) {
      if (answer.result instanceof Verbatim) answer.result.discard();
      // A result that cannot be written (too large, too deep) must not leave the far side waiting.
      trySend({ jsonrpc: '2.0', id: answer.id, error: toRpcError(error) });
    }
  };

  const onRequest = (request: RpcRequest, origin: Id | undefined) => {
    const error = objection(request, theirs, handlers);
    if (error !== undefined) return trySend({ jsonrpc: '2.0', id: request.id, error });
    const incoming = new IncomingCall(request, trySend, { origin, about: calls.about(origin) });
    const { id } = request;
    theirs.set(id, incoming);
    // Who waits for our answer cannot give its own meanwhile: people take their time.
    const release = calls.hold(origin);
    const answered = (answer: RpcResponse & { id: Id }) => {
      release();
      reply(incoming, answer);
    };
    answerTo(handlers, request, incoming).then(
      (result) => answered({ jsonrpc: '2.0', id, result: result === undefined ? {} : result }),
      (error) => answered({ jsonrpc: '2.0', id, error: toRpcError(error) }),
    );
  };

  const onNotification = (notification: RpcNotification, origin: Id | undefined) => {
    const { method, params = {} } = notification;
    if (method === 'notifications/progress') calls.progress(params);
    else if (method === 'notifications/cancelled') cancel(theirs, params);
    else handlers.notification?.(notification, calls.about(origin));
  };

  const receive = (message: Message, origin: Id | undefined) => {
    if (ended) return;
    if (isResponse(message)) {
      const reason = calls.answer(message);
      if (reason !== undefined) invalid(reason);
    } else if (isRequest(message)) onRequest(message, origin);
    else guarded(() => onNotification(message, origin), invalid);
  };

  channel.start({ message: receive, large: calls.large, invalid, failed: calls.fail, closed: finish });

  return {
    get pending() {
      return { ours: calls.size, theirs: theirs.size };
    },
    request: (method, params, options = {}) => (ended ? Promise.reject(ended) : calls.begin(method, params, options)),
    notify: (method, params) => trySend({ jsonrpc: '2.0', method, ...(params === undefined ? {} : { params }) }),
    close(last) {
      if (last !== undefined) for (const [id] of theirs.entries()) trySend({ jsonrpc: '2.0', id, error: last });
      finish(undefined);
      return channel.close();
    },
  };
}

/** Always a promise, also when the handler throws at once. */
function answerTo(handlers: PeerHandlers, request: RpcRequest, incoming: IncomingCall): Promise<unknown> {
  try {
    if (handlers.request) return handlers.request(request, incoming);
    return Promise.reject(new RpcError(METHOD_NOT_FOUND, `method not found: ${request.method}`));
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Why a request is not worked on. */
function objection(
  { id }: RpcRequest,
  theirs: InFlight<IncomingCall>,
  { maxIncoming }: PeerHandlers,
): RpcResponse['error'] {
  if (theirs.has(id)) return { code: INVALID_REQUEST, message: `request id ${JSON.stringify(id)} is in use` };
  if (maxIncoming === undefined || theirs.size < maxIncoming) return undefined;
  return { code: RPC_CODES.overloaded, message: `${maxIncoming} requests are under way already` };
}

/** Aborts exactly the request that is named; one that is unknown, or answered already, is ignored. */
function cancel(theirs: InFlight<IncomingCall>, params: Params): void {
  if (!isId(params.requestId)) return;
  const incoming = theirs.get(params.requestId);
  if (!incoming) return;
  theirs.delete(params.requestId);
  incoming.abort(typeof params.reason === 'string' ? params.reason : 'cancelled by the requester');
}

function gone(subject: string, cause: Error | undefined): McpxError {
  const why = cause ? `: ${cause.message}` : '';
  return new McpxError('unreachable', `the connection to ${subject} is closed${why}`, { cause });
}

/** A callback that throws must not hurt the conversation, nor the other callbacks. */
function guarded(run: () => void, report?: (reason: string) => void): void {
  try {
    run();
  } catch (error) {
    report?.(`a handler failed: ${messageOf(error)}`);
  }
}
