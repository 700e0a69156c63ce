/** Routes to a host, direct or through the proxy that the environment variables name, by the rules of curl. */
import http, { type Agent, type AgentOptions, type OutgoingHttpHeaders, type RequestOptions } from 'node:http';
import https from 'node:https';
import { BlockList, isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as tlsConnect } from 'node:tls';
import { urlToHttpOptions } from 'node:url';
import { type Environment, environmentOf, lookup } from '../../config/environment.ts';
import { McpxError } from '../../errors.ts';
import { canOpen, outOfHandles } from '../../file-handles.ts';
import { undelivered } from '../../wire/undelivered.ts';

export interface Route {
  /** The proxy without credentials; undefined for a direct route. */
  readonly proxy: string | undefined;
  /** Creates an agent for sockets of this route. */
  agent(options?: AgentOptions): Agent;
  /** Sends a request to a URL of the route's origin. */
  request(url: URL, options: RequestOptions & { headers: OutgoingHttpHeaders }): http.ClientRequest;
}

/** Milliseconds that a proxy may take to open a tunnel. */
const TUNNEL_TIMEOUT = 30_000;

type Surroundings = Pick<Environment, 'env' | 'platform'>;

/** Returns the route to a URL; `name` is the server's name for messages. */
export function routeTo(url: URL, name: string, world: Surroundings = environmentOf()): Route {
  const proxy = proxyFor(url, world);
  if (proxy === undefined) return straight(url);
  if (proxy.protocol !== 'http:' && proxy.protocol !== 'https:') {
    const hint = `set HTTP_PROXY or HTTPS_PROXY to an http:// proxy, or add "${url.hostname}" to NO_PROXY`;
    throw new McpxError('config', `the proxy "${label(proxy)}" for server "${name}" is not an HTTP proxy`, { hint });
  }
  return url.protocol === 'http:' ? forwarded(proxy) : tunnelled(url, proxy);
}

function straight(url: URL): Route {
  const via = isSecure(url) ? https : http;
  const target = targets();
  return {
    proxy: undefined,
    agent: (options) => sparing(new via.Agent(options)),
    request: (to, options) => via.request({ ...target(to), ...options }),
  };
}

/**
 * The number of file handles that must be free before a socket is opened: they are for client connections and files.
 */
const SPARE_HANDLES = 8;

/** Opens no socket if few handles are left; the request then fails as if the system had refused. */
function sparing(agent: Agent): Agent {
  const connect = agent.createConnection.bind(agent);
  let last: Promise<void> = Promise.resolve();
  agent.createConnection = (options, done) => {
    const open = () => {
      try {
        if (!canOpen(SPARE_HANDLES)) throw outOfHandles('connect');
        const socket = connect(options, done);
        if (socket) done?.(null, socket);
      } catch (error) {
        done?.(error as Error, undefined as never);
      }
      // Sockets are opened one after the other, because a socket takes its handle in the next tick.
      return new Promise<void>((resolve) => process.nextTick(resolve));
    };
    last = last.then(open);
    return undefined;
  };
  return agent;
}

