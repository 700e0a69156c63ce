/** Serves the status page as one document with inline parts, with a new nonce for every response. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Authenticator } from '../../policy/auth.ts';
import { headersOf } from '../http/http-response.ts';
import { document, scripts, style } from './page-parts.ts';

/** Only the page's own code may run; it may connect to this gateway only, and must not be framed. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src 'nonce-${nonce}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');

/** Sends the page. It only reveals if a token is required; all data is loaded with the token of its user. */
export function sendPage(response: ServerResponse, { required }: Pick<Authenticator, 'required'>): void {
  const nonce = randomBytes(16).toString('base64');
  const html = document
    .replace('<html ', () => (required ? '<html data-locked ' : '<html '))
    .replace('<!--style-->', () => `<style nonce="${nonce}">${style}</style>`)
    .replace('<!--script-->', () => `<script nonce="${nonce}">${scripts.join('\n')}</script>`);
  const own = {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Content-Security-Policy': policy(nonce),
    'Cross-Origin-Opener-Policy': 'same-origin',
    'X-Frame-Options': 'DENY',
  };
  response.writeHead(200, headersOf(response, own));
  response.end(html);
}
