/** HTTP client for one origin: keep-alive sockets, redirects within the origin only, and no timeout by default. */
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../../errors.ts';
import { type Authorization, isAuthStatus } from './authorization.ts';
import { routeTo } from './proxy.ts';

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

  const start = (wanted: HttpRequest): Exchange => {
    let current: ClientRequest | undefined;
    let aborted = false;
    let flushed = wanted.flushed;
    const flush = () => {
      flushed?.();
      flushed = undefined;
    };
    const once = (via: Agent, credentials: OutgoingHttpHeaders) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const { method } = wanted;
        const headers = { ...credentials, ...wanted.headers };
        current = route.request(url, { method, headers, agent: via });
        current.once('response', resolve);
        current.once('finish', flush);
        current.on('error', (error) => reject(Object.assign(error, { reused: current?.reusedSocket })));
        current.end(wanted.body);
      });
    const follow = async (credentials: OutgoingHttpHeaders): Promise<IncomingMessage> => {
      for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
        // The retry uses a new socket: other keep-alive sockets may be closed as well.
        const response = await once(agent, credentials).catch((error) =>
          canRepeat(error) ? once(route.agent(), credentials) : Promise.reject(error),
        );
        if (!isRedirect(response)) return response;
        discard(response);
        url = target(url, response, name);
      }
      throw new McpxError('protocol', `server "${name}" redirects in a circle`);
    };
    const authorized = async (): Promise<IncomingMessage> => {
      const given = authorization.headers();
      const sent = given instanceof Promise ? await given : given;
      const response = await follow(sent);
      const { statusCode: status = 0, headers } = response;
      if (!isAuthStatus(status)) return response;
      // A refused request did not run, so a tool call may be sent again too.
      const again = await authorization.refused({ status, challenge: headers['www-authenticate'], sent });
      if (!again || aborted) return response;
      discard(response);
      return follow(await authorization.headers());
    };
    const canRepeat = (error: Resettable) =>
      !aborted && error.reused === true && (wasKept(error) || wanted.repeatable) && isReset(error);
    const abort = () => {
      aborted = true;
      current?.destroy();
    };
    const timer = wanted.timeout === undefined ? undefined : setTimeout(abort, wanted.timeout).unref();
    const over = () => {
      clearTimeout(timer);
      flush();
    };
    return { response: authorized().finally(over), abort };
  };
  return {
    start,
    get address() {
      const through = route.proxy === undefined ? '' : `" through the proxy "${route.proxy}`;
      return url.origin + url.pathname + through;
    },
    destroy: () => agent.destroy(),
  };
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
    response.once('end', resolve);
    response.once('error', reject);
    response.once('close', () => reject(new Error('the connection was closed in the middle')));
  });
}

/** Drains an unused body, so that its socket can be reused. */
export function discard(response: IncomingMessage): void {
  response.on('error', () => {});
  response.resume();
}

/** Reads the whole body as text, at most `maxBytes`. */
export async function readText(response: IncomingMessage, maxBytes: number, name: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  await consume(response, (chunk) => {
    size += chunk.length;
    if (size <= maxBytes) chunks.push(chunk);
    else
      response.destroy(
        new McpxError('protocol', `server "${name}" sent an answer over the limit of ${maxBytes} bytes`),
      );
  });
  return Buffer.concat(chunks).toString('utf8');
}
