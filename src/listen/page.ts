/** The status page: one document, its parts put together once, with a nonce of its own for every answer. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import type { Authenticator } from '../policy/auth.ts';
import drawing from './page/draw.client.js';
import script from './page/page.client.js';
import style from './page/page.css';
import document from './page/page.html';
import words from './page/words.client.js';
import { headersOf } from './reply.ts';

/** Nothing but what is in the page may run or load; it may talk to this gateway only, and nobody may frame it. */
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

/** The page says nothing of this gateway but whether it wants a token; what it shows it asks for, with the token of whoever looks at it. */
export function sendPage(response: ServerResponse, { required }: Pick<Authenticator, 'required'>): void {
  const nonce = randomBytes(16).toString('base64');
  const html = document
    .replace('<html ', () => (required ? '<html data-locked ' : '<html '))
    .replace('<!--style-->', () => `<style nonce="${nonce}">${style}</style>`)
    .replace('<!--script-->', () => `<script nonce="${nonce}">${words}\n${drawing}\n${script}</script>`);
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
