/** HTTP client for one origin: keep-alive sockets, redirects within the origin only, and no timeout by default. */
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../../errors.ts';
import { type Authorization, isAuthStatus } from './authorization.ts';
import { type Route, routeTo } from './proxy.ts';

export interface HttpClient {
  start(request: HttpRequest): Exchange;
  /** The URL without credentials and query for messages, with the proxy if there is one. */
  readonly address: string;
  destroy(): void;
}

export interface HttpRequest {
  method: 'POST' | 'GET' | 'DELETE';
  /** The headers other than those of the `Authorization`; they win over them. */
  headers: OutgoingHttpHeaders;
  body?: string;
  /** True if the request may be sent again, possibly twice, after the peer has closed a keep-alive socket. */
  repeatable: boolean;
  /** Called once when the body has been sent or will never be. */
  flushed?: () => void;
  /** Milliseconds to wait for a response before the request is aborted (default: no limit). */
  timeout?: number;
}

export interface Exchange {
  /** Resolves with the response; rejects with the socket error or with McpxError. */
  response: Promise<IncomingMessage>;
  abort(): void;
}

const MAX_REDIRECTS = 5;
/**
 * Milliseconds after which an idle socket is closed: before common servers close it (5 s), so that a request seldom
 * meets a closing socket.
 */
const IDLE_SOCKET = 4000;

export function createHttpClient(address: string, name: string, authorization: Authorization): HttpClient {
  let url = parseUrl(address, name);
  const route = routeTo(url, name);
  const agent = route.agent({ keepAlive: true, timeout: IDLE_SOCKET });
  const deps: SendingDeps = {
    agent,
    newAgent: () => route.agent(),
    request: (options) => route.request(url, options),
    authorization,
    redirected(response) {
      url = target(url, response, name);
    },
    lost: () => new McpxError('protocol', `server "${name}" redirects in a circle`),
  };
  return {
    start(wanted) {
      const sending = new Sending(wanted, deps);
      return { response: sending.run(), abort: () => sending.abort() };
    },
    get address() {
      const through = route.proxy === undefined ? '' : `" through the proxy "${route.proxy}`;
      return url.origin + url.pathname + through;
    },
    destroy: () => agent.destroy(),
  };
}

interface SendingDeps {
  agent: Agent;
  /** Creates an agent without open sockets. */
  newAgent(): Agent;
  /** Creates a request to the current URL. */
  request(options: Parameters<Route['request']>[1]): ClientRequest;
  authorization: Authorization;
  /** Changes the URL to the target of a redirect; throws if it is not followed. */
  redirected(response: IncomingMessage): void;
  /** Returns the error for too many redirects. */
  lost(): McpxError;
}

/** One request until its response, with its retry, its redirects, and a second attempt with other credentials. */
class Sending {
  readonly #wanted: HttpRequest;
  readonly #deps: SendingDeps;
  #current: ClientRequest | undefined;
  #aborted = false;
  #flushed: (() => void) | undefined;

  constructor(wanted: HttpRequest, deps: SendingDeps) {
    this.#wanted = wanted;
    this.#deps = deps;
    this.#flushed = wanted.flushed;
  }

  async run(): Promise<IncomingMessage> {
    const { timeout } = this.#wanted;
    const { authorization } = this.#deps;
    const timer = timeout === undefined ? undefined : setTimeout(() => this.abort(), timeout).unref();
    try {
      const given = authorization.headers();
      const sent = given instanceof Promise ? await given : given;
      const response = await this.#followed(sent);
      const { statusCode: status = 0, headers } = response;
      if (!isAuthStatus(status)) return response;
      // A refused request did not run, so a tool call may be sent again too.
      const again = await authorization.refused({ status, challenge: headers['www-authenticate'], sent });
      if (!again || this.#aborted) return response;
      discard(response);
      return await this.#followed(await authorization.headers());
    } finally {
      clearTimeout(timer);
      this.#flush();
    }
  }

  abort(): void {
    this.#aborted = true;
    this.#current?.destroy();
  }

  async #followed(credentials: OutgoingHttpHeaders): Promise<IncomingMessage> {
    const { agent, newAgent, redirected, lost } = this.#deps;
    for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
      let response: IncomingMessage;
      try {
        response = await this.#sent(agent, credentials);
      } catch (error) {
        if (!this.#canRepeat(error as Resettable)) throw error;
        // The retry uses a new socket: other keep-alive sockets may be closed as well.
        response = await this.#sent(newAgent(), credentials);
      }
      if (!isRedirect(response)) return response;
      discard(response);
      redirected(response);
    }
    throw lost();
  }

