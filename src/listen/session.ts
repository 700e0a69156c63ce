/** One session of Streamable HTTP: a conversation whose messages travel on the streams of many requests. */
import { randomInt } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { McpxError } from '../errors.ts';
import type { Exchange, Front } from '../front/front.ts';
import { InFlight } from '../in-flight.ts';
import type { Principal } from '../policy/auth.ts';
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
} from '../wire/message.ts';
import { createPeer, type Incoming, type Peer, type Receiver } from '../wire/peer.ts';
import { type Accepts, Answer, type Streams } from './answer.ts';
import type { Posted } from './body.ts';
import { EventStream, type Parking } from './events.ts';
import { sendEmpty } from './reply.ts';
import type { Claims } from './session-id.ts';
import type { Member } from './sessions.ts';

export interface HttpSessionOptions {
  id: string;
  /** What its id describes, where it describes something. */
  claims?: Claims | undefined;
  /** Whether it began in another process. */
  resumed?: boolean;
  profile: string;
  principal: Principal | undefined;
  parking: Parking;
  /** A message of the client that is of no use. */
  invalid(reason: string): void;
  /** Tells the front that the session is over. */
  close(): void;
}

/** The stream of GET, for what belongs to no request. */
const STANDALONE = '0';
/** ms that the stream of GET may take to come. */
const STREAM_WAIT = 2000;
/** Characters that may wait on the stream of GET before the client is asked nothing more on it. */
const MAX_WAITING = 1024 * 1024;
/** Since this revision a client understands an event without data. */
const PRIMED_SINCE = '2025-11-25';
/** Since this revision there are no batches. */
const NO_BATCH_SINCE = '2025-06-18';

export function allowsBatch(version: string): boolean {
  return version < NO_BATCH_SINCE;
}

export class HttpSession implements Member {
  readonly kind = 'streamable';
  readonly id: string;
  readonly claims: Claims | undefined;
  readonly profile: string;
  readonly principal: Principal | undefined;
  /** The revision that was agreed on; empty until then. */
  version = '';
  readonly #options: HttpSessionOptions;
  readonly #peer: Peer;
  #receiver: Receiver | undefined;
  #front: Front | undefined;
  /** The client's requests under way, by their ids. */
  readonly #answers = new InFlight<Answer>();
  /** Where our own open questions were asked. */
  readonly #asked = new InFlight<Answer>();
  readonly #streams = new Map<string, EventStream>();
  #lastStream: number;
  /** Those of answers. */
  readonly #answerStreams: Streams = {
    open: () => this.#stream((++this.#lastStream).toString(36)),
    finished: (stream, answers) => this.#finished(stream, answers),
  };
  /** Resolves when the stream of GET is there for the first time. */
  readonly #attached: Promise<void>;
  #attach: () => void = () => undefined;
  /** Whose exchange is sending just now. */
  #current: Answer | undefined;

  constructor(options: HttpSessionOptions) {
    this.#options = options;
    this.#attached = new Promise((resolve) => {
      this.#attach = resolve;
    });
    this.id = options.id;
    this.claims = options.claims;
    // A client may ask for the rest of a stream of the other process, which must not be one of ours.
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

  /** Begins the session: what `initialize` was answered with decides its revision. */
  begin(front: Front, version: string): void {
    this.#front = front;
    this.version = version;
  }

  /** A notification that belongs to no request. */
  notify(method: string, params?: Record<string, unknown>): void {
    this.#peer.notify(method, params);
  }

  /** Asks what belongs to no request, on the stream of GET: clients open it a moment after they have said that they are ready. */
  async ask(...asked: Parameters<Peer['request']>): Promise<unknown> {
    if (!this.#streams.get(STANDALONE)?.attached)
      await Promise.race([this.#attached, delay(STREAM_WAIT, undefined, { ref: false })]);
    return this.#peer.request(...asked);
  }

  post(posted: Posted, response: ServerResponse, accepts: Accepts): void {
    const { messages, refused, batch } = posted;
    const owed = messages.filter(isRequest).length + refused.length;
    if (owed === 0) {
      for (const message of messages) this.#receive(message);
      sendEmpty(response, 202);
      return;
    }
    const answer = new Answer({ response, accepts, owed, batch, streams: this.#answerStreams });
    for (const one of refused) answer.give(one);
    for (const message of messages) {
      if (isRequest(message)) this.#begin(message, answer);
      else this.#receive(message);
    }
  }

  /** The stream of GET, or the rest of one that broke; false when there is no such stream. */
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

  /** Ends everything: calls under way are aborted and answered with the reason, streams are closed. */
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

  /** What is sent while `run` runs belongs to this answer. */
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
    // The call is over: nobody waits for what it still has to say, but for a question that is withdrawn.
    if (answer?.over && cancelled === undefined) return;
    const kept = isRequest(message);
    const text = JSON.stringify(message);
    if (!answer?.push(text, { kept })) this.#sendAlone(text, kept);
    else if (kept) this.#asked.set(message.id, answer);
  }

  /** On the stream of GET: notifications are dropped where there is none, questions fail. */
  #sendAlone(text: string, kept: boolean): void {
    const stream = this.#streams.get(STANDALONE);
    if (kept && !stream?.attached)
      throw new McpxError('unreachable', 'the client has no open stream on which it could be asked');
    if (kept && stream && stream.waiting > MAX_WAITING)
      throw new McpxError('overloaded', 'the client does not read what it is asked');
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

  /** A finished stream may still be asked for, by a client that lost its connection; one without an answer must not be, or it would come back for it forever. */
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
