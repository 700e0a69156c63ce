/** An upstream over the old HTTP+SSE transport, through the official SDK, on our own HTTP client. Loaded only when it is needed. */
import { Buffer } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { SSEClientTransport, SseError } from '@modelcontextprotocol/sdk/client/sse.js';
import { McpxError, RpcError } from '../errors.ts';
import { type Id, isRequest, type Message } from '../wire/message.ts';
import type { Receiver } from '../wire/peer.ts';
import { createSseDecoder } from '../wire/sse.ts';
import { isUndelivered, undelivered } from '../wire/undelivered.ts';
import type { Refusable } from './auto.ts';
import { createHttpClient, discard, type HttpClient, readText } from './http-client.ts';
import { networkError, refusalError } from './http-failure.ts';
import { secretsOf } from './secrets.ts';
import { type LaunchOf, MAX_QUEUED, type TransportOptions } from './transport.ts';

const MAX_ERROR_BODY = 64 * 1024;
const INITIALIZED = 'notifications/initialized';

export function openSse(launch: LaunchOf<'sse' | 'auto'>, options: TransportOptions): Refusable {
  return new SseTransport(launch, options);
}

class SseTransport implements Refusable {
  readonly #options: TransportOptions;
  readonly #secrets: string[];
  readonly #sdk: SSEClientTransport;
  /** By address: the stream's, and that of the endpoint which the upstream names. */
  readonly #clients = new Map<string, HttpClient>();
  /** The last failure of the stream in our own words; the SDK keeps only its text. */
  #failure: Error | undefined;
  #receiver: Receiver | undefined;
  /** Resolves when messages may be sent; what is sent meanwhile waits for it. */
  #ready: Promise<void> = Promise.resolve();
  #open = false;
  #unsent = 0;
  #closed = false;
  #refused: number | undefined;

  constructor(launch: LaunchOf<'sse' | 'auto'>, options: TransportOptions) {
    this.#options = options;
    this.#secrets = secretsOf(launch);
    const fetch = (url: string | URL, init?: RequestInit) => this.#fetch(String(url), init);
    this.#sdk = new SSEClientTransport(new URL(launch.url), { fetch, requestInit: { headers: launch.headers } });
  }

  get refused(): number | undefined {
    return this.#refused;
  }

