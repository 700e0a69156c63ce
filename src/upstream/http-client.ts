/** HTTP exchanges with one origin: kept-alive sockets, redirects within the origin only, no time limit unless one is asked for. */
import type { Agent, ClientRequest, IncomingMessage, OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../errors.ts';
import { routeTo } from './proxy.ts';

export interface HttpClient {
  start(request: HttpRequest): Exchange;
  /** Without credentials and query, for messages that quote it; with the proxy where there is one. */
  readonly address: string;
  destroy(): void;
}

export interface HttpRequest {
  method: 'POST' | 'GET' | 'DELETE';
  headers: OutgoingHttpHeaders;
  body?: string;
  /** Whether it may be sent again, perhaps a second time, when a kept-alive socket turns out to be closed by the far side. */
  repeatable: boolean;
  /** Called once, when the body has left or never will. */
  flushed?: () => void;
  /** ms until it is given up where no response has come (default: none). */
  timeout?: number;
}

export interface Exchange {
  /** Rejects with the error of the socket, or with McpxError. */
  response: Promise<IncomingMessage>;
  abort(): void;
}

const MAX_REDIRECTS = 5;
/** Idle sockets are dropped before common servers (5 s) drop them, so that a request seldom meets a closing one. In ms. */
const IDLE_SOCKET = 4000;

export function createHttpClient(address: string, name: string): HttpClient {
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
    const once = (via: Agent) =>
      new Promise<IncomingMessage>((resolve, reject) => {
        const { method, headers } = wanted;
        current = route.request(url, { method, headers, agent: via });
        current.once('response', resolve);
        current.once('finish', flush);
        current.on('error', (error) => reject(Object.assign(error, { reused: current?.reusedSocket })));
        current.end(wanted.body);
      });
    const follow = async (): Promise<IncomingMessage> => {
      for (let hop = 0; hop <= MAX_REDIRECTS; hop++) {
        // The second time on a socket of its own: others that were kept alive may be closed as well.
        const response = await once(agent).catch((error) =>
          canRepeat(error) ? once(route.agent()) : Promise.reject(error),
        );
        if (!isRedirect(response)) return response;
        discard(response);
        url = target(url, response, name);
      }
      throw new McpxError('protocol', `server "${name}" redirects in a circle`);
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
    return { response: follow().finally(over), abort };
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
 * Whether a part of the request certainly never left this machine, so that it cannot have run: the system refused to take it.
 * A reset that shows when the answer is read proves nothing: the far side may have read the request before it fell.
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

/** Only 307 and 308 keep the method and the body; another origin would get headers that are not meant for it. */
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

/** Hands over the body as it comes; rejects when it breaks off. */
export function consume(response: IncomingMessage, chunk: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    response.on('data', (data: Buffer) => {
      try {
        chunk(data);
      } catch (error) {
        // Nobody above a listener would catch it, and it is about this answer only.
        response.destroy(error as Error);
      }
    });
    response.once('end', resolve);
    response.once('error', reject);
    response.once('close', () => reject(new Error('the connection was closed in the middle')));
  });
}

/** Reads a body that nobody needs, so that its socket can be used again. */
export function discard(response: IncomingMessage): void {
  response.on('error', () => {});
  response.resume();
}

/** The whole body as text, within a bound. */
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
