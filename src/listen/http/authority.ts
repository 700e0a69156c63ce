/** Parses `host[:port]` strictly, as in Host and Origin. https://www.rfc-editor.org/rfc/rfc9110#section-7.2 */
import { isIPv4, isIPv6 } from 'node:net';

export interface Authority {
  /** The host as `canonicalHost` writes it. */
  name: string;
  /** The port; undefined if the text has none. */
  port: number | undefined;
}

/**
 * User, percent-encoding and IPv6 zone are not accepted: clients send none of them, and parsers may read them
 * differently.
 */
const AUTHORITY = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?))(?::(\d{0,5}))?$/i;
const MAX_NAME = 255;
const MAX_PORT = 65_535;

/** Returns undefined unless the text is exactly one host with at most one port. */
export function parseAuthority(text: string): Authority | undefined {
  const [, address, name = '', digits = ''] = AUTHORITY.exec(text) ?? [];
  const isValid = address === undefined ? name !== '' && !name.includes('..') : isIPv6(address);
  if (!isValid || name.length > MAX_NAME || Number(digits) > MAX_PORT) return undefined;
  return { name: canonicalHost(address ?? name), port: digits === '' ? undefined : Number(digits) };
}

/**
 * Returns one spelling for each host: lower case, IPv6 in its shortest form, an IPv4-mapped address as IPv4. A trailing
 * dot is kept, because resolvers may treat such a name differently.
 */
export function canonicalHost(host: string): string {
  const address = host.replace(/%.*$/, '');
  if (!isIPv6(address)) return host.toLowerCase();
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  return mapped === null ? short : mapped.slice(1).flatMap(twoBytes).join('.');
}

function twoBytes(group: string): number[] {
  const value = Number.parseInt(group, 16);
  return [value >> 8, value & 255];
}

/** Returns true for `localhost`, `::1` and 127.0.0.0/8, but not for a name that only begins like an address. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || host === '::1' || (isIPv4(host) && host.startsWith('127.'));
}

const DEFAULT_PORTS = new Map([
  ['http', 80],
  ['https', 443],
]);

/**
 * Returns true if a page of this Origin was loaded from this host, also over TLS, which a reverse proxy may terminate.
 */
export function isOriginOf(origin: string, host: Authority): boolean {
  const [, scheme = '', rest = ''] = /^([a-z]+):\/\/(.*)$/.exec(origin) ?? [];
  const usual = DEFAULT_PORTS.get(scheme);
  const page = usual === undefined ? undefined : parseAuthority(rest);
  return page !== undefined && page.name === host.name && (page.port ?? usual) === (host.port ?? usual);
}
