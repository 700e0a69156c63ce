/** Checks the Host and Origin of requests against DNS rebinding, and the address that the listener binds. */
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv6 } from 'node:net';
import type { Settings } from '../../config/config.ts';
import { McpxError } from '../../errors.ts';
import { type Authority, canonicalHost, isLoopback, isOriginOf, parseAuthority } from './authority.ts';

/** Origins of web pages; `any` for routes that reveal nothing and need no token. */
export type Origins = readonly string[] | 'any';

export interface HostRules {
  /** The address from the config or the command line. */
  host: string;
  /** Further host names that this gateway accepts. */
  hosts: string[];
  /** Origins of web pages that may send requests. */
  origins: Origins;
  /** True if a reverse proxy sets `X-Forwarded-Host`. */
  trustProxy: boolean;
  /** True if requests need no token. */
  open: boolean;
}

/**
 * Throws for a bind address other than loopback without a token: any client on the network could run the user's tools.
 */
export function refuseOpenBind(host: string, hasTokens: boolean): void {
  if (isLoopback(host) || hasTokens) return;
  throw new McpxError(
    'config',
    `listening on "${host}" without a token would let anybody who reaches it run your tools`,
    {
      hint: 'set MCPX_TOKEN or "http.auth.tokens" in the config, or listen on 127.0.0.1',
    },
  );
}

/** Throws if access tokens would travel without TLS, or if the clients' URL of the gateway is not known. */
export function refuseWithoutTls(settings: Pick<Settings['http'], 'auth' | 'host' | 'hosts' | 'trustProxy'>): void {
  const { auth, host, hosts, trustProxy } = settings;
  const { mode, url } = auth.oauth;
  if (mode === 'off') return;
  const no = (message: string) => {
    const hint = 'set "http.auth.oauth.url" to the https URL of the proxy in front, or listen on 127.0.0.1 only';
    return new McpxError('config', message, { hint });
  };
  if (url?.startsWith('https:')) return;
  if (!isLoopback(host)) throw no(`OAuth on "${host}" needs TLS: access tokens would be readable on the network`);
  if (url !== null || (hosts.length === 0 && !trustProxy)) return;
  const behind = trustProxy ? '"http.trustProxy" is on' : `"http.hosts" has "${hosts[0]}"`;
  throw no(`${behind}, but "http.auth.oauth.url" does not say where clients find the gateway`);
}

export interface Refusal {
  status: number;
  message: string;
  hint: string;
}

const STRANGE_HOST: Refusal = {
  status: 403,
  message: 'this Host is not served here',
  hint: 'use the address that mcpx listens on, or add the name to "http.hosts" in the config',
};
const STRANGE_ORIGIN: Refusal = {
  status: 403,
  message: 'this Origin may not call',
  hint: 'add the page to "http.cors.origins" in the config',
};

function malformed(header: string): Refusal {
  const message = `the request must have exactly one "${header}" header, with one host and at most one port`;
  return { status: 400, message, hint: `send "${header}: <host>:<port>", with the address that mcpx listens on` };
}

/**
 * Returns the reason for a rejection, or undefined. A browser sends Origin; an origin other than the gateway's own must
 * be listed.
 */
export function refusal(request: IncomingMessage, rules: HostRules): Refusal | undefined {
  const { headers } = request;
  const forwarded = rules.trustProxy ? first(headers['x-forwarded-host']) : undefined;
  const plain = forwarded === undefined && headers.origin === undefined;
  if (plain && rules.host === '127.0.0.1' && PLAIN_LOOPBACK.test(headers.host ?? '')) return undefined;
  const direct = parseAuthority(headers.host ?? '');
  if (direct === undefined) return malformed('Host');
  const host = forwarded === undefined ? direct : parseAuthority(forwarded);
  if (host === undefined) return malformed('X-Forwarded-Host');
  // A page can forge the proxy's header but not Host, so without tokens Host itself must be known as well.
  if (!isKnown(host, request, rules) || (rules.open && !isKnown(direct, request, rules))) return STRANGE_HOST;
  return mayCall(headers.origin, host, rules) ? undefined : STRANGE_ORIGIN;
}

/** Matches the Host of nearly every request without parsing it. */
const PLAIN_LOOPBACK = /^(?:127\.0\.0\.1|localhost)(?::[1-5]?\d{1,4})?$/;

/**
 * Checks Host on routes that accept any Host; HTTP/1.0 probes may omit it.
 * https://www.rfc-editor.org/rfc/rfc9112#section-3.2
 */
export function malformedHost({ headers: { host }, httpVersion }: IncomingMessage): Refusal | undefined {
  if (host === undefined && httpVersion === '1.0') return undefined;
  return parseAuthority(host ?? '') === undefined ? malformed('Host') : undefined;
}

function isKnown({ name }: Authority, request: IncomingMessage, { host, hosts }: HostRules): boolean {
  // A configured name may include its port.
  const isName = (known: string) => name === (isIPv6(known) ? canonicalHost(known) : parseAuthority(known)?.name);
  if (hosts.some(isName)) return true;
  if (isLoopback(host)) return isLoopback(name);
  return name === canonicalHost(host) || name === canonicalHost(request.socket.localAddress ?? '');
}

function mayCall(origin: string | undefined, host: Authority, { origins }: HostRules): boolean {
  return origin === undefined || origins === 'any' || origins.includes(origin) || isOriginOf(origin, host);
}

/**
 * Returns the path of a request target in absolute form. Its host must equal Host, which is the one that is checked;
 * otherwise the target is returned unchanged and matches no route. https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2
 */
export function originForm({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/?#]+)(.*)$/i.exec(url) ?? [];
  const host = parseAuthority(headers.host ?? '');
  if (host === undefined || !isOriginOf(origin.toLowerCase(), host)) return url;
  return path.startsWith('/') ? path : `/${path}`;
}

/**
 * Returns the client's address from a trusted proxy, else from the socket. It can be forged, so it is for logs only.
 */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string {
  const said = trustProxy ? first(request.headers['x-forwarded-for']) : undefined;
  return said !== undefined && isIP(said) !== 0 ? said : plainAddress(request.socket.remoteAddress);
}

/** Returns an address that cannot be forged: the last one that a trusted proxy appended, else that of the socket. */
export function proxiedAddress(request: IncomingMessage, trustProxy: boolean): string {
  const said = trustProxy
    ? String(request.headers['x-forwarded-for'] ?? '')
        .split(',')
        .at(-1)
        ?.trim()
    : undefined;
  return said !== undefined && isIP(said) !== 0 ? said : plainAddress(request.socket.remoteAddress);
}

/** Returns the first entry, which is about the client: each proxy appends to the list. */
function first(header: string | string[] | undefined): string | undefined {
  const [entry = ''] = String(header ?? '').split(',', 1);
  return entry.trim() === '' ? undefined : entry.trim();
}

/** Converts `::ffff:127.0.0.1` to `127.0.0.1`. */
export function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** Returns the URL of a bound address, for messages. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
