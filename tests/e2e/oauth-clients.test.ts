/** Real OAuth clients of the gateway: discovery, consent in Chromium, tokens, tools; with registration and with documents. */
import { resolve } from 'node:path';
import {
  Client,
  type OAuthClientProvider,
  StreamableHTTPClientTransport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { hostTarget } from '../../scripts/project.mjs';
import { nodeLock } from '../../scripts/release/node.mjs';
import {
  allow,
  CHROMIUM,
  contents,
  documentHost,
  freePort,
  hasOpenssl,
  launch,
  listen,
  type OAuthGateway,
  PASSWORD,
  startGateway,
  TOKEN,
} from './oauth-world.ts';
import { emptyPlace, run, start, WINDOWS } from './program.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const INSPECTOR = resolve(ROOT, 'node_modules/@modelcontextprotocol/inspector/clients/cli/build/index.js');
const MCP_REMOTE = resolve(ROOT, 'node_modules/mcp-remote/dist/proxy.js');
/** The Inspector needs a newer Node than mcpx's tests do: the pinned one that the build fetched. */
const NODE = resolve(ROOT, '.cache/node', nodeLock().version, hostTarget(), WINDOWS ? 'node.exe' : 'node');

const LINUX = process.platform === 'linux';
/** On Linux, programs open the page with a command that does nothing; the test opens the page instead. */
const NO_BROWSER = { BROWSER: 'true', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/nonexistent' };

let browser: Browser;

/** How clients become known to the gateway. */
const WAYS = ['registration', 'a metadata document'] as const;
type Way = (typeof WAYS)[number];

interface Setting {
  gateway: OAuthGateway;
  /** Returns the URL of a metadata document; undefined for registration. */
  document(metadata: Record<string, unknown>): string | undefined;
}

async function settingFor(way: Way): Promise<Setting> {
  if (way === 'registration') return { gateway: await startGateway(), document: () => undefined };
  const host = await documentHost();
  const gateway = await startGateway({ NODE_EXTRA_CA_CERTS: host.authority });
  return { gateway, document: host.publish };
}

/** No token is in a file of mcpx, in its output, or in what its commands print. */
async function expectNoToken({ place, running }: OAuthGateway, clientHome = ''): Promise<void> {
  const listed = await run(['grants', '--json'], place);
  expect(JSON.parse(listed.stdout).length).toBeGreaterThan(0);
  const table = await run(['grants'], place);
  const own = [contents(place.env.HOME ?? ''), running.said.stdout, running.said.stderr, listed.stdout, table.stdout];
  const all = own.join('\n');
  expect(all.match(/mcpx_(?:at|rt|code)_[\w-]+/g)).toBeNull();
  for (const secret of [PASSWORD, TOKEN]) expect(`${all}\n${clientHome}`).not.toContain(secret);
}

/** The provider of a program with a callback on loopback, which keeps everything in memory. */
function providerFor(redirect: string, clientMetadataUrl: string | undefined) {
  const kept: Record<string, any> = {};
  const provider: OAuthClientProvider = {
    redirectUrl: redirect,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    clientMetadata: { client_name: 'Official client', redirect_uris: [redirect], token_endpoint_auth_method: 'none' },
    clientInformation: () => kept.client,
    saveClientInformation: (client) => void Object.assign(kept, { client }),
    tokens: () => kept.tokens,
    saveTokens: (tokens) => void Object.assign(kept, { tokens }),
    redirectToAuthorization: (url) => void Object.assign(kept, { url: url.href }),
    saveCodeVerifier: (verifier) => void Object.assign(kept, { verifier }),
    codeVerifier: () => kept.verifier,
    saveDiscoveryState: (discovery) => void Object.assign(kept, { discovery }),
    discoveryState: () => kept.discovery,
  };
  return { provider, kept };
}

async function connect(url: string, authProvider: OAuthClientProvider): Promise<Client> {
  const client = new Client({ name: 'official', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
  return client;
}

const namesOf = ({ tools }: { tools: { name: string }[] }) => tools.map(({ name }) => name);

describe.skipIf(CHROMIUM === undefined || !hasOpenssl())('with the consent page in Chromium (needs openssl)', () => {
  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());

  test.each(WAYS)(
    'the official client signs in with %s, and cannot see the other profile',
    { timeout: 60_000 },
    async (way) => {
      const { gateway, document } = await settingFor(way);
      const redirect = `${await listen((_, response) => response.end('signed in'))}/callback`;
      const { provider, kept } = providerFor(
        redirect,
        document({ client_name: 'Official client', redirect_uris: [redirect] }),
      );
      const url = `${gateway.url}/mcp/a`;
      await expect(connect(url, provider)).rejects.toThrow(UnauthorizedError);
      const landed = await allow(browser, kept.url, TOKEN);
      expect(landed.href.startsWith(redirect)).toBe(true);
      const transport = new StreamableHTTPClientTransport(new URL(url), { authProvider: provider });
      await transport.finishAuth(landed.searchParams);
      const client = await connect(url, provider);
      expect(namesOf(await client.listTools())).toContain('math__calculate');
      expect(kept.tokens.scope).toBe('a');
      expect(kept.client.client_id).toMatch(way === 'registration' ? /^mcpx-/ : /^https:\/\/localhost:/);
      const other = await fetch(`${gateway.url}/mcp/b`, {
        method: 'POST',
        headers: { authorization: `Bearer ${kept.tokens.access_token}`, 'content-type': 'application/json' },
        body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
      });
      expect(other.status).toBe(404);
      expect(await other.text()).not.toContain('time');
      expect(kept.tokens.refresh_token).toMatch(/^mcpx_rt_/);
      await expectNoToken(gateway);
    },
  );

  test('the official client renews its token, and loses its session when the grant is revoked', {
    timeout: 60_000,
  }, async () => {
    const { gateway } = await settingFor('registration');
    const redirect = `${await listen((_, response) => response.end('signed in'))}/callback`;
    const { provider, kept } = providerFor(redirect, undefined);
    await expect(connect(`${gateway.url}/mcp/b`, provider)).rejects.toThrow(UnauthorizedError);
    const { searchParams } = await allow(browser, kept.url);
    await new StreamableHTTPClientTransport(new URL(`${gateway.url}/mcp/b`), { authProvider: provider }).finishAuth(
      searchParams,
    );
    const before = kept.tokens;
    // The client finds its access token refused and renews it.
    kept.tokens = { ...kept.tokens, access_token: `mcpx_at_${'x'.repeat(43)}` };
    const client = await connect(`${gateway.url}/mcp/b`, provider);
    expect(namesOf(await client.listTools())).toContain('time__now');
    expect(kept.tokens.refresh_token).not.toBe(before.refresh_token);
    const [grant] = JSON.parse((await run(['grants', '--json'], gateway.place)).stdout);
    expect(grant).toMatchObject({ client: { name: 'Official client' }, token: null, profiles: ['b'] });
    expect((await run(['grants', '--revoke', grant.id], gateway.place)).stdout).toBe(`revoked ${grant.id}\n`);
    await expect(client.listTools()).rejects.toThrow();
    expect((await run(['grants'], gateway.place)).stderr).toContain('no OAuth client may use the gateway');
    expect(await run(['grants', '--revoke', grant.id], gateway.place)).toMatchObject({ code: 7 });
  });

  test.skipIf(!LINUX).each(WAYS)(
    'mcp-remote signs in with %s, on Linux, and lists the tools over stdio',
    { timeout: 60_000 },
    async (way) => {
      const { gateway, document } = await settingFor(way);
      const port = await freePort();
      const redirect = `http://127.0.0.1:${port}/oauth/callback`;
      const documentUrl = document({
        client_name: 'mcp-remote',
        redirect_uris: [redirect, redirect.replace('127.0.0.1', 'localhost')],
      });
      const home = emptyPlace();
      const own = documentUrl === undefined ? [] : ['--client-metadata-url', documentUrl];
      const env = { ...home.env, ...NO_BROWSER };
      const args = [MCP_REMOTE, `${gateway.url}/mcp/a`, String(port), '--host', '127.0.0.1', ...own];
      const { child, said } = start(args, { cwd: home.cwd, env }, [process.execPath]);
      const heard = (stream: 'stdout' | 'stderr', what: RegExp) =>
        expect.poll(() => what.exec(said[stream])?.[0], { timeout: 30_000, message: said.stderr }).toBeTruthy();
      const write = (message: object) => child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'stdio', version: '1' } };
      write({ id: 1, method: 'initialize', params });
      await heard('stderr', /http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+/);
      await allow(browser, /http:\/\/127\.0\.0\.1:\d+\/authorize\?\S+/.exec(said.stderr)?.[0] ?? '', TOKEN);
      await heard('stdout', /"id":1\b.*\n/);
      write({ method: 'notifications/initialized' });
      write({ id: 2, method: 'tools/list' });
      await heard('stdout', /"id":2\b.*math__calculate.*\n/);
      await expectNoToken(gateway, contents(home.env.HOME ?? ''));
    },
  );

  test.skipIf(!LINUX).each(WAYS)(
    'the Inspector signs in with %s, on Linux, and lists the tools',
    { timeout: 60_000 },
    async (way) => {
      const { gateway, document } = await settingFor(way);
      const redirect = `http://127.0.0.1:${await freePort()}/oauth/callback`;
      const documentUrl = document({ client_name: 'Inspector', redirect_uris: [redirect] });
      const home = emptyPlace();
      const own = documentUrl === undefined ? [] : ['--client-metadata-url', documentUrl];
      // Without a bus it has no keychain and keeps its tokens in its home.
      const env = { ...home.env, ...NO_BROWSER, MCP_AUTO_OPEN_ENABLED: 'true' };
      const args = [
        INSPECTOR,
        `${gateway.url}/mcp/a`,
        '--transport',
        'http',
        '--method',
        'tools/list',
        '--callback-url',
        redirect,
        ...own,
      ];
      const { said } = start(args, { cwd: home.cwd, env }, [NODE]);
      const address = () => /http:\/\/127\.0\.0\.1:\d+\/authorize\?[^\s]+/.exec(said.stderr + said.stdout)?.[0];
      await expect.poll(address, { timeout: 30_000 }).toBeTruthy();
      await allow(browser, address() ?? '', TOKEN);
      // It may wait for the browser's connection to its callback to end, so its exit is not awaited.
      await expect.poll(() => said.stdout, { timeout: 30_000 }).toContain('math__calculate');
      await expectNoToken(gateway, contents(home.env.HOME ?? ''));
    },
  );
});
