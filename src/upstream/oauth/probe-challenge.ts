/** Asks a server for its challenge, which names the metadata and the scopes of a sign-in. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Authorization, ServerAccess } from '../http/authorization.ts';
import { createHttpClient, discard, type HttpClient } from '../http/http-client.ts';
import { networkError } from '../http/http-errors.ts';
import { type Challenge, parseChallenge } from './challenge.ts';

/** Milliseconds that the server has for each answer. */
const TIMEOUT = 30_000;
const PROTOCOL = '2025-11-25';

/**
 * Sends `initialize` without credentials, and `tools/list` to a server that answers it. A server that answers both has no
 * challenge; it may refuse only `tools/call`.
 */
export async function probeChallenge({ name, url }: ServerAccess, authorization: Authorization): Promise<Challenge> {
  const client = createHttpClient(url.replace(/^ws/, 'http'), name, authorization);
  try {
    const clientInfo = { name: 'mcpx', version: '1' };
    const first = await ask(client, 'initialize', { protocolVersion: PROTOCOL, capabilities: {}, clientInfo });
    if (first['www-authenticate'] !== undefined) return parseChallenge(first['www-authenticate']);
    const session = first['mcp-session-id'];
    const own: Record<string, string> = typeof session === 'string' ? { 'mcp-session-id': session } : {};
    const headers = { ...own, 'mcp-protocol-version': PROTOCOL };
    const second = await ask(client, 'tools/list', {}, headers);
    if (session !== undefined) await end(client, headers);
    return parseChallenge(second['www-authenticate']);
  } catch (error) {
    throw networkError(name, client.address, error as NodeJS.ErrnoException);
  } finally {
    client.destroy();
  }
}

/** Ends the session of the question; a server without sessions refuses that. */
async function end(client: Pick<HttpClient, 'start'>, headers: Record<string, string>): Promise<void> {
  const { response } = client.start({ method: 'DELETE', headers, repeatable: true, timeout: TIMEOUT });
  await response.then(discard, () => undefined);
}

async function ask(
  client: Pick<HttpClient, 'start'>,
  method: string,
  params: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<IncomingHttpHeaders> {
  const response = await client.start({
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    repeatable: true,
    timeout: TIMEOUT,
  }).response;
  discard(response);
  return response.headers;
}
