/** The gateway as a protected resource: metadata, challenges, access tokens beside tokens of the config, and addresses without TLS. */
import { afterEach, describe, expect, test } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { GatewayOAuth } from '../../../src/config/gateway-oauth.ts';
import { type AccessTokens, createPrincipals, type TokenCheck } from '../../../src/policy/access-tokens.ts';
import { createAuthenticator } from '../../../src/policy/auth.ts';
import { BOTH, closeAll, connect, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const RIGHTS = { tools: {}, resources: {}, prompts: {}, admin: false };
const METADATA = '/.well-known/oauth-protected-resource';

/** A source that knows the tokens of a table; `slow` answers by a promise. */
function source(known: Record<string, string>, revoked = new Set<string>()): AccessTokens & { asked: string[] } {
  const principals = createPrincipals();
  const asked: string[] = [];
  const of = (given: string): TokenCheck => {
    const subject = revoked.has(given) ? undefined : known[given];
    if (subject !== undefined) {
      const rights = { ...RIGHTS, profiles: ['default'] };
      return { principal: principals.of({ issuer: 'https://as.example', subject, client: 'web', rights }) };
    }
    if (given === 'narrow')
      return { refused: { status: 403, message: 'the token has not the scope "mcp"', hint: 'h', scope: 'mcp more' } };
    if (given === 'unsure') return { refused: { status: 503, message: 'the issuer does not answer', hint: 'h' } };
    return { refused: { status: 401, message: 'the token is not valid', hint: 'sign in', isGuess: given !== 'old' } };
  };
  return {
    asked,
    ...principals,
    check(given, isBraked) {
      asked.push(`${given}${isBraked() ? ' braked' : ''}`);
      return given.startsWith('slow') ? Promise.resolve(of(given)) : of(given);
    },
  };
}

const oauth = (more: Partial<GatewayOAuth> = {}): typeof DEFAULTS.http => ({
  ...DEFAULTS.http,
  port: 0,
  auth: {
    tokens: [],
    oauth: { ...DEFAULTS.http.auth.oauth, mode: 'issuer', issuer: 'https://as.example', ...more },
  },
});

async function gateway(known: Record<string, string> = {}, more: Partial<GatewayOAuth> = {}) {
  const revoked = new Set<string>();
  const accessTokens = source(known, revoked);
  const auth = createAuthenticator([token('ci', 'static')], { accessTokens });
  const staged = await stage({ hi: () => ({ content: [] }) }, { auth, http: oauth(more) });
  const post = (given?: string, path = '/mcp', headers: Record<string, string> = {}) =>
    send(`${staged.listener.url}${path}`, {
      body: rpc('tools/list'),
      headers: { ...BOTH, ...(given && { authorization: `Bearer ${given}` }), ...headers },
    });
  return { ...staged, auth, accessTokens, revoked, post };
}

describe('metadata', () => {
  const get = async (url: string, headers = {}) => {
    const answer = await send(url, { method: 'GET', headers });
    return { status: answer.status, headers: answer.headers, body: await answer.json() };
  };

  test.each([
    ['', '', []],
    ['/mcp', '/mcp', ['mcp:default']],
    ['/mcp/', '/mcp', ['mcp:default']],
    ['/mcp/work', '/mcp/work', ['mcp:work']],
    ['/api/caf%C3%A9/mcp', '/api/caf%C3%A9/mcp', ['mcp:caf%C3%A9']],
  ])('of %j names this resource and its scopes', async (path, resource, scopes) => {
    const { listener } = await gateway({}, { requiredScopes: ['base'], profileScope: 'mcp:{profile}' });
    const { status, body } = await get(`${listener.url}${METADATA}${path}`);
    expect([status, body]).toEqual([
      200,
      {
        resource: `${listener.url}${resource}`,
        authorization_servers: ['https://as.example'],
        scopes_supported: ['base', ...scopes],
        bearer_methods_supported: ['header'],
        resource_name: 'mcpx',
      },
    ]);
  });

  test('has the public URL behind a proxy, also one with a path', async () => {
    const { listener } = await gateway({}, { url: 'https://gw.example/tools' });
    for (const path of ['/mcp', '/tools/mcp'])
      for (const host of ['gw.example', '127.0.0.1'])
        expect((await get(`${listener.url}${METADATA}${path}`, { host })).body.resource).toBe(
          'https://gw.example/tools/mcp',
        );
    const whole = await get(`${listener.url}${METADATA}/tools`, { host: 'gw.example' });
    expect(whole.body.resource).toBe('https://gw.example/tools');
    expect((await get(`${listener.url}${METADATA}/toolshed/mcp`, { host: 'gw.example' })).status).toBe(404);
    expect((await get(`${listener.url}${METADATA}/mcp`, { host: 'evil.example' })).status).toBe(403);
  });

  test('may be read by every web page, and nothing else may', async () => {
    const { listener } = await gateway();
    const headers = { origin: 'https://page.example' };
    const read = await get(`${listener.url}${METADATA}/mcp`, headers);
    expect([read.status, read.headers['access-control-allow-origin']]).toEqual([200, '*']);
    const preflight = { ...headers, 'access-control-request-method': 'GET' };
    expect((await send(`${listener.url}${METADATA}/mcp`, { method: 'OPTIONS', headers: preflight })).status).toBe(204);
    expect((await get(`${listener.url}/api/status`, headers)).status).toBe(403);
  });

  test('is absent without OAuth, and other well-known paths name the issuer', async () => {
    const { listener } = await gateway();
    const other = await get(`${listener.url}/.well-known/oauth-authorization-server`);
    expect([other.status, other.body.error_description]).toEqual([404, expect.stringContaining('https://as.example')]);
    const off = await stage({}, { tokens: [token('a', 'ka')] });
    expect((await get(`${off.listener.url}${METADATA}/mcp`)).status).toBe(404);
  });
});

describe('challenges', () => {
  test('name the metadata and the scopes of the endpoint, whether or not its profile exists', async () => {
    const { post, listener } = await gateway({}, { profileScope: 'mcp:{profile}' });
    for (const [path, profile] of [
      ['/mcp', 'default'],
      ['/mcp/other', 'other'],
      ['/mcp/absent', 'absent'],
    ]) {
      const { status, headers } = await post(undefined, path);
      const expected = `Bearer resource_metadata="${listener.url}${METADATA}${path}", scope="mcp:${profile}"`;
      expect([status, headers['www-authenticate']]).toEqual([401, expected]);
    }
    expect((await post(undefined, '/api/reload')).headers['www-authenticate']).toBe(
      `Bearer resource_metadata="${listener.url}${METADATA}"`,
    );
  });

  test('tell a wrong token, one that does not suffice and one that cannot be checked', async () => {
    const { post } = await gateway();
    const wrong = await post('guess');
    expect([wrong.status, wrong.headers['www-authenticate']]).toEqual([
      401,
      expect.stringMatching(/^Bearer error="invalid_token", error_description="the token is not valid", resource_met/),
    ]);
    const narrow = await post('narrow');
    expect([narrow.status, narrow.headers['www-authenticate']]).toEqual([
      403,
      expect.stringMatching(/^Bearer error="insufficient_scope", .*scope="mcp more"$/),
    ]);
    const unsure = await post('unsure');
    expect([unsure.status, unsure.headers['retry-after']]).toEqual([503, '5']);
    expect((await unsure.json()).error).toMatchObject({ message: 'the issuer does not answer', data: { hint: 'h' } });
  });
});

describe('access tokens', () => {
  test('open the gateway beside tokens of the config, at once or after a check elsewhere', async () => {
    const { post, open, accessTokens } = await gateway({ ada: 'ada', 'slow-bob': 'bob' });
    const statuses = await Promise.all(['static', 'ada', 'slow-bob', undefined].map((given) => post(given)));
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 401]);
    expect(accessTokens.asked).toEqual(['ada', 'slow-bob']);
    expect(open.size).toBe(0);
  });

  test('keep a session when the client renews its token, and end it on the request after a revocation', async () => {
    const { url, revoked } = await gateway({ first: 'ada', second: 'ada', other: 'bob' });
    const client = await connect(url, { headers: { authorization: 'Bearer first' } });
    const again = async (given: string) =>
      (await client.post(rpc('tools/list'), { authorization: `Bearer ${given}` })).status;
    expect([await again('first'), await again('second'), await again('other')]).toEqual([200, 200, 404]);
    revoked.add('second');
    expect([await again('second'), await again('first')]).toEqual([401, 200]);
  });

  test('do not see another profile: it looks missing', async () => {
    const { post } = await gateway({ ada: 'ada' });
    const [hidden, absent] = [await post('ada', '/mcp/other'), await post('ada', '/mcp/absent')];
    expect([hidden.status, absent.status]).toEqual([404, 404]);
    const saidBy = async (answer: typeof hidden) => (await answer.text()).replaceAll(/other|absent|-\d+"/g, '');
    expect(await saidBy(hidden)).toBe(await saidBy(absent));
  });

  test('that are guesses are braked by address; expired ones are not', async () => {
    const { post, accessTokens } = await gateway({ ada: 'ada' });
    for (let n = 0; n < 25; n++) expect((await post('old')).status).toBe(401);
    const statuses = [];
    for (let n = 0; n < 22; n++) statuses.push((await post('guess')).status);
    expect(statuses).toEqual([...Array(20).fill(401), 429, 429]);
    expect(accessTokens.asked.at(-1)).toBe('guess braked');
    expect((await post('ada')).status).toBe(200);
  });
});

describe('an address without TLS', () => {
  const refused = (http: Partial<typeof DEFAULTS.http>, more: Partial<GatewayOAuth> = {}) => {
    const auth = createAuthenticator([], { accessTokens: source({}) });
    return stage({}, { auth, http: { ...oauth(more), ...http } }).then(
      () => 'started',
      (error: Error) => error.message,
    );
  };

  test.each([
    [{ host: '0.0.0.0' }, {}, /OAuth on "0.0.0.0" needs TLS/],
    [{ host: '0.0.0.0' }, { url: 'http://127.0.0.1:3095' }, /needs TLS/],
    [{ hosts: ['gw.example'] }, {}, /"http.hosts" has "gw.example"/],
    [{ trustProxy: true }, {}, /"http.trustProxy" is on, but "http.auth.oauth.url" does not say/],
    [{ host: '0.0.0.0' }, { url: 'https://gw.example' }, /^started$/],
    [{ hosts: ['gw.example'] }, { url: 'https://gw.example' }, /^started$/],
    [{}, {}, /^started$/],
  ])('%j with %j: %s', async (http, more, expected) => {
    expect(await refused(http, more as Partial<GatewayOAuth>)).toMatch(expected);
  });
});
