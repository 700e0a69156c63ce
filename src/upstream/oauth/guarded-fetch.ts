/** The `fetch` of the OAuth library: guarded addresses, no redirects, limited time and size, proxies of the environment. */
import { lookup as resolveHost } from 'node:dns';
import type { IncomingMessage } from 'node:http';
import type { LookupFunction } from 'node:net';
import { McpxError } from '../../errors.ts';
import { consume } from '../http/http-client.ts';
import { routeTo } from '../http/proxy.ts';
import type { NetworkGuard } from './network-guard.ts';

export interface FetchOptions {
  guard: NetworkGuard;
  /** The name of the MCP server, for messages. */
  name: string;
  /** The other side, for messages (default: the authorization server of the MCP server). */
  subject?: string;
  /** Milliseconds until a response has to be complete (default 30 s). */
  timeout?: number;
  signal?: AbortSignal | undefined;
}

export interface FetchInit {
  method?: string | undefined;
  headers?: Record<string, string> | undefined;
  body?: unknown;
  signal?: AbortSignal | undefined;
}

export type GuardedFetch = (url: string, init?: FetchInit) => Promise<Response>;

/** Bytes of a response: metadata and tokens are a few KiB. */
const MAX_BYTES = 256 * 1024;
/** Milliseconds until a response has to be complete. */
const TIMEOUT = 30_000;

/** Creates a function with the interface of `fetch`. A redirect is returned as a response and never followed. */
export function createGuardedFetch(options: FetchOptions): GuardedFetch {
  const { guard, name, timeout = TIMEOUT, signal: outer } = options;
  const { subject = `the authorization server of "${name}"` } = options;
  return async (address, init = {}) => {
    const url = new URL(address);
    guard.checkUrl(url);
    const signals = [AbortSignal.timeout(timeout), init.signal, outer].filter((one) => one !== undefined);
    const signal = AbortSignal.any(signals);
    try {
      const response = await send(url, init, { guard, name, signal });
      const text = await readLimited(response, url, subject);
      const headers = Object.entries(response.headersDistinct).flatMap(([key, values = []]) =>
        values.map((value) => [key, value] as [string, string]),
      );
      const { statusCode: status = 0 } = response;
      const hasBody = ![101, 204, 205, 304].includes(status);
      return new Response(hasBody ? text : null, { status, headers });
    } catch (error) {
      if (error instanceof McpxError || outer?.aborted) throw error;
      const why = signal.aborted ? `no answer within ${timeout / 1000} s` : reasonOf(error);
      const message = `${subject} cannot be reached at "${url.origin}": ${why}`;
      throw new McpxError('unreachable', message, { hint: 'check the network and try again', cause: error });
    }
  };
}

function send(
  url: URL,
  init: FetchInit,
  { guard, name, signal }: Pick<FetchOptions, 'guard' | 'name' | 'signal'>,
): Promise<IncomingMessage> {
  const route = routeTo(url, name);
  const { method = 'GET', headers = {}, body } = init;
  const text = body === undefined || body === null ? undefined : String(body);
  return new Promise((resolve, reject) => {
    const request = route.request(url, {
      method,
      headers: { ...headers, 'accept-encoding': 'identity', connection: 'close' },
      agent: route.agent(),
      lookup: guardedLookup(guard),
      ...(signal && { signal }),
    });
    request.once('response', resolve);
    request.once('error', reject);
    request.end(text);
  });
}

/** Checks each resolved address before the socket connects, so that DNS cannot change between check and use. */
function guardedLookup(guard: NetworkGuard): LookupFunction {
  return (hostname, options, done) =>
    resolveHost(hostname, { ...options, all: true }, (error, found) => {
      if (error) return done(error, '', 0);
      try {
        for (const { address } of found) guard.checkAddress(address, hostname);
      } catch (refused) {
        return done(refused as Error, '', 0);
      }
      const [first] = found;
      return options.all ? done(null, found) : done(null, first?.address ?? '', first?.family);
    });
}

async function readLimited(response: IncomingMessage, url: URL, subject: string): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  await consume(response, (chunk) => {
    size += chunk.length;
    if (size > MAX_BYTES) {
      const message = `${subject} sent over ${MAX_BYTES / 1024} KiB from "${url.origin}${url.pathname}"`;
      throw new McpxError('auth', message, { hint: 'tell its operator' });
    }
    chunks.push(chunk);
  });
  return Buffer.concat(chunks).toString('utf8');
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
