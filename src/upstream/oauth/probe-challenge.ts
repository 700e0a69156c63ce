/** Asks a server for its challenge, which names the metadata and the scopes of a sign-in. */
import type { Authorization, ServerAccess } from '../http/authorization.ts';
import { createHttpClient, discard } from '../http/http-client.ts';
import { networkError } from '../http/http-errors.ts';
import { type Challenge, parseChallenge } from './challenge.ts';

/** Milliseconds that the server has for its answer. */
const TIMEOUT = 30_000;

/** Sends `initialize` without credentials. A server that answers has no challenge; it may refuse only `tools/call`. */
export async function probeChallenge({ name, url }: ServerAccess, authorization: Authorization): Promise<Challenge> {
  const client = createHttpClient(url.replace(/^ws/, 'http'), name, authorization);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'mcpx', version: '1' } };
  try {
    const response = await client.start({
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
      repeatable: true,
      timeout: TIMEOUT,
    }).response;
    discard(response);
    return parseChallenge(response.headers['www-authenticate']);
  } catch (error) {
    throw networkError(name, client.address, error as NodeJS.ErrnoException);
  } finally {
    client.destroy();
  }
}
