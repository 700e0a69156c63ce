/** An upstream over the HTTP+SSE transport of 2024-11-05: one event stream to mcpx, one POST per message to the server. */
import type { IncomingMessage } from 'node:http';
import { McpxError } from '../../errors.ts';
import { decode, reportInvalid } from '../../wire/framing.ts';
import { checkSize, isRequest, type Message } from '../../wire/message.ts';
import type { Receiver } from '../../wire/peer.ts';
import { createSseDecoder } from '../../wire/sse-parser.ts';
import { isUndelivered, undelivered } from '../../wire/undelivered.ts';
import { consume, createHttpClient, discard, type Exchange, type HttpClient, readText } from '../http/http-client.ts';
import { networkError, refusalError } from '../http/http-errors.ts';
import { createPostQueue, POST_WAIT, type PostQueue } from '../http/post-queue.ts';
import type { Redactor } from '../secret-redactor.ts';
import { type LaunchOf, MAX_QUEUED, type Refusable, type TransportOptions } from './transport.ts';

const MAX_ERROR_BODY = 64 * 1024;
const INITIALIZED = 'notifications/initialized';

/** https://modelcontextprotocol.io/specification/2024-11-05/basic/transports#http-with-sse */
export function openSse(launch: LaunchOf<'sse' | 'auto'>, options: TransportOptions): Refusable {
  return new SseTransport(launch, options);
}

class SseTransport implements Refusable {
  readonly #launch: LaunchOf<'sse' | 'auto'>;
  readonly #options: TransportOptions;
  readonly #redactor: Redactor;
  readonly #streamed: HttpClient;
  readonly #posts: PostQueue;
  #stream: Exchange | undefined;
  /** The client for POSTs; undefined until the server has sent its endpoint. */
  #endpoint: HttpClient | undefined;
  #receiver: Receiver | undefined;
  /** Resolves when messages may be sent; earlier messages wait for it. */
  #ready: Promise<void> = Promise.resolve();
  #unsent = 0;
  #closed = false;
  #refused: number | undefined;

  constructor(launch: LaunchOf<'sse' | 'auto'>, options: TransportOptions) {
    this.#launch = launch;
    this.#options = options;
    this.#redactor = options.redactor;
    this.#streamed = createHttpClient(launch.url, options.name, options.authorization);
    this.#posts = createPostQueue({ name: options.name });
  }

  get refused(): number | undefined {
    return this.#refused;
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#ready = new Promise((resolve, reject) => {
      this.#read(resolve).catch((cause: Error) => {
        const error = networkError(this.#options.name, this.#streamed.address, cause);
        reject(error);
        this.#end(error);
      });
    });
    // The receiver already has this error.
    this.#ready.catch(() => undefined);
  }

  send(message: Message): void {
    const { name, maxBytes } = this.#options;
    if (this.#closed) throw undelivered(`the connection to server "${name}" is closed`);
    if (this.#unsent >= MAX_QUEUED) {
      throw new McpxError('overloaded', `server "${name}" does not read: ${this.#unsent} characters wait already`);
    }
    const body = JSON.stringify(message);
    checkSize(body, maxBytes);
    // No message may overtake this one; other messages may, because a server can delay a POST until its response.
    if ('method' in message && message.method === INITIALIZED) this.#ready = this.#send(message, body);
    else if (isRequest(message)) void this.#send(message, body);
    else this.#posts.add(body.length, () => this.#send(message, body, POST_WAIT));
  }

  /** Sends a message; never rejects: errors are passed to the receiver. */
  async #send(message: Message, body: string, timeout?: number): Promise<void> {
    this.#unsent += body.length;
    try {
      await this.#ready;
      await this.#post(body, timeout);
    } catch (error) {
      this.#unsendable(message, error as Error);
    }
    this.#unsent -= body.length;
  }

  async close(): Promise<void> {
    this.#end();
  }

  #end(reason?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#posts.clear();
    this.#stream?.abort();
    this.#streamed.destroy();
    this.#endpoint?.destroy();
    this.#receiver?.closed(reason);
  }

  /** Reads the stream to its end, which ends the connection; always rejects. */
  async #read(ready: () => void): Promise<never> {
    const { name, maxBytes, authorization } = this.#options;
    const headers = { accept: 'text/event-stream', 'accept-encoding': 'identity' };
    this.#stream = this.#streamed.start({ method: 'GET', headers, repeatable: true });
    const response = await this.#stream.response;
    if (response.statusCode !== 200) throw await this.#refusal(response);
    const type = (response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type !== 'text/event-stream') {
      const what = `content type "${type}", not with an event stream`;
      throw new McpxError('protocol', `server "${name}" answered with ${what}`);
    }
    const decoder = createSseDecoder({ maxBytes });
    await consume(response, (chunk) => {
      for (const event of decoder.push(chunk)) {
        if (event.data === undefined) this.#receiver?.invalid(`an event is over the limit of ${maxBytes} bytes`);
        else if (event.type === 'message') this.#deliver(event.data);
        else if (event.type === 'endpoint' && this.#endpoint === undefined) {
          const endpoint = this.#target(event.data);
          if (endpoint === undefined) response.destroy(this.#elsewhere());
          else {
            this.#endpoint = createHttpClient(endpoint, name, authorization);
            ready();
          }
        }
      }
    });
    throw new McpxError('unreachable', `server "${name}" ended its event stream`);
  }

  /** Returns the endpoint URL; undefined for another origin, which must not get the configured headers. */
  #target(data: string): string | undefined {
    const { url } = this.#launch;
    const target = URL.canParse(data, url) ? new URL(data, url) : undefined;
    return target?.origin === new URL(url).origin ? target.href : undefined;
  }

  #elsewhere(): McpxError {
    return new McpxError('protocol', `server "${this.#options.name}" names an endpoint at another origin than its own`);
  }

  #deliver(text: string): void {
    for (const { message, invalid } of decode(text)) {
      if (message) this.#receiver?.message(message);
      else reportInvalid(this.#receiver, invalid, `server "${this.#options.name}"`);
    }
  }

  async #post(body: string, timeout: number | undefined): Promise<void> {
    const { name } = this.#options;
    if (this.#closed || this.#endpoint === undefined) throw undelivered(`the connection to server "${name}" is closed`);
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'accept-encoding': 'identity',
    };
    try {
      const bounds = { repeatable: false, ...(timeout !== undefined && { timeout }) };
      const response = await this.#endpoint.start({ method: 'POST', headers, body, ...bounds }).response;
      const { statusCode = 0 } = response;
      if (statusCode < 200 || statusCode >= 300) throw await this.#refusal(response);
      discard(response);
    } catch (cause) {
      throw networkError(name, this.#endpoint.address, cause as Error);
    }
  }

  #unsendable(message: Message, error: Error): void {
    if (this.#closed) return;
    if (isRequest(message)) this.#receiver?.failed?.(message.id, error);
    else this.#receiver?.invalid(`a message was not taken: ${error.message}`);
    if (isUndelivered(error)) this.#end(new McpxError('unreachable', error.message));
  }

  async #refusal(response: IncomingMessage): Promise<Error> {
    const { name, authorization } = this.#options;
    this.#refused = response.statusCode;
    return refusalError({
      name,
      status: response.statusCode ?? 0,
      body: await readText(response, MAX_ERROR_BODY, name).catch(() => ''),
      retryAfter: response.headers['retry-after'],
      inSession: this.#endpoint !== undefined,
      redactor: this.#redactor,
      authorization,
    });
  }
}
