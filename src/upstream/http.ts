/** An upstream over Streamable HTTP: one POST per message, answers as JSON or as event streams, a GET stream for the rest. */
import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { McpxError } from '../errors.ts';
import { type Decoded, decode } from '../wire/framing.ts';
import { type Id, isRecord, isRequest, isResponse, type Message } from '../wire/message.ts';
import type { Receiver } from '../wire/peer.ts';
import { createSseDecoder, type SseDecoder } from '../wire/sse.ts';
import { isUndelivered, undelivered } from '../wire/undelivered.ts';
import { retryDelay } from './health.ts';
import { consume, createHttpClient, discard, type Exchange, type HttpClient, readText } from './http-client.ts';
import { networkError, refusalError } from './http-failure.ts';
import { createHttpSession, type HttpSession } from './http-session.ts';
import {
  type LaunchOf,
  MAX_QUEUED,
  STOP,
  type StopBounds,
  type Transport,
  type TransportOptions,
} from './transport.ts';

export function openHttp(launch: LaunchOf<'http' | 'auto'>, options: TransportOptions): Transport {
  return new HttpTransport(launch, options);
}

/** One POST under way. */
interface Flight {
  /** The request's id; absent for a notification or an answer. */
  id: Id | undefined;
  method: string;
  answered: boolean;
  aborted: boolean;
  exchange: Exchange | undefined;
}

const INITIALIZED = 'notifications/initialized';
/** How long a stream may stay open after its answer, in ms: an orderly end keeps the socket. */
const LINGER = 1000;
/** The pause before a broken answer stream is resumed, in ms, and how often that is tried without news. */
const RESUME_WAIT = 250;
const MAX_RESUMES = 3;
const LISTEN_INTERVAL = 1000;
const MAX_ERROR_BODY = 64 * 1024;

class HttpTransport implements Transport {
  readonly #name: string;
  readonly #maxBytes: number;
  readonly #client: HttpClient;
  readonly #session: HttpSession;
  readonly #flights = new Set<Flight>();
  readonly #ending = new AbortController();
  #receiver: Receiver | undefined;
  #listening: Exchange | undefined;
  /** Resolves when the upstream knows that it is initialized; what is sent meanwhile waits for it. */
  #initialized: Promise<void> | undefined;
  /** Characters of bodies that the upstream has not taken yet. */
  #unsent = 0;
  /** Why this conversation cannot go on; what is under way may still come to its end. */
  #lost: McpxError | undefined;
  #closed: Promise<void> | undefined;

