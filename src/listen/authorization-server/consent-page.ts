/** The consent page, its result and its errors: HTML without scripts, in the style of the status page. */
import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { headersOf } from '../http/http-response.ts';
import { style } from '../page/page-parts.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { CONSENT_WORDS, type ConsentWords, type Language } from './consent-words.ts';
import { redirectHost } from './redirect-uris.ts';

/** Forms may be sent to this gateway only. The redirect is not one of the form: browsers would apply this rule to it. */
const policy = (nonce: string) =>
  [
    "default-src 'none'",
    `style-src 'nonce-${nonce}'`,
    'img-src data:',
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; ');

const OWN_STYLE = 'body{max-width:34rem}dt{margin-top:.75rem}dd{margin:0}form p{margin-top:1rem}input{width:100%}';

interface Sent {
  status?: number;
  cookie?: string | undefined;
  headers?: Record<string, string>;
}

/** Asks the user. `problem` tells why the last answer was not accepted. */
export function sendConsentPage(
  response: ServerResponse,
  language: Language,
  {
    form,
    request,
    problem,
    ...sent
  }: Sent & { form: string; request: AuthorizationRequest; problem?: string | undefined },
): void {
  const words = CONSENT_WORDS[language];
  const alert = problem === undefined ? '' : `<p class="bad" role="alert">${escaped(problem)}</p>`;
  const body = `${facts(request, words)}
<form method="post" action="authorize" class="card pad">
<input type="hidden" name="form" value="${escaped(form)}">
<label for="secret">${words.secret}</label>
<input id="secret" name="secret" type="password" autocomplete="off" spellcheck="false" autofocus aria-describedby="help">
<p id="help" class="quiet">${words.secretHelp}</p>
${alert}
<p class="line"><button class="main" name="decision" value="allow">${words.allow}</button>
<button name="decision" value="deny">${words.deny}</button></p>
</form>`;
  send(response, language, { title: words.title, body, ...sent });
}

function facts({ client, scopes, profile }: AuthorizationRequest, words: ConsentWords): string {
  const asked = scopes.length > 0 ? scopes.map(decoded) : [profile ?? words.mainProfile];
  const origin = client.documentHost === undefined ? words.registered : words.documented(client.documentHost);
  return `<p><b>${escaped(words.asks(client.name === '' ? words.unnamed : client.name))}</b></p>
<p class="quiet">${escaped(origin)}</p>
<dl>
<dt class="quiet">${words.sendsTo}</dt><dd class="code">${escaped(redirectHost(client.redirectUri))}</dd>
<dt class="quiet">${words.profiles}</dt>${asked.map((name) => `<dd class="code">${escaped(name)}</dd>`).join('')}
</dl>
<p>${words.limits}</p>`;
}

function decoded(scope: string): string {
  try {
    return decodeURIComponent(scope);
  } catch {
    return scope;
  }
}

/** Leads the browser on to the client. A link helps where the browser does not go on by itself. */
export function sendOnward(
  response: ServerResponse,
  language: Language,
  { to, isAllowed }: { to: string; isAllowed: boolean },
): void {
  const words = CONSENT_WORDS[language];
  const host = redirectHost(to);
  const body = `<p role="status">${escaped(isAllowed ? words.done(host) : words.denied(host))}</p>
<p><a href="${escaped(to)}">${words.goOn}</a></p>`;
  const title = isAllowed ? words.doneTitle : words.deniedTitle;
  send(response, language, { title, body, head: `<meta http-equiv="refresh" content="0;url=${escaped(to)}">` });
}

/** Reports a request to the user. `to` tells the client about it; without it, there is no URI to which the error may be sent. */
export function sendFailurePage(
  response: ServerResponse,
  language: Language,
  { message, to, ...sent }: Sent & { message: string | undefined; to?: string },
): void {
  const words = CONSENT_WORDS[language];
  const reason =
    message === undefined ? `<p>${words.stale}</p>` : `<p>${words.failed}</p><p class="bad">${escaped(message)}</p>`;
  const link = to === undefined ? '' : `<p><a href="${escaped(to)}">${escaped(words.backTo(redirectHost(to)))}</a></p>`;
  send(response, language, { title: words.failedTitle, body: `${reason}${link}`, status: 400, ...sent });
}

function send(
  response: ServerResponse,
  language: Language,
  { title, body, head = '', status = 200, cookie, headers }: Sent & { title: string; body: string; head?: string },
): void {
  if (response.headersSent || response.destroyed) return;
  const nonce = randomBytes(16).toString('base64');
  const html = `<!doctype html>
<html lang="${language}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · mcpx</title>${head}
<style nonce="${nonce}">${style}${OWN_STYLE}</style></head>
<body><main><h1>${escaped(title)}</h1>
${body}</main></body></html>`;
  response.writeHead(
    status,
    headersOf(response, {
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Length': Buffer.byteLength(html),
      'Content-Security-Policy': policy(nonce),
      // There is no Cross-Origin-Opener-Policy: web clients open this page in a window and wait for its end.
      'X-Frame-Options': 'DENY',
      // With "no-referrer" the form would be sent with the Origin "null", which is refused.
      'Referrer-Policy': 'same-origin',
      'Content-Language': language,
      Vary: 'Accept-Language',
      ...(cookie !== undefined && { 'Set-Cookie': cookie }),
      ...headers,
    }),
  );
  response.end(html);
}

/** Escapes text for HTML, also inside quoted attributes. */
function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`);
}
