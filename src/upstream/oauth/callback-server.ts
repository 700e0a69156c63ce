/** The loopback page to which the authorization server sends the user's browser after the sign-in. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpxError } from '../../errors.ts';
import { codeOf } from '../../files.ts';

export interface CallbackServer {
  readonly redirectUri: string;
  /** Resolves with the parameters of the first request that has the expected state. */
  readonly parameters: Promise<URLSearchParams>;
  close(): void;
}

const PATH = '/callback';
/** One browser needs a few connections. */
const MAX_CONNECTIONS = 16;
/** Milliseconds in which a request must have arrived. */
const REQUEST_TIMEOUT = 10_000;

export interface CallbackOptions {
  /** The port to listen on; if it is taken and `exact` is false, any free one. */
  port?: number | undefined;
  exact?: boolean;
  state: string;
}

export async function openCallbackServer({ port = 0, exact = false, state }: CallbackOptions): Promise<CallbackServer> {
  let settle: (parameters: URLSearchParams) => void = () => {};
  const parameters = new Promise<URLSearchParams>((resolve) => {
    settle = resolve;
  });
  let used = false;
  // Two Host headers are joined to a list, which is refused; without this the first one would count.
  const options = { joinDuplicateHeaders: true, requestTimeout: REQUEST_TIMEOUT, headersTimeout: REQUEST_TIMEOUT };
  const server = createServer(options, (request, response) => {
    const found = callbackOf(request, (server.address() as AddressInfo | null)?.port ?? 0);
    if (found === undefined) return answer(response, 404, 'Not found.');
    // Another page may have called; the sign-in that the user started goes on.
    if (found.get('state') !== state) return answer(response, 400, 'This is not the sign-in that mcpx waits for.');
    if (used) return answer(response, 409, 'This sign-in has already been used.');
    used = true;
    const failed = found.has('error');
    answer(
      response,
      failed ? 400 : 200,
      failed ? 'The sign-in failed. See the terminal.' : 'Signed in. You can close this page.',
    );
    settle(found);
  });
  await listen(server, port).catch((error) => {
    if (exact || port === 0 || codeOf(error) !== 'EADDRINUSE') throw portError(port, error);
    return listen(server, 0);
  });
  server.maxConnections = MAX_CONNECTIONS;
  // A connection that cannot be accepted, as without a free file handle, must not end the process.
  server.on('error', () => undefined);
  const { port: actual } = server.address() as AddressInfo;
  return {
    redirectUri: `http://127.0.0.1:${actual}${PATH}`,
    parameters,
    close() {
      server.close();
      // The answer to the browser is written first; idle keep-alive sockets would hold the process.
      setImmediate(() => server.closeIdleConnections());
      setTimeout(() => server.closeAllConnections(), 1000).unref();
    },
  };
}

/** Returns the parameters of a callback; undefined for any other request, also one with a foreign Host. */
function callbackOf({ method, url = '', headers }: IncomingMessage, port: number): URLSearchParams | undefined {
  const hosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  if (method !== 'GET' || !hosts.includes(headers.host ?? '') || !URL.canParse(url, 'http://127.0.0.1'))
    return undefined;
  const { pathname, searchParams } = new URL(url, 'http://127.0.0.1');
  return pathname === PATH ? searchParams : undefined;
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    connection: 'close',
  });
  const page = `<title>mcpx</title><body style="font:1.1em system-ui;margin:4em;max-width:40em"><h1>mcpx</h1><p>${text}</p>`;
  response.end(`<!doctype html><meta charset="utf-8">${page}\n`);
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
}

function portError(port: number, error: unknown): McpxError {
  const message = `the callback of the sign-in cannot listen on 127.0.0.1:${port} (${codeOf(error) ?? 'failed'})`;
  const hint = 'set another "oauth.callbackPort" in the config, or end the program that has the port';
  return new McpxError('failed', message, { hint, cause: error });
}