  constructor(launch: LaunchOf<'http' | 'auto'>, options: TransportOptions) {
    this.#name = options.name;
    this.#maxBytes = options.maxBytes;
    this.#client = createHttpClient(launch.url, options.name);
    this.#session = createHttpSession(launch.headers, options.name);
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
    if (body.length > this.#maxBytes / 3 && Buffer.byteLength(body) > this.#maxBytes) {
      throw new McpxError('overloaded', `the message is over the limit of ${this.#maxBytes} bytes`);
    }
    if (this.#initialized) void this.#initialized.then(() => this.#post(message, body));
    else if ('method' in message && message.method === INITIALIZED) this.#initialized = this.#initialize(message, body);
    else void this.#post(message, body);
  }

  close(bounds: StopBounds = STOP): Promise<void> {
    this.#closed ??= this.#end(Math.min(bounds.eof, STOP.eof));
    return this.#closed;
  }

  async #end(wait: number): Promise<void> {
    this.#ending.abort();
    this.#listening?.abort();
    for (const flight of this.#flights) abort(flight);
    if (this.#session.id !== undefined && !this.#lost) {
      const { response } = this.#client.start({
        method: 'DELETE',
        headers: this.#session.headers({}),
        repeatable: true,
      });
      const answered = response.then(discard, () => undefined);
      await Promise.race([answered, delay(wait)]);
    }
    this.#client.destroy();
    this.#receiver?.closed();
  }

  async #initialize(message: Message, body: string): Promise<void> {
    await this.#post(message, body);
    this.#initialized = undefined;
    if (!this.#lost && !this.#closed) void this.#listen();
  }

  /** Never rejects: what goes wrong is told to the receiver. */
  async #post(message: Message, body: string): Promise<void> {
    const method = 'method' in message ? message.method : 'answer';
    const id = isRequest(message) ? message.id : undefined;
    const flight: Flight = { id, method, answered: false, aborted: false, exchange: undefined };
    this.#flights.add(flight);
    try {
      const response = await this.#exchange(flight, body);
      if (method === 'initialize') this.#session.begin(response);
      await this.#accept(flight, response);
    } catch (error) {
      this.#failed(flight, networkError(this.#name, this.#client.address, error as Error));
    }
    this.#flights.delete(flight);
    if (method === 'notifications/cancelled') this.#forget(message);
    if (this.#lost && this.#flights.size === 0) this.#gone(this.#lost.message);
  }

  #exchange(flight: Flight, body: string): Promise<IncomingMessage> {
    if (this.#closed) return Promise.reject(undelivered('the connection is closed'));
    this.#unsent += body.length;
    flight.exchange = this.#client.start({
      method: 'POST',
      headers: this.#session.headers({ 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      body,
      repeatable: flight.method !== 'tools/call',
      flushed: () => {
        this.#unsent -= body.length;
      },
    });
    return flight.exchange.response;
  }

  async #accept(flight: Flight, response: IncomingMessage): Promise<void> {
    const { statusCode: status = 0, headers } = response;
    if (status < 200 || status >= 300) throw await this.#refusal(response);
    if (flight.id === undefined) return discard(response);
    const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') throw this.#odd(response, 'compressed');
    if (type === 'text/event-stream') await this.#readAnswer(flight, response);
    else if (type === 'application/json') this.#deliver(decode(await readText(response, this.#maxBytes)), flight);
    else throw this.#odd(response, `HTTP ${status} and content type "${type}"`);
    if (!flight.answered) throw this.#unanswered(flight);
  }

  /** Reads the stream of one answer; one that breaks off is resumed where the upstream numbers its events. */
  async #readAnswer(flight: Flight, first: IncomingMessage): Promise<void> {
    const decoder = createSseDecoder({ maxBytes: this.#maxBytes });
    let response = first;
    for (let tries = 1; ; tries++) {
      const known = decoder.lastId;
      const broken = await this.#readEvents(response, decoder, flight).catch((error: Error) => error);
      if (flight.answered) return;
      if (decoder.lastId !== known) tries = 1;
      if (broken instanceof McpxError || flight.aborted || decoder.lastId === undefined || tries > MAX_RESUMES) {
        throw broken ?? this.#unanswered(flight);
      }
      await delay(decoder.retry ?? RESUME_WAIT, undefined, { signal: this.#ending.signal });
      flight.exchange = this.#openStream(decoder);
      response = await flight.exchange.response;
      if (response.statusCode !== 200) throw await this.#refusal(response);
    }
  }

  async #readEvents(response: IncomingMessage, decoder: SseDecoder, flight?: Flight): Promise<void> {
    let linger: NodeJS.Timeout | undefined;
    const read = (chunk: Buffer) => {
      for (const { type, data } of decoder.push(chunk)) {
        if (data === undefined) response.destroy(this.#tooLarge());
        else if (type === 'message') this.#deliver(decode(data), flight);
      }
      if (flight?.answered) linger ??= setTimeout(() => response.destroy(), LINGER);
    };
    await consume(response, read).finally(() => clearTimeout(linger));
  }

  #deliver(decoded: Decoded[], flight?: Flight): void {
    for (const { message, invalid } of decoded) {
      if (!message) {
        this.#receiver?.invalid(invalid.reason);
        continue;
      }
      if (isResponse(message) && flight && String(message.id) === String(flight.id)) {
        flight.answered = true;
        if (flight.method === 'initialize' && isRecord(message.result))
          this.#session.agree(message.result.protocolVersion);
      }
      this.#receiver?.message(message, flight?.id);
    }
  }

  /** The stream for what belongs to no call; kept open as long as the upstream offers one. */
  async #listen(): Promise<void> {
    const decoder = createSseDecoder({ maxBytes: this.#maxBytes });
    for (let failures = 1; !this.#lost && !this.#closed; failures++) {
      const known = decoder.lastId;
      const offered = await this.#listenOnce(decoder).catch(() => true);
      if (!offered) return;
      if (decoder.lastId !== known) failures = 1;
      const wait = decoder.retry ?? retryDelay(failures, LISTEN_INTERVAL);
      await delay(wait, undefined, { ref: false, signal: this.#ending.signal }).catch(() => undefined);
    }
  }

  /** Resolves when the stream has ended; false when there is no use in opening it again. */
  async #listenOnce(decoder: SseDecoder): Promise<boolean> {
    this.#listening = this.#openStream(decoder);
    const response = await this.#listening.response;
    if (response.statusCode === 200) {
      await this.#readEvents(response, decoder);
      return true;
    }
    const refusal = await this.#refusal(response);
    if (isUndelivered(refusal)) {
      this.#lose(refusal as McpxError);
      if (this.#flights.size === 0) this.#gone(refusal.message);
    }
    return (response.statusCode ?? 0) >= 500 && response.statusCode !== 501;
  }

  #openStream(decoder: SseDecoder): Exchange {
    const resume = decoder.lastId === undefined ? {} : { 'last-event-id': decoder.lastId };
    const headers = this.#session.headers({ accept: 'text/event-stream', ...resume });
    return this.#client.start({ method: 'GET', headers, repeatable: true });
  }

  async #refusal(response: IncomingMessage): Promise<Error> {
    const body = await readText(response, MAX_ERROR_BODY).catch(() => '');
    return refusalError({
      name: this.#name,
      status: response.statusCode ?? 0,
      body,
      retryAfter: response.headers['retry-after'],
      inSession: this.#session.id !== undefined,
    });
  }

  #failed(flight: Flight, error: Error): void {
    if (isUndelivered(error)) this.#lose(error as McpxError);
    if (flight.answered || this.#closed) return;
    if (flight.id === undefined) this.#receiver?.invalid(`"${flight.method}" was not taken: ${error.message}`);
    else this.#receiver?.failed?.(flight.id, error);
  }

  #lose(error: McpxError): void {
    this.#lost ??= error;
    this.#listening?.abort();
  }

  #gone(reason: string): void {
    if (!this.#closed) this.#receiver?.closed(new McpxError('unreachable', reason));
  }

  /** Nobody waits any more for the request that was cancelled. */
  #forget(cancelled: Message): void {
    if (!('params' in cancelled)) return;
    for (const flight of this.#flights) if (flight.id === cancelled.params?.requestId) abort(flight);
  }

  #odd(response: IncomingMessage, what: string): McpxError {
    response.destroy();
    return new McpxError('protocol', `server "${this.#name}" answered with ${what}, not with JSON or an event stream`);
  }

  #tooLarge(): McpxError {
    return new McpxError('protocol', `server "${this.#name}" sent an event over the limit of ${this.#maxBytes} bytes`);
  }

  #unanswered(flight: Flight): McpxError {
    return new McpxError(
      'unreachable',
      `server "${this.#name}" ended its reply to "${flight.method}" without an answer`,
    );
  }
}

function abort(flight: Flight): void {
  flight.aborted = true;
  flight.exchange?.abort();
}
