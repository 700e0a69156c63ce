/** Who may talk to the HTTP listener at all: Host and Origin against DNS rebinding, and safe addresses to bind. */
import type { IncomingMessage } from 'node:http';
import { isIP, isIPv4, isIPv6 } from 'node:net';
import { McpxError } from '../errors.ts';

export interface HostRules {
  /** The address that was asked for in the config or on the command line. */
  host: string;
  /** Further names that this gateway answers to. */
  hosts: string[];
  /** Origins of browser pages that may call. */
  origins: string[];
  /** Whether a proxy in front says which Host its client asked for. */
  trustProxy: boolean;
  /** Whether anybody may in without a token. */
  open: boolean;
}

/** `localhost`, `::1` and 127.0.0.0/8; a name that only begins like an address is not one. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

/** Binding elsewhere without a token would let anybody on the network run the user's tools. */
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

const STRANGE_HOST = {
  message: 'this Host is not served here',
  hint: 'use the address that mcpx listens on, or add the name to "http.hosts" in the config',
};
const STRANGE_ORIGIN = {
  message: 'this Origin may not call',
  hint: 'add the page to "http.cors.origins" in the config',
};

/** Why a request is refused, or undefined. A browser sends Origin; what is not its own page must be listed. */
export function refusal(request: IncomingMessage, rules: HostRules): { message: string; hint: string } | undefined {
  const direct = request.headers.host ?? '';
  const host = (rules.trustProxy ? first(request.headers['x-forwarded-host']) : undefined) ?? direct;
  // A page can forge the header of a proxy, but not Host: where no token protects, Host itself must be known as well.
  if (!isKnown(host, request, rules) || (rules.open && host !== direct && !isKnown(direct, request, rules)))
    return STRANGE_HOST;
  const { origin } = request.headers;
  if (origin === undefined || rules.origins.includes(origin)) return undefined;
  return origin === `http://${host}` || origin === `https://${host}` ? undefined : STRANGE_ORIGIN;
}

function isKnown(host: string, request: IncomingMessage, rules: HostRules): boolean {
  return isPlainLoopback(host, rules) || knownHost(hostName(host), request, rules);
}

/** What nearly every request says, told without taking it apart. */
function isPlainLoopback(header: string, { host }: HostRules): boolean {
  return host === '127.0.0.1' && PLAIN_LOOPBACK.test(header);
}

const PLAIN_LOOPBACK = /^(?:127\.0\.0\.1|localhost)(?::\d{1,5})?$/;

function knownHost(name: string, request: IncomingMessage, { host, hosts }: HostRules): boolean {
  // A name may be written with its port.
  if (hosts.some((known) => (isIPv6(known) ? known.toLowerCase() : hostName(known)) === name)) return true;
  if (isLoopback(host)) return isLoopback(name);
  return name === host.toLowerCase() || name === plainAddress(request.socket.localAddress);
}

/** The path of a target that is a whole URL. Its host must be that of Host, which is the one that is checked; otherwise the target stays what it is, and is found nowhere. https://www.rfc-editor.org/rfc/rfc9112#section-3.2.2 */
export function originForm({ url = '/', headers }: Pick<IncomingMessage, 'url' | 'headers'>): string {
  const [, host, path = ''] = /^https?:\/\/([^/?#]+)(.*)$/i.exec(url) ?? [];
  if (host === undefined || host.toLowerCase() !== headers.host?.toLowerCase()) return url;
  return path.startsWith('/') ? path : `/${path}`;
}

/** The address of the client: as the proxy says where one is trusted, else that of the socket. For logs only. */
export function clientAddress(request: IncomingMessage, trustProxy: boolean): string {
  const said = trustProxy ? first(request.headers['x-forwarded-for']) : undefined;
  return said !== undefined && isIP(said) !== 0 ? said : plainAddress(request.socket.remoteAddress);
}

/** Each proxy on the way appends to the list: the first entry is about the client. */
function first(header: string | string[] | undefined): string | undefined {
  const [entry = ''] = String(header ?? '').split(',', 1);
  return entry.trim() === '' ? undefined : entry.trim();
}

/** `[::1]:3095` → `::1`, `Localhost:3095` → `localhost` */
function hostName(host: string): string {
  const bracketed = /^\[([^\]]*)\]/.exec(host)?.[1];
  return (bracketed ?? host.replace(/:\d*$/, '')).toLowerCase();
}

/** `::ffff:127.0.0.1` → `127.0.0.1` */
export function plainAddress(address = ''): string {
  return address.startsWith('::ffff:') ? address.slice(7) : address;
}

/** The URL of a bound address, for people. */
export function urlOf(host: string, port: number): string {
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}
