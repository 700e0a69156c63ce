/** `mcpx serve --http` behind a real authorization server: the official client signs in, and tokens open what they should. */
import { join } from 'node:path';
import { Client, type OAuthClientProvider, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import type { Configuration } from 'oidc-provider';
import { expect, onTestFinished, test } from 'vitest';
import { authorizationServer, browse, json } from '../upstream/oauth-world.ts';
import { emptyPlace, INITIALIZE, type Place, type Running, rpc, run, start } from './program.ts';

const REDIRECT = 'http://127.0.0.1:1/callback';

/** Features of an authorization server that issues tokens of one format for the resource that the client names. */
const issuing = (accessTokenFormat: 'jwt' | 'opaque'): Configuration => ({
  scopes: ['openid', 'offline_access', 'mcp:work', 'mcp:home'],
  clients: [
    {
      client_id: 'gateway',
      client_secret: 'introspect-me',
      token_endpoint_auth_method: 'client_secret_basic',
      redirect_uris: [],
      grant_types: [],
      response_types: [],
    },
    {
      client_id: 'job',
      client_secret: 'job-secret',
      token_endpoint_auth_method: 'client_secret_post',
      redirect_uris: [],
      grant_types: ['client_credentials'],
      response_types: [],
    },
  ],
  ttl: { AccessToken: 3600, ClientCredentials: 3600, RefreshToken: 86_400 },
  features: {
    ...{ introspection: { enabled: true, allowedPolicy: () => true } as any },
    resourceIndicators: {
      enabled: true,
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => ({
        scope: 'mcp:work mcp:home',
        audience: resource,
        accessTokenFormat,
      }),
    },
  },
});

interface Gateway {
  url: string;
  place: Place;
  running: Running;
}

async function gateway(oauth: object): Promise<Gateway> {
  const place = emptyPlace();
  place.env.INTROSPECTION_SECRET = 'introspect-me';
  place.file('mcp.json', {
    mcpServers: { math: { type: 'builtin' }, time: { type: 'builtin' } },
    profiles: { work: { servers: ['math'] }, home: { servers: ['time'] } },
    http: {
      auth: { tokens: [{ name: 'me', token: 'static-token', admin: true }], oauth: { mode: 'issuer', ...oauth } },
    },
  });
  const running = start(['serve', join(place.cwd, 'mcp.json'), '--http', '127.0.0.1:0', '--log-level', 'debug'], place);
  onTestFinished(async () => {
    running.child.kill();
    await running.finished;
  });
  const [, url = ''] = await running.wrote('stderr', /listening on (http:\S+)\/mcp/);
  return { url, place, running };
}

/** A client that stores what it learns in memory, and does not open a browser. */
function provider(scope?: string) {
  const stored: Record<string, any> = {};
  const keep = (more: object) => void Object.assign(stored, more);
  const own: OAuthClientProvider = {
    redirectUrl: REDIRECT,
    clientMetadata: {
      redirect_uris: [REDIRECT],
      ...{
        application_type: 'native',
        token_endpoint_auth_method: 'none',
        client_name: 'test',
        ...(scope && { scope }),
      },
      grant_types: ['authorization_code', 'refresh_token'],
    },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => keep({ client }),
    tokens: () => stored.tokens,
    saveTokens: (tokens) => keep({ tokens }),
    redirectToAuthorization: (url) => keep({ url }),
    saveCodeVerifier: (verifier) => keep({ verifier }),
    codeVerifier: () => stored.verifier,
  };
  return { own, stored };
}

/** Discovers, registers, signs in and lists the tools, as the official client does. */
async function signIn(url: string) {
  const { own, stored } = provider();
  const dial = () => new StreamableHTTPClientTransport(new URL(url), { authProvider: own });
  const first = dial();
  await expect(new Client({ name: 'test', version: '1' }).connect(first)).rejects.toThrow(/unauthorized/i);
  const back = new URL(await browse(String(stored.url), { stopAt: REDIRECT }));
  await first.finishAuth(back.searchParams);
  const client = new Client({ name: 'test', version: '1' });
  onTestFinished(() => client.close());
  await client.connect(dial());
  return { client, stored, tools: (await client.listTools()).tools };
}

async function tokenFrom(issuer: string, body: URLSearchParams): Promise<{ access_token: string }> {
  const response = await fetch(`${issuer}/token`, { method: 'POST', body });
  return (await response.json()) as { access_token: string };
}

const call = (url: string, token: string | undefined, headers: Record<string, string> = {}) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
  });

