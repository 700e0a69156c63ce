/** Decides which URLs OAuth may contact: https only, and no private network unless the MCP server itself is in one. */
import { BlockList, isIP } from 'node:net';
import { McpxError } from '../../errors.ts';

/** Networks that are not public, as CIDR blocks; loopback is separate. */
const PRIVATE_BLOCKS = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.168.0.0/16', '198.18.0.0/15', '224.0.0.0/4', '240.0.0.0/4'],
  // IPv6 forms that lead to IPv4 addresses: Teredo and 6to4.
  ...['2001::/32', '2002::/16'],
];
/** All IPv6 addresses on the internet. https://www.iana.org/assignments/ipv6-address-space */
const PUBLIC_IPV6_BLOCKS = ['2000::/3'];
const LOOPBACK_BLOCKS = ['127.0.0.0/8', '::1/128'];

const PRIVATE = blockList(PRIVATE_BLOCKS);
const PUBLIC_IPV6 = blockList(PUBLIC_IPV6_BLOCKS);
const LOOPBACK = blockList(LOOPBACK_BLOCKS);

type NetworkKind = 'public' | 'private' | 'loopback';

export interface NetworkGuard {
  /** Throws if the URL must not be contacted: wrong scheme, or a literal address of a forbidden network. */
  checkUrl(url: URL): void;
  /** Throws if a host name was resolved to an address of a forbidden network. */
  checkAddress(address: string, host: string): void;
}

/**
 * Creates the guard for one MCP server. A server on loopback or in a private network may use an authorization server
 * on the same kind of network; other metadata must not make mcpx send requests into the network of its user.
 */
export function createNetworkGuard(serverUrl: string, name: string): NetworkGuard {
  return createGuardOf(serverUrl, {
    subject: `the sign-in of server "${name}"`,
    hint: 'tell the operator of the server; its OAuth metadata is wrong',
  });
}

/** Creates the guard for an issuer that the config of the gateway names, under the same rules. */
export function createIssuerGuard(issuerUrl: string): NetworkGuard {
  const hint = 'tell its operator, or set "http.auth.oauth.jwksUri" if the address is right';
  return createGuardOf(issuerUrl, { subject: 'the metadata of the issuer', hint });
}

function createGuardOf(ownUrl: string, { subject, hint }: { subject: string; hint: string }): NetworkGuard {
  const { hostname } = new URL(ownUrl);
  const own = hostKind(hostname);
  const refuse = (what: string) => {
    return new McpxError('auth', `${subject} leads to ${what}, which is not contacted`, { hint });
  };
  const checkAddress = (address: string, host: string) => {
    const kind = addressKind(address);
    const isAllowed = kind === 'public' || kind === own || host === hostname;
    if (!isAllowed) throw refuse(`"${host}", an address of a ${kind} network`);
  };
  return {
    checkAddress,
    checkUrl(url) {
      const host = url.hostname.replace(/^\[|\]$/g, '');
      const isLocal = hostKind(url.hostname) === 'loopback';
      if (url.protocol !== 'https:' && !(url.protocol === 'http:' && isLocal))
        throw refuse(`"${url.origin === 'null' ? url.protocol : url.origin}", not https`);
      if (url.username !== '' || url.password !== '') throw refuse('a URL with a password');
      if (isIP(host) !== 0 || isLocal) checkAddress(isIP(host) === 0 ? '127.0.0.1' : host, url.hostname);
    },
  };
}

/**
 * Creates the guard for URLs that strangers name, such as documents about clients: public addresses only, and loopback
 * only for a host that says so itself, if it is allowed at all.
 */
export function createPublicGuard(allowLoopback: boolean): NetworkGuard {
  const checkAddress = (address: string, host: string) => {
    const kind = addressKind(address);
    const isOwn = allowLoopback && kind === 'loopback' && hostKind(host) === 'loopback';
    if (kind !== 'public' && !isOwn) throw new McpxError('refused', `"${host}" is an address of a ${kind} network`);
  };
  return {
    checkAddress,
    checkUrl({ hostname, protocol, username, password }) {
      const host = hostname.replace(/^\[|\]$/g, '');
      const isLocal = hostKind(hostname) === 'loopback';
      const isSecure = protocol === 'https:' || (protocol === 'http:' && isLocal && allowLoopback);
      if (!isSecure || username !== '' || password !== '') throw new McpxError('refused', 'the URL is not plain https');
      if (isIP(host) !== 0 || isLocal) checkAddress(isIP(host) === 0 ? '127.0.0.1' : host, hostname);
    },
  };
}

function hostKind(hostname: string): NetworkKind {
  const host = hostname.replace(/^\[|\]$/g, '').toLowerCase();
  if (host === 'localhost' || host.endsWith('.localhost')) return 'loopback';
  // The guard does not resolve the name of the MCP server; a name without a dot is one of a local network.
  return isIP(host) === 0 ? (host.includes('.') ? 'public' : 'private') : addressKind(host);
}

function addressKind(address: string): NetworkKind {
  const mapped = /^(?:::ffff:|64:ff9b::)(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? hexMapped(address);
  const plain = mapped ?? address;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  if (LOOPBACK.check(plain, family)) return 'loopback';
  const isPrivate = PRIVATE.check(plain, family) || (family === 'ipv6' && !PUBLIC_IPV6.check(plain, family));
  return isPrivate ? 'private' : 'public';
}

/**
 * Returns the IPv4 address in `::ffff:7f00:1`, the form in which a URL holds a mapped address, or in `64:ff9b::7f00:1`, by
 * which a network without IPv4 reaches all IPv4 hosts (NAT64).
 */
function hexMapped(address: string): string | undefined {
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([\da-f]{1,4}):([\da-f]{1,4})$/i.exec(address) ?? [];
  if (high === undefined || low === undefined) return undefined;
  const bytes = [high, low].flatMap((part) => [Number.parseInt(part, 16) >> 8, Number.parseInt(part, 16) & 255]);
  return bytes.join('.');
}

function blockList(blocks: readonly string[]): BlockList {
  const list = new BlockList();
  for (const block of blocks) {
    const [net = '', bits] = block.split('/');
    list.addSubnet(net, Number(bits), net.includes(':') ? 'ipv6' : 'ipv4');
  }
  return list;
}