  #sent(agent: Agent, credentials: OutgoingHttpHeaders): Promise<IncomingMessage> {
    const { method, headers, body } = this.#wanted;
    return new Promise((resolve, reject) => {
      const request = this.#deps.request({ method, headers: { ...credentials, ...headers }, agent });
      this.#current = request;
      request.on('response', resolve);
      if (this.#flushed !== undefined) request.on('finish', () => this.#flush());
      request.on('error', (error) => reject(Object.assign(error, { reused: request.reusedSocket })));
      request.end(body);
    });
  }

  #flush(): void {
    this.#flushed?.();
    this.#flushed = undefined;
  }

  #canRepeat(error: Resettable): boolean {
    const isUnread = wasKept(error) || this.#wanted.repeatable;
    return !this.#aborted && error.reused === true && isUnread && isReset(error);
  }
}

type Resettable = NodeJS.ErrnoException & { reused?: boolean };

function isReset({ code }: Resettable): boolean {
  return code === 'ECONNRESET' || code === 'EPIPE';
}

/**
 * Returns true if the system refused to write the request, so that it cannot have run. A reset while reading proves
 * nothing: the peer may have read the request before.
 */
function wasKept({ syscall }: Resettable): boolean {
  return syscall === 'write';
}

function parseUrl(address: string, name: string): URL {
  if (!URL.canParse(address)) throw new McpxError('config', `server "${name}" has no valid URL`);
  const url = new URL(address);
  if (url.protocol === 'http:' || url.protocol === 'https:') return url;
  throw new McpxError('config', `server "${name}" has a URL that is neither http nor https`);
}

function isRedirect(response: IncomingMessage): boolean {
  const { statusCode = 0 } = response;
  return statusCode >= 300 && statusCode < 400 && statusCode !== 304;
}

/**
 * Returns the target of a redirect. Only 307 and 308 keep the method and the body; another origin must not get the
 * configured headers.
 */
function target(url: URL, response: IncomingMessage, name: string): URL {
  const { statusCode, headers } = response;
  const location = headers.location ?? '';
  const to = location !== '' && URL.canParse(location, url.href) ? new URL(location, url.href) : undefined;
  if (to && to.origin === url.origin && (statusCode === 307 || statusCode === 308)) return to;
  const where = to ? `to "${to.origin}${to.pathname}"` : 'to nowhere';
  throw new McpxError(
    'unreachable',
    `server "${name}" redirects ${where} (HTTP ${statusCode}), which is not followed`,
    {
      hint: to ? `if you trust it, set "url" to "${to.origin}${to.pathname}"` : undefined,
    },
  );
}

/** Passes the body on chunk by chunk; rejects if it ends prematurely. */
export function consume(response: IncomingMessage, chunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.on('data', (data: Buffer) => {
      try {
        chunk(data);
      } catch (error) {
        // An exception in a listener would be uncaught; it concerns only this response.
        response.destroy(error as Error);
      }
    });
    response.on('end', resolve);
    response.on('error', reject);
    // The `close` event also follows a complete response. The error is created only if needed, because its stack trace
    // is costly.
    response.on('close', () => {
      if (!response.readableEnded) reject(new Error('the connection was closed in the middle'));
    });
  });
}

/** Drains an unused body, so that its socket can be reused. */
export function discard(response: IncomingMessage): void {
  response.on('error', () => {});
  response.resume();
}

/** Reads the whole body as text, at most `maxBytes`. */
export async function readText(response: IncomingMessage, maxBytes: number, name: string): Promise<string> {
  return textOf(await readChunks(response, maxBytes, name));
}

/** Joins the chunks of a body as UTF-8 text. */
export function textOf(chunks: readonly Buffer[]): string {
  const [first] = chunks;
  const isWhole = chunks.length === 1 && first !== undefined;
  return (isWhole ? first : Buffer.concat(chunks)).toString('utf8');
}

/** Reads the whole body, at most `maxBytes`. */
export function readChunks(response: IncomingMessage, maxBytes: number, name: string): Promise<Buffer[]> {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size > maxBytes)
      throw new McpxError('protocol', `server "${name}" sent an answer over the limit of ${maxBytes} bytes`);
    chunks.push(chunk);
  };
  return consume(response, take).then(() => chunks);
}