test.each(['jwt', 'opaque'] as const)(
  'the official client signs in with %s tokens and lists the tools of its profile',
  async (format) => {
    const { issuer, asked } = await authorizationServer('http://127.0.0.1:1/mcp', { configuration: issuing(format) });
    const introspection = { clientId: 'gateway', clientSecret: '${INTROSPECTION_SECRET}', cache: '1s' };
    const oauth = { issuer, profileScope: 'mcp:{profile}', ...(format === 'opaque' && { introspection }) };

    const { url, running, place } = await gateway(oauth);
    const { tools, stored, client } = await signIn(`${url}/mcp/work`);
    expect(tools.map(({ name }) => name)).toEqual(['inspect', 'exec']);
    const { content } = await client.callTool({
      name: 'exec',
      arguments: { server_name: 'math', tool_name: 'calculate', arguments: { expression: '6*7' } },
    });
    expect(JSON.stringify(content)).toContain('42');
    const token = stored.tokens.access_token;
    expect(token.split('.').length).toBe(format === 'jwt' ? 3 : 1);

    const missing = await Promise.all(['home', 'absent'].map((profile) => call(`${url}/mcp/${profile}`, token)));
    expect(missing.map(({ status }) => status)).toEqual([404, 404]);
    const status: any = await (
      await fetch(`${url}/api/status`, { headers: { authorization: `Bearer ${token}` } })
    ).json();
    expect(status.profiles.map(({ name }: { name: string }) => name)).toEqual(['work']);
    expect((await call(`${url}/mcp/home`, 'static-token')).status).toBe(200);
    expect((await call(`${url}/mcp/work`, `${token}x`)).status).toBe(401);

    const metrics = await (await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer static-token' } })).text();
    const shown = await run(['config', 'show', '--config', join(place.cwd, 'mcp.json')], place);
    const everything = [running.said.stdout, running.said.stderr, metrics, JSON.stringify(status), shown.stdout].join(
      '\n',
    );
    for (const secret of [token, stored.tokens.refresh_token, 'introspect-me', 'static-token'])
      expect(everything).not.toContain(secret);
    expect(running.said.stderr).toMatch(/oauth:ada\//);
    expect(asked).toContain(format === 'jwt' ? 'GET /jwks' : 'POST /token/introspection');
  },
);

test('a machine with client credentials gets its rule, and its token is refused elsewhere', async () => {
  const { issuer } = await authorizationServer('http://127.0.0.1:1/mcp', { configuration: issuing('jwt') });
  const rules = [{ claims: { client_id: 'job' }, profiles: ['home'], tools: { deny: ['*'] } }];
  const { url } = await gateway({ issuer, rules });
  const obtain = async (resource: string) => {
    const form = { grant_type: 'client_credentials', client_id: 'job', client_secret: 'job-secret', resource };
    const body = new URLSearchParams({ ...form, scope: 'mcp:work' });
    return (await tokenFrom(issuer, body)).access_token;
  };
  const token = await obtain(`${url}/mcp`.replace('127.0.0.1', 'localhost'));
  expect((await call(`${url}/mcp/home`, token)).status).toBe(404);
  const whole = await obtain(url);
  expect([(await call(`${url}/mcp/home`, whole)).status, (await call(`${url}/mcp/work`, whole)).status]).toEqual([
    200, 404,
  ]);
  const foreign = await call(`${url}/mcp/home`, await obtain('https://api.example'));
  expect(foreign.status).toBe(401);
  expect(foreign.headers.get('www-authenticate')).toMatch(/error="invalid_token".*for 'https:\/\/api.example' and not/);
});

test('a session outlives the renewal of its token', async () => {
  const { issuer } = await authorizationServer('http://127.0.0.1:1/mcp', { configuration: issuing('jwt') });
  const { url } = await gateway({ issuer, requiredScopes: ['mcp:work'] });
  const { stored, client } = await signIn(`${url}/mcp`);
  const before = stored.tokens.access_token;
  const form = {
    grant_type: 'refresh_token',
    client_id: stored.client.client_id,
    refresh_token: stored.tokens.refresh_token,
  };
  const body = new URLSearchParams({ ...form, resource: `${url}/mcp` });
  stored.tokens = await tokenFrom(issuer, body);
  expect(stored.tokens.access_token).not.toBe(before);
  expect((await client.listTools()).tools.length).toBe(2);
});

test.each<[string, (path: string) => { status: number; body?: unknown; location?: string } | undefined, RegExp]>([
  [
    'keys that redirect into the private network',
    (path) => (path === '/jwks' ? { status: 302, location: 'http://10.0.0.1/keys' } : undefined),
    /redirects, which is not followed/,
  ],
  [
    'metadata that leads into the private network',
    (path) => (path.startsWith('/.well-known/') ? { status: 200, body: 'PRIVATE' } : undefined),
    /an address of a private network, which is not contacted/,
  ],
  [
    'keys over 256 KiB',
    (path) => (path === '/jwks' ? { status: 200, body: { keys: [], padding: 'x'.repeat(300_000) } } : undefined),
    /sent over 256 KiB/,
  ],
])('%s: the token gets 503, and the log says why', async (_, answer, line) => {
  const { issuer } = await authorizationServer('http://127.0.0.1:1/mcp', {
    configuration: issuing('jwt'),
    intercept(request, response) {
      const found = answer(request.url ?? '');
      if (found === undefined) return false;
      const body =
        found.body === 'PRIVATE'
          ? { issuer: `http://${request.headers.host}`, jwks_uri: 'https://10.0.0.1/keys' }
          : found.body;
      if (found.location !== undefined) response.setHeader('location', found.location);
      json(response, found.status, body ?? {});
      return true;
    },
  });
  const { url, running } = await gateway({ issuer });
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: 'job',
    client_secret: 'job-secret',
    resource: url,
  });
  const { access_token } = await tokenFrom(issuer, body);
  const refused = await call(`${url}/mcp`, access_token);
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
  await running.wrote('stderr', line);
  expect((await call(`${url}/mcp`, 'static-token')).status).toBe(200);
});

