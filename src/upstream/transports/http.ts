/** An upstream over Streamable HTTP: one POST per message, responses as JSON or event streams, and a GET stream for other messages. */
import type { IncomingMessage } from 'node:http';
import { McpxError } from '../../errors.ts';
import { isLosslessNumber } from '../../lossless-json.ts';
import { isModern } from '../../mcp/envelope.ts';
import { SlotMap } from '../../slot-map.ts';
import { type Decoded, decode, reportInvalid } from '../../wire/framing.ts';
import type { Id, Message, RpcResponse } from '../../wire/message.ts';
import { checkSize, isRecord, isRequest, isResponse } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { LARGE, sizeOf } from '../../wire/raw-result.ts';
import { isUndelivered, undelivered } from '../../wire/undelivered.ts';
import type { Authorization } from '../http/authorization.ts';
import { createHttpClient, discard, type HttpClient, readChunks, readText, textOf } from '../http/http-client.ts';
import { ENDPOINT, networkError, refusalError } from '../http/http-errors.ts';
import { createHttpSession, type HttpSession } from '../http/http-session.ts';
import { type Awaited, createStreams, type Streams } from '../http/http-streams.ts';
import { createPostQueue, POST_WAIT, type PostQueue } from '../http/post-queue.ts';
import { createModernHeaders, type ModernHeaders } from '../http/request-headers.ts';
import type { Redactor } from '../secret-redactor.ts';
import {
  type LaunchOf,
  MAX_QUEUED,
  type Refusable,
  STOP,
  type StopBounds,
  type TransportOptions,
} from './transport.ts';

export function openHttp(launch: LaunchOf<'http' | 'auto'>, options: TransportOptions): Refusable {
  return new HttpTransport(launch, options);
}

/** A pending POST. */
interface Flight extends Awaited {
  /** The request's id; undefined for a notification or a response. */
  id: Id | undefined;
  method: string;
  message: Message;
}

const INITIALIZED = 'notifications/initialized';
/** A request without a response: a close does not wait for its end. */
const LISTEN = 'subscriptions/listen';
const MAX_ERROR_BODY = 64 * 1024;

class HttpTransport implements Refusable {
  readonly #name: string;
  readonly #maxBytes: number;
  readonly #redactor: Redactor;
  readonly #authorization: Authorization;
  readonly #client: HttpClient;
  readonly #session: HttpSession;
  readonly #streams: Streams;
  readonly #modern: ModernHeaders;
  readonly #posts: PostQueue;
  readonly #flights = new SlotMap<Flight>();
  #lastFlight = 0;
  /** Aborts when nothing more will be sent. */
  readonly #over = new AbortController();
  /** Aborts when the close has taken too long. */
  readonly #patience = new AbortController();
  #receiver: Receiver | undefined;
  /** Resolves when the upstream has received `notifications/initialized`; later messages wait for it. */
  #initialized: Promise<void> | undefined;
  /** Characters of bodies that have not been sent yet. */
  #unsent = 0;
  /** The reason why the session is lost; pending requests may still be answered. */
  #lost: Error | undefined;
  #closed: Promise<void> | undefined;
  #refused: number | undefined;