  start(receiver: Receiver): void {
    this.#receiver = receiver;
    this.#sdk.onmessage = (message) => receiver.message(message as Message);
    this.#sdk.onerror = (error) => {
      if (error instanceof SseError) this.#end(this.#failure ?? this.#lost());
      // A request that failed is told where it was sent; what is left is something unreadable on the stream.
      else if (!isOwn(error)) receiver.invalid(`not a message: ${error.message.slice(0, 200)}`);
    };
    this.#ready = this.#sdk.start().then(() => {
      this.#open = true;
    });
    this.#ready.catch((error: Error) => this.#end(this.#failure ?? this.#odd(error)));
  }

  send(message: Message): void {
    const { name, maxBytes } = this.#options;
    if (this.#closed) throw undelivered(`the connection to server "${name}" is closed`);
    if (this.#unsent >= MAX_QUEUED) {
      throw new McpxError('overloaded', `server "${name}" does not read: ${this.#unsent} characters wait already`);
    }
    const length = JSON.stringify(message).length;
    if (length > maxBytes) throw new McpxError('overloaded', `a message is over the limit of ${maxBytes} bytes`);
    this.#unsent += length;
    const sent = this.#ready
      .then(() => this.#sdk.send(message as never))
      .catch((error) => this.#unsendable(message, error));
    void sent.finally(() => {
      this.#unsent -= length;
    });
    // Nothing may overtake this one; everything else may, for a POST can be held until its answer.
    if ('method' in message && message.method === INITIALIZED) this.#ready = sent;
  }

  async close(): Promise<void> {
    this.#end();
  }

  #end(reason?: Error): void {
    if (this.#closed) return;
    this.#closed = true;
    void this.#sdk.close();
    for (const client of this.#clients.values()) client.destroy();
    this.#receiver?.closed(reason);
  }

  #unsendable(message: Message, error: Error): void {
    if (this.#closed) return;
    const id: Id | undefined = isRequest(message) ? message.id : undefined;
    if (id !== undefined) this.#receiver?.failed?.(id, error);
    else this.#receiver?.invalid(`a message was not taken: ${error.message}`);
    if (isUndelivered(error)) this.#end(new McpxError('unreachable', error.message));
  }

  /** What the SDK asks for, on sockets that know proxies and have no time limit; every failure in our own words. */
  async #fetch(url: string, init: RequestInit = {}): Promise<Response> {
    const isStream = init.method === undefined || init.method === 'GET';
    const client = this.#client(url);
    try {
      const body = typeof init.body === 'string' ? init.body : undefined;
      const headers = {
        ...Object.fromEntries(new Headers(init.headers)),
        'accept-encoding': 'identity',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      };
      const exchange = client.start({
        method: isStream ? 'GET' : 'POST',
        headers,
        ...(body === undefined ? {} : { body }),
        repeatable: false,
      });
      // The one signal of all requests would keep a listener of each; they end with their client.
      if (isStream) init.signal?.addEventListener('abort', () => exchange.abort(), { once: true });
      const response = await exchange.response;
      if (response.statusCode !== 200 && (isStream || !isTaken(response))) throw await this.#refusal(response);
      if (isStream) return this.#stream(response);
      discard(response);
      return new Response(null, { status: 202 });
    } catch (cause) {
      const error = networkError(this.#options.name, client.address, cause as Error);
      if (isStream) this.#failure = error;
      throw error;
    }
  }

  #client(url: string): HttpClient {
    const client = this.#clients.get(url) ?? createHttpClient(url, this.#options.name);
    this.#clients.set(url, client);
    return client;
  }

  /** The events as the SDK reads them: each complete, and none over the limit. */
  #stream(response: IncomingMessage): Response {
    const { name, maxBytes } = this.#options;
    const type = (response.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase();
    if (type !== 'text/event-stream') {
      response.destroy();
      throw new McpxError(
        'protocol',
        `server "${name}" answered with content type "${type}", not with an event stream`,
      );
    }
    const decoder = createSseDecoder({ maxBytes });
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        response.on('data', (chunk: Buffer) => {
          for (const { type, data } of decoder.push(chunk)) {
            if (data === undefined) this.#receiver?.invalid(`an event is over the limit of ${maxBytes} bytes`);
            else controller.enqueue(Buffer.from(`event: ${type}\ndata: ${data.replaceAll('\n', '\ndata: ')}\n\n`));
          }
        });
        response.once('end', () => controller.close());
        response.once('error', (error) => controller.error(error));
      },
      cancel: () => void response.destroy(),
    });
    return new Response(body, { status: 200, headers: { 'content-type': 'text/event-stream' } });
  }

  async #refusal(response: IncomingMessage): Promise<Error> {
    const { name } = this.#options;
    this.#refused = response.statusCode;
    const body = await readText(response, MAX_ERROR_BODY, name).catch(() => '');
    return refusalError({
      name,
      status: response.statusCode ?? 0,
      body,
      retryAfter: response.headers['retry-after'],
      inSession: this.#open,
      secrets: this.#secrets,
    });
  }

  #lost(): McpxError {
    return new McpxError('unreachable', `server "${this.#options.name}" ended its event stream`);
  }

  #odd(error: Error): McpxError {
    return new McpxError('protocol', `server "${this.#options.name}" cannot be spoken to: ${error.message}`);
  }
}

function isOwn(error: Error): boolean {
  return error instanceof McpxError || error instanceof RpcError;
}

function isTaken({ statusCode = 0 }: IncomingMessage): boolean {
  return statusCode >= 200 && statusCode < 300;
}