const AT_EXAMPLE = { issuer: 'https://login.example' };

test.each<[string, object, { offline?: boolean; listen?: string }, RegExp]>([
  ['no issuer', {}, {}, /mode "issuer" but no "issuer"/],
  ['an issuer without TLS', { issuer: 'http://login.example' }, {}, /"http.auth.oauth.issuer" is not https/],
  ['an address on the network without TLS', AT_EXAMPLE, { listen: '0.0.0.0:0' }, /OAuth on "0.0.0.0" needs TLS/],
  ['an issuer that it must not contact', AT_EXAMPLE, { offline: true }, /access tokens need the issuer at "https:/],
])('serve does not start with %s', async (_, oauth, { offline = false, listen = '127.0.0.1:0' }, message) => {
  const place = emptyPlace();
  const http = { auth: { oauth: { mode: 'issuer', ...oauth } } };
  place.file('mcp.json', { mcpServers: { math: { type: 'builtin' } }, http, offline });
  const { code, stderr } = await run(['serve', join(place.cwd, 'mcp.json'), '--http', listen], place);
  expect([code, stderr]).toEqual([6, expect.stringMatching(message)]);
  expect(stderr).toContain('hint: ');
});

test('a reload with the same issuer keeps sessions, and one without it ends them', async () => {
  const { issuer } = await authorizationServer('http://127.0.0.1:1/mcp', { configuration: issuing('jwt') });
  const { url, place } = await gateway({ issuer, requiredScopes: ['mcp:work'] });
  const { stored } = await signIn(`${url}/mcp`);
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    authorization: `Bearer ${stored.tokens.access_token}`,
  };
  const hello = await fetch(`${url}/mcp`, { method: 'POST', headers, body: rpc(1, 'initialize', INITIALIZE) });
  const session = { 'mcp-session-id': hello.headers.get('mcp-session-id') ?? '' };
  const reload = () =>
    fetch(`${url}/api/reload`, { method: 'POST', headers: { authorization: 'Bearer static-token' } });
  expect((await reload()).status).toBe(200);
  expect((await call(`${url}/mcp`, stored.tokens.access_token, session)).status).toBe(200);
  const tokens = [{ name: 'me', token: 'static-token', admin: true }];
  place.file('mcp.json', { mcpServers: { math: { type: 'builtin' } }, http: { auth: { tokens } } });
  expect((await reload()).status).toBe(200);
  expect((await call(`${url}/mcp`, stored.tokens.access_token, session)).status).toBe(401);
});
