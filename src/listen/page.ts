/** The status page: one document, its parts put together once, with a nonce of its own for every answer. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import script from './page/page.client.js';
import style from './page/page.css';
import document from './page/page.html';
import words from './page/words.client.js';

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

/** The page says nothing of this gateway; what it shows it asks for, with the token of whoever looks at it. */
export function sendPage(response: ServerResponse): void {
  const nonce = randomBytes(16).toString('base64');
  const html = document
    .replace('<!--style-->', () => `<style nonce="${nonce}">${style}</style>`)
    .replace('<!--script-->', () => `<script nonce="${nonce}">${words}\n${script}</script>`);
  response.writeHead(200, {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Length': Buffer.byteLength(html),
    'Content-Security-Policy': policy(nonce),
    'Cache-Control': 'no-store',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Cross-Origin-Resource-Policy': 'same-origin',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'X-Frame-Options': 'DENY',
  });
  response.end(html);
}
