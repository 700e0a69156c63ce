/** CORS for web pages of the configured origins, with preflight. https://fetch.spec.whatwg.org/#http-cors-protocol */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Origins } from './guard.ts';
import { headersOf } from './http-response.ts';

/** Response headers that a page may read. */
const EXPOSED = 'Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate, X-Request-Id';
const METHODS = 'GET, POST, PATCH, DELETE';
/** Seconds for which a browser may cache a preflight. */
const MAX_AGE = '600';

/**
 * Adds CORS headers for a listed origin; returns true if the request was a preflight, which is then answered. It must
 * be called after the Origin check.
 */
export function crossOrigin(request: IncomingMessage, response: ServerResponse, origins: Origins): boolean {
  const { origin } = request.headers;
  if (origin === undefined || !(origins === 'any' || origins.includes(origin))) return false;
  response.setHeader('Access-Control-Allow-Origin', origins === 'any' ? '*' : origin);
  if (origins !== 'any') response.setHeader('Vary', 'Origin');
  if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) {
    response.setHeader('Access-Control-Expose-Headers', EXPOSED);
    return false;
  }
  // A listed page may send any headers; a value that is not a list of header names is not echoed.
  const asked = request.headers['access-control-request-headers'] ?? '';
  const allowed = /^[\w-]+(?:, ?[\w-]+)*$/.test(asked) ? { 'Access-Control-Allow-Headers': asked } : {};
  const answer = { 'Access-Control-Allow-Methods': METHODS, 'Access-Control-Max-Age': MAX_AGE, ...allowed };
  response.writeHead(204, headersOf(response, answer)).end();
  return true;
}