/** Routes plain HTTP: the proxy gets the absolute URL. */
function forwarded(proxy: URL): Route {
  const via = isSecure(proxy) ? https : http;
  return {
    proxy: label(proxy),
    agent: (options) => sparing(new via.Agent(options)),
    request: (to, options) => {
      const headers = { host: to.host, ...options.headers, ...credentials(proxy) };
      const { username, password } = to;
      const auth = username === '' ? {} : { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` };
      // Credentials of the upstream go into a header, not into the URL that the proxy may log.
      const path = `${to.origin}${to.pathname}${to.search}`;
      return via.request({ ...options, ...auth, host: bare(proxy.hostname), port: proxy.port, path, headers });
    },
  };
}

/** Routes HTTPS and WebSocket through a CONNECT tunnel: the proxy sees only bytes. */
function tunnelled(url: URL, proxy: URL): Route {
  const via = isSecure(url) ? https : http;
  const target = targets();
  return {
    proxy: label(proxy),
    agent(options) {
      const agent = new via.Agent(options);
      agent.createConnection = (wanted, done) => {
        openTunnel(proxy, `${url.hostname}:${portOf(url)}`).then(
          (socket) => done?.(null, isSecure(url) ? tlsConnect({ ...wanted, socket } as object) : socket),
          (error) => done?.(error, undefined as never),
        );
        return undefined;
      };
      return sparing(agent);
    },
    request: (to, options) => via.request({ ...target(to), ...options }),
  };
}

/** Returns the request options of a URL. They are kept for the next request, which nearly always has the same URL. */
function targets(): (url: URL) => RequestOptions {
  let last: { url: URL; options: RequestOptions } | undefined;
  return (url) => {
    if (last?.url === url) return last.options;
    const { protocol, hostname, port, path, auth } = urlToHttpOptions(url);
    const options = { protocol, hostname, port, path, ...(auth != null && { auth }) };
    last = { url, options };
    return options;
  };
}

function openTunnel(proxy: URL, target: string): Promise<Duplex> {
  return new Promise((resolve, reject) => {
    const request = (isSecure(proxy) ? https : http).request({
      method: 'CONNECT',
      host: bare(proxy.hostname),
      port: proxy.port,
      path: target,
      headers: { host: target, ...credentials(proxy) },
      agent: false,
      timeout: TUNNEL_TIMEOUT,
    });
    request.once('timeout', () => request.destroy(new Error(`the proxy did not answer within ${TUNNEL_TIMEOUT} ms`)));
    request.once('connect', ({ statusCode = 0 }, socket: Duplex, head: Buffer) => {
      if (statusCode === 200) {
        if (head.length > 0) socket.unshift(head);
        if ('setTimeout' in socket && typeof socket.setTimeout === 'function') socket.setTimeout(0);
        return resolve(socket);
      }
      socket.destroy();
      const hint =
        statusCode === 407 ? 'put its credentials into the proxy variable: http://user:password@host' : undefined;
      const message = `the proxy "${label(proxy)}" refuses a connection to "${target}" (HTTP ${statusCode})`;
      return reject(undelivered(message, { hint }));
    });
    request.once('error', reject);
    request.end();
  });
}

/**
 * Returns the proxy for a URL; undefined for a direct route. It reads `http_proxy`, `https_proxy` and `all_proxy` in
 * lower or upper case; `no_proxy` lists the direct hosts. Loopback is not exempt: list `localhost,127.0.0.1` in
 * `no_proxy`. Exported for tests.
 */
export function proxyFor(url: URL, world: Surroundings): URL | undefined {
  const written = variable(isSecure(url) ? 'https_proxy' : 'http_proxy', world) ?? variable('all_proxy', world);
  if (written === undefined || isExempt(url, variable('no_proxy', world) ?? '')) return undefined;
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(written) ? written : `http://${written}`;
  if (URL.canParse(address)) return new URL(address);
  throw new McpxError('config', 'the proxy that the environment names is not a valid URL', {
    hint: 'write it as http://host:port in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY',
  });
}

/** Reads a variable, lower case first, as curl does; an empty value counts as unset. */
function variable(name: string, world: Surroundings): string | undefined {
  return [lookup(name, world), lookup(name.toUpperCase(), world)]
    .find((value) => value !== undefined && value.trim() !== '')
    ?.trim();
}

/**
 * Returns true if `no_proxy` lists the URL: hosts with their subdomains, addresses, networks such as `10.0.0.0/8`, each
 * with an optional port; `*` matches everything.
 */
function isExempt(url: URL, list: string): boolean {
  const host = bare(url.hostname);
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .filter((entry) => entry !== '')
    .some((entry) => {
      if (entry === '*') return true;
      if (entry.includes('/')) return isInside(host, entry);
      const [, name = entry, port] = isIP(entry) === 6 ? [] : (/^(.*?)(?::(\d+))?$/.exec(entry) ?? []);
      if (port !== undefined && port !== portOf(url)) return false;
      const wanted = bare(name).replace(/^\*?\./, '');
      return host === wanted || (isIP(host) === 0 && host.endsWith(`.${wanted}`));
    });
}

function isInside(host: string, network: string): boolean {
  const [address = '', bits = ''] = network.split('/');
  const family = (text: string) => (isIP(bare(text)) === 6 ? 'ipv6' : 'ipv4');
  if (isIP(host) === 0 || isIP(bare(address)) === 0 || !/^\d{1,3}$/.test(bits) || family(host) !== family(address))
    return false;
  if (Number(bits) > (family(address) === 'ipv6' ? 128 : 32)) return false;
  const list = new BlockList();
  list.addSubnet(bare(address), Number(bits), family(address));
  return list.check(host, family(host));
}

/** Returns the host without the brackets of IPv6 and the trailing dot of an absolute name. */
function bare(host: string): string {
  return host.replace(/^\[|\]$/g, '').replace(/\.$/, '');
}

function isSecure({ protocol }: URL): boolean {
  return protocol === 'https:' || protocol === 'wss:';
}

function portOf(url: URL): string {
  return url.port === '' ? (isSecure(url) ? '443' : '80') : url.port;
}

function label({ protocol, host }: URL): string {
  return `${protocol}//${host}`;
}

function credentials({ username, password }: URL): OutgoingHttpHeaders {
  if (username === '') return {};
  const text = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return { 'proxy-authorization': `Basic ${Buffer.from(text).toString('base64')}` };
}
