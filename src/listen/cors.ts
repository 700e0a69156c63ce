/** Web pages of other origins: those on the list may call and read answers, also after a preflight. https://fetch.spec.whatwg.org/#http-cors-protocol */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { headersOf } from './reply.ts';

/** What a page may read beside the body. */
const EXPOSED = 'Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate, X-Request-Id';
const METHODS = 'GET, POST, PATCH, DELETE';
/** Seconds for which a browser need not ask again. */
const MAX_AGE = '600';

/** Lets a page on the list read what follows; true where the request was a preflight, which is answered. Comes after the check of the Origin. */
export function crossOrigin(request: IncomingMessage, response: ServerResponse, origins: readonly string[]): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !origins.includes(origin)) return false;
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Vary', 'Origin');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return false;
  }
  // The page is trusted with its headers; what is no list of names is not repeated.
  const asked = request.headers['access-control-request-headers'] ?? '';
  const allowed = /^[\w-]+(?:, ?[\w-]+)*$/.test(asked) ? { 'Access-Control-Allow-Headers': asked } : {};
  const answer = { 'Access-Control-Allow-Methods': METHODS, 'Access-Control-Max-Age': MAX_AGE, ...allowed };
  response.writeHead(204, headersOf(response, answer)).end();
  return true;
}
