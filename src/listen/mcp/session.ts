/** One Streamable HTTP session: a JSON-RPC connection whose messages use the streams of many HTTP requests. */
import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { McpxError } from '../../errors.ts';
import type { ClientSession, Exchange } from '../../front/front-interface.ts';
import type { Principal } from '../../policy/auth.ts';
import { SlotMap } from '../../slot-map.ts';
import {
  type Id,
  INVALID_REQUEST,
  isId,
  isRequest,
  isResponse,
  type Message,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from '../../wire/message.ts';
import { createPeer, type Incoming, type Peer, type Receiver } from '../../wire/peer.ts';
import { sendEmpty } from '../http/http-response.ts';
import type { Posted } from '../http/request-body.ts';
import { type Accepts, Answer, type Streams } from './post-response.ts';
import type { Claims } from './session-id.ts';
import type { SessionEntry } from './sessions.ts';
import { EventStream, type Parking } from './sse-stream.ts';

export interface HttpSessionOptions {
  id: string;
  /** The parameters in the session id; undefined if the id is random. */
  claims?: Claims | undefined;
  /** True if the session began in another process. */
  resumed?: boolean;
  profile: string;
  principal: Principal | undefined;
  parking: Parking;
  /** Reports an invalid message of the client. */
  invalid(reason: string): void;
  /** Closes the front of the session. */
  close(): void;
}

/** The name of the GET stream, for messages that belong to no request. */
const STANDALONE = '0';
/** Milliseconds to wait for the client to open the GET stream. */
const STREAM_WAIT = 2000;
/** Unread characters on the GET stream beyond which no further requests are sent on it. */
const MAX_WAITING = 1024 * 1024;
/** Since this version, clients accept an event without data. */
const PRIMED_SINCE = '2025-11-25';
/** Since this version, there are no batches. */
const NO_BATCH_SINCE = '2025-06-18';

export function allowsBatch(version: string): boolean {
  return version < NO_BATCH_SINCE;
}

export class HttpSession implements SessionEntry {
  readonly kind = 'streamable';
  readonly id: string;
  readonly claims: Claims | undefined;
  readonly profile: string;
  readonly principal: Principal | undefined;
  /** The negotiated protocol version; empty before `initialize`. */
  version = '';
  readonly #options: HttpSessionOptions;
  readonly #peer: Peer;
  #receiver: Receiver | undefined;
  #front: ClientSession | undefined;
  /** The client's requests in progress, by id. */
  readonly #answers = new SlotMap<Answer>();
  /** The responses on whose streams our open requests were sent, by id. */
  readonly #asked = new SlotMap<Answer>();
  readonly #streams = new Map<string, EventStream>();
  #lastStream: number;
  /** Creates and parks the streams of POST responses. */
  readonly #answerStreams: Streams = {
    open: () => this.#stream((++this.#lastStream).toString(36)),
    finished: (stream, answers) => this.#finished(stream, answers),
  };
  /** Resolves when the GET stream is opened for the first time. */
  readonly #attached: Promise<void>;
  #attach: () => void = () => undefined;
  /** The response whose exchange is currently sending. */
  #current: Answer | undefined;

  constructor(options: HttpSessionOptions) {
    this.#options = options;
    this.#attached = new Promise((resolve) => {
      this.#attach = resolve;
    });
    this.id = options.id;
    this.claims = options.claims;
    // A client may try to resume a stream of the other process, whose name must not equal one of ours.
    this.#lastStream = options.resumed ? randomInt(2 ** 20, 2 ** 47) : 0;
    this.profile = options.profile;
    this.principal = options.principal;
    this.#peer = createPeer(
      {
        start: (receiver) => {
          this.#receiver = receiver;
        },
        send: (message) => this.#send(message),
        close: async () => undefined,
      },
      {
        subject: 'the client',
        request: (request, incoming) => this.#answerWith(request, incoming),
        notification: (notification) => this.#front?.notification(notification),
        invalid: options.invalid,
      },
    );
  }

  get calling(): boolean {
    return this.version === '' || this.#answers.size > 0;
  }

  get busy(): boolean {
    return this.calling || (this.#streams.get(STANDALONE)?.attached ?? false);
  }

  /** Begins the session with the version in the result of `initialize`. */
  begin(front: ClientSession, version: string): void {
    this.#front = front;
    this.version = version;
  }

  /** Sends a notification that belongs to no request. */
  notify(method: string, params?: Record<string, unknown>): void {
    this.#peer.notify(method, params);
  }

  /**
   * Sends a request that belongs to none of the client's, on the GET stream. It waits for the stream, because clients
   * open it shortly after `notifications/initialized`.
   */
  async ask(...asked: Parameters<Peer['request']>): Promise<unknown> {
    if (!this.#streams.get(STANDALONE)?.attached)
      await Promise.race([this.#attached, delay(STREAM_WAIT, undefined, { ref: false })]);
    return this.#peer.request(...asked);
  }

  post(posted: Posted, response: ServerResponse, accepts: Accepts): void {
    const { messages, refused, batch } = posted;
    const pending = messages.filter(isRequest).length + refused.length;
    if (pending === 0) {
      for (const message of messages) this.#receive(message);
      sendEmpty(response, 202);
      return;
    }
    const answer = new Answer({ response, accepts, pending, batch, streams: this.#answerStreams });
    for (const one of refused) answer.give(one);
    for (const message of messages) {
      if (isRequest(message)) this.#begin(message, answer);
      else this.#receive(message);
    }
  }

  /** Opens the GET stream or resumes a broken stream; returns false if the stream does not exist. */
  listen(response: ServerResponse, lastEventId: string | undefined): boolean {
    if (lastEventId === undefined) {
      this.#stream(STANDALONE).attach(response);
      this.#attach();
      return true;
    }
    const [, name = '', seq] = /^([0-9a-z]{1,12})-(\d{1,15})$/.exec(lastEventId) ?? [];
    const stream = name === STANDALONE ? this.#stream(name) : this.#streams.get(name);
    if (stream === undefined) return false;
    stream.attach(response, { after: Number(seq) });
    return true;
  }

  /** Ends the session: aborts calls in progress, answers them with the reason, and closes the streams. */
  end(reason: string): void {
    const error = { code: -32000, message: reason };
    void this.#peer.close();
    for (const [id, answer] of this.#answers.entries()) answer.give({ jsonrpc: '2.0', id, error });
    this.#answers.clear();
    for (const stream of this.#streams.values()) {
      stream.end();
      this.#options.parking.remove(stream);
    }
    this.#streams.clear();
    this.#options.close();
  }

  #begin(request: RpcRequest, answer: Answer): void {
    const { id } = request;
    if (this.#answers.has(id)) {
      const error = { code: INVALID_REQUEST, message: `request id ${JSON.stringify(id)} is in use` };
      answer.give({ jsonrpc: '2.0', id, error });
    } else {
      this.#answers.set(id, answer);
      this.#receive(request);
    }
  }

  #receive(message: Message): void {
    if (isResponse(message) && message.id !== null) this.#asked.delete(message.id);
    this.#receiver?.message(message);
    const cancelled = cancelledId(message);
    const answer = cancelled === undefined ? undefined : this.#answers.get(cancelled);
    if (cancelled === undefined || answer === undefined) return;
    this.#answers.delete(cancelled);
    answer.skip();
  }

  #answerWith(request: RpcRequest, incoming: Incoming): Promise<unknown> {
    return this.#front?.request(request, this.#exchange(request, incoming)) ?? Promise.resolve(undefined);
  }

  #exchange(request: RpcRequest, incoming: Incoming): Exchange {
    const answer = this.#answers.get(request.id);
    const { progress } = incoming;
    return {
      signal: incoming.signal,
      requestId: answer?.requestId,
      verbatim: true,
      progress: progress && ((params) => this.#via(answer, () => progress(params))),
      notify: (method, params) => this.#via(answer, () => this.#peer.notify(method, params)),
      ask: (method, params, options) => this.#via(answer, () => this.#peer.request(method, params, options)),
    };
  }

  /** Attributes the messages that `run` sends to this response. */
  #via<T>(answer: Answer | undefined, run: () => T): T {
    const before = this.#current;
    this.#current = answer;
    try {
      return run();
    } finally {
      this.#current = before;
    }
  }

  #send(message: Message): void {
    if (isResponse(message)) this.#answer(message);
    else this.#say(message);
  }

  #say(message: RpcRequest | RpcNotification): void {
    const cancelled = cancelledId(message);
    const answer = cancelled === undefined ? this.#current : this.#asked.get(cancelled);
    if (cancelled !== undefined) this.#asked.delete(cancelled);
    // The call is finished, so its late messages are dropped, except the cancellation of a request of ours.
    if (answer?.over && cancelled === undefined) return;
    const kept = isRequest(message);
    const text = JSON.stringify(message);
    if (!answer?.push(text, { kept })) this.#sendAlone(text, kept);
    else if (kept) this.#asked.set(message.id, answer);
  }

  /** Sends on the GET stream: without one, notifications are dropped and requests fail. */
  #sendAlone(text: string, kept: boolean): void {
    const stream = this.#streams.get(STANDALONE);
    if (kept && !stream?.attached)
      throw new McpxError('unreachable', 'the client has no open stream on which it could be asked');
    if (kept && stream && stream.waiting > MAX_WAITING)
      throw new McpxError('overloaded', 'the client does not read the requests sent to it');
    stream?.push(text, { kept });
  }

  #answer(response: RpcResponse): void {
    const { id } = response;
    const answer = id === null ? undefined : this.#answers.get(id);
    if (id === null || answer === undefined) return;
    answer.give(response);
    this.#answers.delete(id);
  }

  #stream(name: string): EventStream {
    const known = this.#streams.get(name);
    if (known !== undefined) return known;
    const stream = new EventStream({ name, prime: this.version >= PRIMED_SINCE });
    this.#streams.set(name, stream);
    return stream;
  }

  /**
   * Parks a finished stream for a client that lost its connection. A stream without a response is removed, or the
   * client would try to resume it endlessly.
   */
  #finished(stream: EventStream, answers: number): void {
    const { name } = stream;
    if (name === undefined) return;
    if (answers === 0) this.#streams.delete(name);
    else this.#options.parking.park(stream, () => this.#streams.delete(name));
  }
}

function cancelledId(message: Message): Id | undefined {
  const { method, params } = message as RpcNotification;
  return method === 'notifications/cancelled' && isId(params?.requestId) ? params.requestId : undefined;
}
