/** The `fetch` of the OAuth library: guarded addresses, no redirects, limited time and size, proxies of the environment. */
import { McpxError } from '../../errors.ts';
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
      // Most runs of mcpx send no such request, and Node's modules for HTTP and TLS take 4 ms of each start.
      const { readLimited, send } = await import('./guarded-request.ts');
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

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return code ?? message;
}
