import { afterEach, describe, expect, test, vi } from 'vitest';
import { proxyFor, routeTo } from '../../../src/upstream/http/proxy.ts';
import { serveHttp } from '../http-world.ts';
import { serveProxy } from '../proxy-world.ts';
import { serveSse } from '../sse-world.ts';
import { call, connection, httpSpec } from '../world.ts';
import { serveWs } from '../ws-world.ts';

afterEach(() => vi.unstubAllEnvs());

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

function proxyOf(url: string, env: Record<string, string>): string | undefined {
  return proxyFor(new URL(url), { env, platform: 'linux' })?.href;
}

describe('the proxy for a URL', () => {
  const P = 'http://p:1/';
  test.each([
    ['http://a.b/', {}, undefined],
    ['http://a.b/', { HTTP_PROXY: 'http://p:1' }, P],
    ['http://a.b/', { http_proxy: 'http://p:1', HTTP_PROXY: 'http://q:2' }, P],
    ['http://a.b/', { http_proxy: '', HTTP_PROXY: 'http://p:1' }, P],
    ['http://a.b/', { HTTP_PROXY: 'p:1' }, P],
    ['http://a.b/', { HTTPS_PROXY: 'http://p:1' }, undefined],
    ['https://a.b/', { HTTPS_PROXY: 'http://p:1', HTTP_PROXY: 'http://q:2' }, P],
    ['https://a.b/', { HTTP_PROXY: 'http://q:2' }, undefined],
    ['https://a.b/', { ALL_PROXY: 'http://p:1' }, P],
    ['https://a.b/', { all_proxy: 'http://p:1', https_proxy: 'http://q:2/' }, 'http://q:2/'],
    ['ws://a.b/', { HTTP_PROXY: 'http://p:1' }, P],
    ['wss://a.b/', { HTTPS_PROXY: 'http://p:1' }, P],
    ['http://127.0.0.1:3000/', { HTTP_PROXY: 'http://p:1' }, P],
  ])('%s with %j is %s', (url, env, expected) => {
    expect(proxyOf(url, env)).toBe(expected);
  });

  test.each([
    ['http://a.b/', '*', false],
    ['http://a.b/', 'a.b', false],
    ['http://A.B/', 'a.B', false],
    ['http://x.a.b/', 'a.b', false],
    ['http://x.a.b/', '.a.b', false],
    ['http://a.b/', '.a.b', false],
    ['http://x.a.b/', '*.a.b', false],
    ['http://xa.b/', 'a.b', true],
    ['http://a.b./', 'a.b', false],
    ['http://a.b/', 'c.d, a.b', false],
    ['http://a.b/', 'c.d a.b', false],
    ['http://a.b/', 'a.b:80', false],
    ['http://a.b:8080/', 'a.b:80', true],
    ['https://a.b/', 'a.b:443', false],
    ['http://localhost:3000/', 'localhost,127.0.0.1', false],
    ['http://127.0.0.1:3000/', 'localhost,127.0.0.1', false],
    ['http://127.0.0.2:3000/', '127.0.0.1', true],
    ['http://10.1.2.3/', '10.0.0.0/8', false],
    ['http://11.1.2.3/', '10.0.0.0/8', true],
    ['http://10.1.2.3/', '10.0.0.0/99', true],
    ['http://10.1.2.3/', '10.0.0.0/x', true],
    ['http://a.b/', '10.0.0.0/8', true],
    ['http://[::1]:3000/', '::1', false],
    ['http://[::1]:3000/', '[::1]', false],
    ['http://[::1]:3000/', '[::1]:3000', false],
    ['http://[fd00::1]/', 'fd00::/8', false],
    ['http://[fd00::1]/', '10.0.0.0/8', true],
    ['http://a.b/', '', true],
  ])('%s with NO_PROXY=%s goes through it: %s', (url, list, through) => {
    const env = { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://p:1', NO_PROXY: list };
    expect(proxyOf(url, env) !== undefined).toBe(through);
  });

  test('is refused when it is not one, without its credentials', () => {
    const world = (value: string) => ({ env: { HTTPS_PROXY: value }, platform: 'linux' as const });
    const route = (value: string) => () => routeTo(new URL('https://a.b'), 'x', world(value));
    expect(route('socks5://me:secret@p:1')).toThrow('the proxy "socks5://p:1" for server "x" is not an HTTP proxy');
    expect(route('http://')).toThrow('is not a valid URL');
  });
});

describe('through a proxy', () => {
  test('Streamable HTTP goes by its whole URL, with the credentials of the proxy', async () => {
    const [server, proxy] = [await serveHttp(), await serveProxy()];
    vi.stubEnv('HTTP_PROXY', proxy.url.replace('//', '//me:p%40ss@'));
    const upstream = connection(httpSpec(server.url, { headers: { 'X-Key': 'k' } }));
    expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
    expect(proxy.asked[0]).toBe(`POST ${server.url}`);
    expect(proxy.headers[0]?.['proxy-authorization']).toBe(`Basic ${Buffer.from('me:p@ss').toString('base64')}`);
    expect(server.seen[0]?.headers).toMatchObject({ 'x-key': 'k', host: new URL(server.url).host });
  });

  test('credentials in the URL of a server are not shown to the proxy in its address', async () => {
    const [server, proxy] = [await serveHttp(), await serveProxy()];
    vi.stubEnv('HTTP_PROXY', proxy.url);
    const upstream = connection(httpSpec(`${server.url.replace('//', '//me:sesame@')}?a=1#part`));
    expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
    expect(proxy.asked[0]).toBe(`POST ${server.url}?a=1`);
    expect(server.seen[0]?.headers.authorization).toBe(`Basic ${Buffer.from('me:sesame').toString('base64')}`);
  });

  test('the old SSE transport goes too', async () => {
    const [server, proxy] = [await serveSse(), await serveProxy()];
    vi.stubEnv('http_proxy', proxy.url);
    expect(await call(connection(httpSpec(server.url, { type: 'sse' })), 'echo', { n: 2 })).toEqual({ n: 2 });
    expect(proxy.asked[0]).toBe(`GET ${server.url}`);
    expect(proxy.asked[1]).toMatch(/^POST http:.*\/messages\?session=1$/);
  });

  test('WebSocket goes by a tunnel', async () => {
    const [server, proxy] = [await serveWs(), await serveProxy()];
    vi.stubEnv('ALL_PROXY', proxy.url);
    expect(await call(connection(httpSpec(server.url, { type: 'ws' })), 'echo', { n: 3 })).toEqual({ n: 3 });
    expect(proxy.asked).toEqual([`CONNECT ${new URL(server.url).host}`]);
  });

  test('https goes by a tunnel, and what is behind it is still checked', async () => {
    const [server, proxy] = [await serveHttp(), await serveProxy()];
    vi.stubEnv('HTTPS_PROXY', proxy.url);
    const { host } = new URL(server.url);
    const error = (await failure(connection(httpSpec(`https://${host}/mcp`)).connect())) as Error;
    // The server behind the tunnel speaks no TLS.
    expect(error.message).toMatch(/^server "x" broke off: /);
    expect(proxy.asked).toContain(`CONNECT ${host}`);
  });

  test('what NO_PROXY names is reached straight', async () => {
    const [server, proxy] = [await serveHttp(), await serveProxy()];
    vi.stubEnv('HTTP_PROXY', proxy.url);
    vi.stubEnv('NO_PROXY', '127.0.0.1');
    expect(await call(connection(httpSpec(server.url)), 'echo', { n: 4 })).toEqual({ n: 4 });
    expect(proxy.asked).toEqual([]);
  });

  test.each([
    [
      'http',
      'server "x" cannot be reached at "http://127.0.0.1:7/mcp" through the proxy "http://127.0.0.1:9": ECONNREFUSED',
    ],
    [
      'https',
      'server "x" cannot be reached at "https://127.0.0.1:7/mcp" through the proxy "http://127.0.0.1:9": ECONNREFUSED',
    ],
    [
      'ws',
      'server "x" cannot be reached at "ws://127.0.0.1:7/mcp" through the proxy "http://127.0.0.1:9": ECONNREFUSED',
    ],
  ])('that is not there, %s fails and names it', async (scheme, message) => {
    vi.stubEnv('ALL_PROXY', 'http://me:secret@127.0.0.1:9');
    const type = scheme === 'ws' ? 'ws' : 'http';
    expect(await failure(connection(httpSpec(`${scheme}://127.0.0.1:7/mcp`, { type })).connect())).toMatchObject({
      message,
    });
  });

  test('that refuses, the refusal is told', async () => {
    const proxy = await serveProxy({ refuse: 407 });
    vi.stubEnv('ALL_PROXY', proxy.url);
    const tunnel = (await failure(connection(httpSpec('https://a.invalid/mcp')).connect())) as {
      hint: string;
      message: string;
    };
    expect(tunnel.message).toBe(`the proxy "${proxy.url}" refuses a connection to "a.invalid:443" (HTTP 407)`);
    expect(tunnel.hint).toContain('credentials');
    const plain = (await failure(connection(httpSpec('http://a.invalid/mcp')).connect())) as Error;
    expect(plain.message).toContain('HTTP 407 Proxy Authentication Required');
  });
});