  constructor(launch: LaunchOf<'http' | 'auto'>, { name, maxBytes, log, redactor, authorization }: TransportOptions) {
    this.#name = name;
    this.#modern = createModernHeaders((tool, why) => log.warn(`"${name}.${tool}" is left out: ${why}`));
    this.#maxBytes = maxBytes;
    this.#redactor = redactor;
    this.#authorization = authorization;
    this.#client = createHttpClient(launch.url, name, authorization);
    this.#session = createHttpSession(name);
    this.#posts = createPostQueue({ name });
    this.#streams = createStreams({
      name,
      maxBytes,
      signal: this.#over.signal,
      open: (lastEventId) => {
        const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
        const headers = this.#session.headers({ accept: 'text/event-stream', ...resume });
        return this.#client.start({ method: 'GET', headers, repeatable: true });
      },
      refusal: (response) => this.#refusal(response),
    });
  }

  get refused(): number | undefined {
    return this.#refused;
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
  }

  send(message: Message): void {
    if (this.#closed || this.#lost) throw undelivered(`the connection to server "${this.#name}" is closed`);
    if (this.#unsent >= MAX_QUEUED) {
      throw new McpxError(
        'overloaded',
        `server "${this.#name}" does not read: ${this.#unsent} characters wait already`,
      );
    }
    const body = JSON.stringify(message);
    checkSize(body, this.#maxBytes);
    if (this.#isHungUp(message)) return;
    if ('method' in message && message.method === INITIALIZED) this.#initialized = this.#initialize(message, body);
    else if (isRequest(message)) void this.#post(message, body);
    else this.#posts.add(body.length, () => this.#post(message, body));
  }

  close(bounds: StopBounds = STOP): Promise<void> {
    const timer = setTimeout(() => this.#patience.abort(), Math.min(bounds.eof, STOP.eof));
    this.#closed ??= this.#end();
    return this.#closed.finally(() => clearTimeout(timer));
  }

  async #end(): Promise<void> {
    this.#over.abort();
    this.#posts.clear();
    for (const flight of this.#flights.values()) abort(flight);
    if (this.#session.id !== undefined && !this.#lost) {
      const farewell = this.#client.start({ method: 'DELETE', headers: this.#session.headers({}), repeatable: true });
      this.#patience.signal.addEventListener('abort', farewell.abort, { once: true });
      await farewell.response.then(discard, () => undefined);
    }
    this.#client.destroy();
    this.#receiver?.closed();
  }

  async #initialize(message: Message, body: string): Promise<void> {
    await this.#post(message, body);
    this.#initialized = undefined;
    if (this.#over.signal.aborted) return;
    const take = (text: string) => this.#deliver(decode(text));
    void this.#streams.listen(take, (refusal) => isUndelivered(refusal) && this.#lose(refusal));
  }

  /** Posts a message; never rejects: errors are passed to the receiver. */
  async #post(message: Message, body: string): Promise<void> {
    const method = 'method' in message ? message.method : 'answer';
    const id = isRequest(message) ? message.id : undefined;
    const flight: Flight = { id, method, message, answered: false, aborted: false, exchange: undefined };
    const place = ++this.#lastFlight;
    this.#flights.set(place, flight);
    if (this.#initialized) await this.#initialized;
    try {
      const response = await this.#exchange(flight, body);
      if (method === 'initialize') this.#session.begin(response);
      await this.#accept(flight, response);
    } catch (error) {
      this.#failed(flight, networkError(this.#name, this.#client.address, error as Error));
    }
    this.#flights.delete(place);
    if (method === 'notifications/cancelled') this.#forget(message);
    this.#settle();
  }

  #exchange(flight: Flight, body: string): Promise<IncomingMessage> {
    if (this.#closed || this.#lost) throw undelivered(`the connection to server "${this.#name}" is closed`);
    this.#unsent += body.length;
    flight.exchange = this.#client.start({
      method: 'POST',
      headers: this.#session.headers({
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...this.#modern.of(flight.message),
      }),
      body,
      // A tool call runs at most once; any other message may be sent again on a new socket.
      repeatable: flight.method !== 'tools/call',
      ...(flight.id === undefined && flight.method !== INITIALIZED && { timeout: POST_WAIT }),
      flushed: () => {
        this.#unsent -= body.length;
      },
    });
    return flight.exchange.response;
  }

  async #accept(flight: Flight, response: IncomingMessage): Promise<void> {
    const { statusCode: status = 0, headers } = response;
    if (status < 200 || status >= 300) {
      this.#refused = status;
      throw await this.#refusal(response);
    }
    if (flight.id === undefined) return discard(response);
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw this.#odd(response, 'a compressed body');
    if (type === 'text/event-stream')
      await this.#streams.answer(flight, response, (text) => this.#deliver(decode(text), flight));
    else if (type === 'application/json')
      this.#deliverBody(await readChunks(response, this.#maxBytes, this.#name), flight);
    else throw this.#odd(response, `HTTP ${status} and content type "${type}"`);
    if (!flight.answered) throw new McpxError('protocol', `server "${this.#name}" did not answer "${flight.method}"`);
  }

  /** Delivers a JSON response, a large one as bytes if nothing reads it. */
  #deliverBody(chunks: Buffer[], flight: Flight): void {
    if (sizeOf(chunks) >= LARGE && this.#receiver?.large?.(chunks, flight.id)) flight.answered = true;
    else this.#deliver(decode(textOf(chunks)), flight);
  }

  #deliver(decoded: Decoded[], flight?: Flight): void {
    for (const { message, invalid } of decoded) {
      if (!message) {
        reportInvalid(this.#receiver, invalid, `server "${this.#name}"`);
        continue;
      }
      if (isResponse(message) && flight && isAnswerTo(message, flight)) {
        flight.answered = true;
        if (flight.method === 'initialize' && isRecord(message.result))
          this.#session.agree(message.result.protocolVersion);
        if (flight.method === 'tools/list' && isModernRequest(flight.message))
          message.result = this.#modern.learn(message.result);
      }
      this.#receiver?.message(message, flight?.id);
    }
  }

  async #refusal(response: IncomingMessage): Promise<Error> {
    const body = await readText(response, MAX_ERROR_BODY, this.#name).catch(() => '');
    return refusalError({
      name: this.#name,
      status: response.statusCode ?? 0,
      body,
      retryAfter: response.headers['retry-after'],
      inSession: this.#session.id !== undefined,
      redactor: this.#redactor,
      authorization: this.#authorization,
    });
  }

  #failed(flight: Flight, error: Error): void {
    if (isUndelivered(error)) this.#lost ??= error;
    if (flight.answered || this.#closed) return;
    if (flight.id === undefined) this.#receiver?.invalid(`"${flight.method}" was not taken: ${error.message}`);
    else this.#receiver?.failed?.(flight.id, error);
  }

  #lose(reason: Error): void {
    this.#lost ??= reason;
    this.#settle();
  }

  /** Closes a lost session once no request is pending. */
  #settle(): void {
    if (!this.#lost || this.#closed) return;
    if (this.#flights.values().some(({ method }) => method !== LISTEN)) return;
    this.#over.abort();
    for (const flight of this.#flights.values()) abort(flight);
    this.#receiver?.closed(new McpxError('unreachable', this.#lost.message));
  }

  /** Cancels a modern request by aborting its POST; the modern era has no other cancellation over HTTP. */
  #isHungUp(message: Message): boolean {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false;
    const cancelled = this.#flights.values().find(({ id }) => id === message.params?.requestId);
    if (!cancelled || !isModernRequest(cancelled.message)) return false;
    abort(cancelled);
    return true;
  }

  /** Aborts the POST of a cancelled request. */
  #forget(cancelled: Message): void {
    if (!('params' in cancelled)) return;
    for (const flight of this.#flights.values()) if (flight.id === cancelled.params?.requestId) abort(flight);
  }

  #odd(response: IncomingMessage, what: string): McpxError {
    response.destroy();
    const message = `server "${this.#name}" answered with ${what}, not with JSON or an event stream`;
    return new McpxError('protocol', message, what.includes('html') ? { hint: ENDPOINT, fault: 'no-endpoint' } : {});
  }
}

function abort(flight: Flight): void {
  flight.aborted = true;
  flight.exchange?.abort();
}

/**
 * Returns true if the response has the request's id. Our ids are safe integers; some servers return them as strings.
 */
function isAnswerTo({ id }: RpcResponse, flight: Flight): boolean {
  return !isLosslessNumber(id) && String(id) === String(flight.id);
}

function isModernRequest(message: Message): boolean {
  return isRequest(message) && isModern(message);
}
