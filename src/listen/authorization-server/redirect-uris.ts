/** Rules for the redirect URIs of clients. https://www.rfc-editor.org/rfc/rfc8252#section-7 */
import { isLoopback } from '../http/authority.ts';

const MAX_LENGTH = 2000;
const MAX_URIS = 20;
/** Characters of all redirect URIs of a client: every registration is stored. */
const MAX_TOTAL = 4000;
/** Schemes whose URLs a browser would run, show or fetch itself, and those of the system: no client gets its code by them. */
const UNSAFE = new Set([
  ...[
    'javascript',
    'data',
    'vbscript',
    'file',
    'blob',
    'about',
    'view-source',
    'filesystem',
    'ws',
    'wss',
    'ftp',
    'jar',
  ],
  ...[
    'chrome',
    'edge',
    'resource',
    'content',
    'intent',
    'mailto',
    'tel',
    'sms',
    'urn',
    'ldap',
    'ssh',
    'telnet',
    'shell',
  ],
]);
/** Programs of Windows, some of which run their arguments. */
const OF_WINDOWS = /^(?:ms-|search)/;
/** https://www.rfc-editor.org/rfc/rfc3986#section-2 */
const URI_CHARACTERS = /^[\w.~:/?[\]@!$&'()*+,;=%-]+$/;

/** Returns the reason for which a client may not have these redirect URIs, or undefined. */
export function redirectUrisProblem(uris: unknown): string | undefined {
  if (!Array.isArray(uris) || uris.length === 0) return 'redirect_uris must be a list with at least one URI';
  if (uris.length > MAX_URIS) return `redirect_uris has more than ${MAX_URIS} URIs`;
  if (uris.join('').length > MAX_TOTAL) return `redirect_uris has more than ${MAX_TOTAL} characters`;
  return uris.map(redirectUriProblem).find((problem) => problem !== undefined);
}

function redirectUriProblem(uri: unknown): string | undefined {
  if (typeof uri === 'string' && uri.includes('#')) return 'a redirect URI must not have a fragment';
  if (typeof uri !== 'string' || uri.length > MAX_LENGTH || !URI_CHARACTERS.test(uri) || !URL.canParse(uri))
    return `a redirect URI must be a URI of at most ${MAX_LENGTH} ASCII characters`;
  const { protocol, hostname, username, password } = new URL(uri);
  if (username !== '' || password !== '') return 'a redirect URI must not have a user or a password';
  const scheme = protocol.slice(0, -1);
  if (UNSAFE.has(scheme) || OF_WINDOWS.test(scheme)) return `a redirect URI must not have the scheme "${protocol}"`;
  if (protocol === 'http:' && !isLoopbackHost(hostname)) return 'a redirect URI with http must be on loopback';
  return undefined;
}

/** True if a client with these redirect URIs may use this one: an exact match, except for the port on loopback. */
export function isRegisteredUri(registered: readonly string[], uri: string): boolean {
  return registered.includes(uri) || registered.some((one) => sameButPort(one, uri));
}

/** Programs on loopback take any free port. https://www.rfc-editor.org/rfc/rfc8252#section-7.3 */
function sameButPort(registered: string, uri: string): boolean {
  if (redirectUriProblem(uri) !== undefined) return false;
  const [known, given] = [new URL(registered), new URL(uri)];
  if (known.protocol !== 'http:' || !isLoopbackHost(known.hostname)) return false;
  known.port = given.port;
  return known.href === given.href;
}

/** Returns the part of a redirect URI that tells its reader who gets the code: the host, or the scheme of a program. */
export function redirectHost(uri: string): string {
  const { protocol, host } = new URL(uri);
  return protocol === 'http:' || protocol === 'https:' ? host : protocol;
}

/** Appends query parameters; the rest of the URI stays as the client wrote it. */
export function withParameters(uri: string, parameters: Record<string, string | undefined>): string {
  const given = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return `${uri}${uri.includes('?') ? '&' : '?'}${new URLSearchParams(given)}`;
}

export function isLoopbackHost(hostname: string): boolean {
  return isLoopback(hostname.replace(/^\[|\]$/g, ''));
}
