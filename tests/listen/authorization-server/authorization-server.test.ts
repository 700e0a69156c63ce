/** The built-in authorization server over HTTP: the way of a client from discovery to a call, and attempts to abuse it. */
import { mkdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectSocket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { until } from '../../setup/until.ts';
import { BOTH, closeAll, connect, rpc, send, token } from '../harness.ts';
import { Browser, listTools, PASSWORD, post, REDIRECT, register, requestOf, serve, signIn, TOKENS } from './browser.ts';

afterEach(closeAll);

describe('the way of a client', () => {
  test('discovery, registration, consent, tokens, a call, renewal, revocation', async () => {
    const { base } = await serve();
    const challenge = String((await send(`${base}/mcp`, { body: {} })).headers['www-authenticate']);
    const [, metadataUrl = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? [];
    const resource = (await (await fetch(metadataUrl)).json()) as any;
    expect(resource).toMatchObject({
      resource: `${base}/mcp`,
      authorization_servers: [base],
      scopes_supported: ['default'],
    });
    for (const name of ['oauth-authorization-server', 'openid-configuration']) {
      const metadata = await (await fetch(`${base}/.well-known/${name}`)).json();
      expect(metadata).toMatchObject({
        issuer: base,
        token_endpoint: `${base}/token`,
        code_challenge_methods_supported: ['S256'],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
        token_endpoint_auth_methods_supported: ['none'],
      });
    }
    const { tokens, clientId } = await signIn({ base }, { scope: 'default' });
    expect(tokens).toMatchObject({ token_type: 'Bearer', scope: 'default', expires_in: 3600 });
    expect(await listTools(base, tokens.access_token)).toBe(200);
    const again = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh_token };
    const renewed = await post(base, '/token', again);
    expect(renewed).toMatchObject({ status: 200, body: { scope: 'default' } });
    expect(await listTools(base, renewed.body.access_token)).toBe(200);
    await post(base, '/revoke', { token: renewed.body.refresh_token, client_id: clientId });
    expect(await listTools(base, renewed.body.access_token)).toBe(401);
    expect(await listTools(base, tokens.access_token)).toBe(401);
  });

  test('the response to the client has the code, its state and the issuer; the page leads on without a redirect', async () => {
    const { base } = await serve();
    const { url } = requestOf(base, await register(base));
    const browser = new Browser();
    const done = await browser.answer(base, await browser.open(url), { secret: PASSWORD });
    expect(done.status).toBe(200);
    expect(`${done.onward?.origin}${done.onward?.pathname}`).toBe(REDIRECT);
    expect(Object.fromEntries(done.onward?.searchParams ?? [])).toEqual({
      code: expect.stringMatching(/^mcpx_code_/),
      state: 'the state',
      iss: base,
    });
    expect(done.html).toContain('Continue');
  });

  test('a denial tells the client, and the page is used up', async () => {
    const { base } = await serve();
    const { url } = requestOf(base, await register(base));
    const browser = new Browser();
    const page = await browser.open(url);
    const denied = await browser.answer(base, page, { decision: 'deny' });
    expect(Object.fromEntries(denied.onward?.searchParams ?? [])).toEqual({
      error: 'access_denied',
      state: 'the state',
      iss: base,
    });
    const later = await browser.answer(base, page, { secret: PASSWORD });
    expect([later.status, later.onward]).toEqual([400, undefined]);
  });

  test('a client with a metadata document needs no registration', async () => {
    const clientId = 'https://app.example/client.json';
    const document = { client_id: clientId, client_name: 'Documented', redirect_uris: [REDIRECT] };
    const { base } = await serve({ fetchDocument: async () => ({ status: 200, text: JSON.stringify(document) }) });
    const { url } = requestOf(base, clientId);
    expect((await new Browser().open(url)).html).toContain('The client is described by app.example.');
    const { tokens } = await signIn({ base }, { clientId });
    expect(await listTools(base, tokens.access_token)).toBe(200);
  });

  test('clients, codes and tokens survive a restart, and another process with the same files accepts them', async () => {
    const first = await serve();
    const other = await serve({ file: first.file });
    const { tokens, clientId } = await signIn(first);
    expect(await listTools(other.base, tokens.access_token)).toBe(200);
    const renewed = await post(other.base, '/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    });
    expect(renewed.status).toBe(200);
    await closeAll();
    const { base } = await serve({ file: first.file });
    expect(await listTools(base, renewed.body.access_token)).toBe(200);
    expect((await new Browser().open(requestOf(base, clientId).url)).status).toBe(200);
  });

  test('the page is in the language of the browser', async () => {
    const { base } = await serve();
    const { url } = requestOf(base, await register(base));
    const titles = async (language: string) => /<h1>(.*)<\/h1>/.exec((await new Browser(language).open(url)).html)?.[1];
    expect(await titles('zh-CN,zh;q=0.9,en;q=0.8')).toBe('允许访问你的 MCP 服务器吗？');
    expect(await titles('de,en;q=0.5,zh;q=0.7')).toBe('允许访问你的 MCP 服务器吗？');
    expect(await titles('zh;q=0,fr')).toBe('Allow access to your MCP servers?');
    expect(await titles('')).toBe('Allow access to your MCP servers?');
  });
});

describe('rights', () => {
  test('a token of one profile cannot see another one', async () => {
    const { base } = await serve();
    const { tokens } = await signIn({ base }, { scope: 'default' });
    expect(await listTools(base, tokens.access_token, '/mcp/default')).toBe(200);
    expect(await listTools(base, tokens.access_token, '/mcp/other')).toBe(404);
    expect(await listTools(base, tokens.access_token, '/mcp/missing')).toBe(404);
  });

  test('the resource of a profile limits the grant to it, also if the client asks for more', async () => {
    const { base } = await serve();
    const { tokens } = await signIn({ base }, { scope: 'default other', resource: `${base}/mcp/other` });
    expect(tokens.scope).toBe('other');
    expect(await listTools(base, tokens.access_token, '/mcp/default')).toBe(404);
  });

  test('the token that the user enters limits the grant; unknown scopes do nothing', async () => {
    const { base } = await serve();
    const { tokens } = await signIn({ base }, { secret: 'token-of-ci', scope: 'default other missing offline_access' });
    expect(tokens.scope).toBe('default');
    const none = await signIn({ base }, { secret: 'token-of-ci', scope: 'other' });
    expect(none.tokens).toMatchObject({ error: 'invalid_request' });
  });

  test('a profile that the token may not use looks like one that does not exist', async () => {
    const { base } = await serve();
    const id = await register(base);
    const pages = ['other', 'missing'].map(async (scope) => {
      const browser = new Browser();
      const done = await browser.answer(base, await browser.open(requestOf(base, id, { scope }).url), {
        secret: 'token-of-ci',
      });
      return [done.status, /role="alert">(.*)<\/p>/.exec(done.html)?.[1]];
    });
    expect(await Promise.all(pages)).toEqual(Array(2).fill([403, 'This token may use none of these profiles.']));
  });

  test('a grant of an admin token is no admin', async () => {
    const { base } = await serve();
    const { tokens } = await signIn({ base }, { secret: 'token-of-ops' });
    const headers = { authorization: `Bearer ${tokens.access_token}` };
    expect((await send(`${base}/api/reload`, { method: 'POST', headers })).status).toBe(403);
  });

  test('tokens of the config keep working, and other bearer tokens do not', async () => {
    const { base } = await serve();
    expect(await listTools(base, 'token-of-ci')).toBe(200);
    for (const wrong of ['mcpx_at_', `mcpx_at_${'a'.repeat(43)}`, PASSWORD.replaceAll(' ', ''), 'x'])
      expect(await listTools(base, wrong)).toBe(401);
  });

  test('if the token of the config is removed, changed or narrowed, its grants follow at once', async () => {
    const { base, configure } = await serve();
    const { tokens } = await signIn({ base }, { secret: 'token-of-ops', scope: 'default other' });
    const ops = (secret: string, more = {}) => [token('ops', secret, more)];
    configure({ tokens: ops('token-of-ops', { profiles: ['other'] }) });
    expect(await listTools(base, tokens.access_token, '/mcp/default')).toBe(404);
    expect(await listTools(base, tokens.access_token, '/mcp/other')).toBe(200);
    configure({ tokens: ops('another secret of ops') });
    expect(await listTools(base, tokens.access_token, '/mcp/other')).toBe(401);
    configure({ tokens: [token('other', 'token-of-ops')] });
    expect(await listTools(base, tokens.access_token, '/mcp/other')).toBe(401);
    configure({ tokens: TOKENS });
    expect(await listTools(base, tokens.access_token, '/mcp/other')).toBe(200);
  });

  test('a session stays over a renewal, and ends with the grant, also if another process ends it', async () => {
    const served = await serve();
    const { base } = served;
    const { tokens, clientId } = await signIn(served);
    const client = await connect(`${base}/mcp`, { headers: { authorization: `Bearer ${tokens.access_token}` } });
    const renewed = await post(base, '/token', {
      grant_type: 'refresh_token',
      client_id: clientId,
      refresh_token: tokens.refresh_token,
    });
    const authorization = `Bearer ${renewed.body.access_token}`;
    expect((await client.post({ jsonrpc: '2.0', id: 2, method: 'ping' }, { authorization })).status).toBe(200);
    const stream = await client.get({ authorization });
    const other = await serve({ file: served.file });
    await post(other.base, '/revoke', { token: renewed.body.access_token, client_id: clientId });
    await until(() => served.open.size === 0);
    expect(await stream.next()).toBeUndefined();
  });
});

describe('a request that must not reach the redirect URI', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['an unknown client', { client_id: 'nobody' }, 'not registered here'],
    ['no client', { client_id: null }, 'client_id&#34; is missing'],
    ['a foreign redirect URI', { redirect_uri: 'https://evil.example/cb' }, 'not one of this client'],
    ['a longer redirect URI', { redirect_uri: `${REDIRECT}/../x` }, 'not one of this client'],
    [
      'a redirect URI with a user',
      { redirect_uri: 'http://127.0.0.1:7777@evil.example/callback' },
      'not one of this client',
    ],
    ['a redirect URI that runs', { redirect_uri: 'javascript:alert(1)' }, 'not one of this client'],
    ['a document in a private network', { client_id: 'https://10.0.0.1/client.json' }, 'cannot be fetched'],
    ['a document without TLS', { client_id: 'http://app.example/client.json' }, 'must be an https URL'],
  ])('%s gets a page', async (_, wrong, message) => {
    const fetchDocument = () => Promise.reject(new Error('refused'));
    const { base } = await serve({ fetchDocument });
    const { url } = requestOf(base, await register(base), wrong);
    const page = await new Browser().open(url);
    expect([page.status, page.onward]).toEqual([400, undefined]);
    expect(page.html).toContain(message);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  });

  test('a parameter that occurs twice gets a page', async () => {
    const { base } = await serve();
    const { url } = requestOf(base, await register(base));
    url.searchParams.append('redirect_uri', 'https://evil.example/');
    expect(await new Browser().open(url)).toMatchObject({ status: 400, onward: undefined });
  });
});

describe('a request that is refused at the redirect URI', () => {
  test.each<[string, Record<string, string | null>, string]>([
    ['no challenge', { code_challenge: null }, 'invalid_request'],
    ['the method plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no method, which means plain', { code_challenge_method: null }, 'invalid_request'],
    ['a short challenge', { code_challenge: 'abc' }, 'invalid_request'],
    ['the response type token', { response_type: 'token' }, 'unsupported_response_type'],
    ['no response type', { response_type: null }, 'invalid_request'],
    ['the response mode fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['a resource of another host', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['a resource that is no endpoint', { resource: 'BASE/api/status' }, 'invalid_target'],
    ['a resource with a query', { resource: 'BASE/mcp?x=1' }, 'invalid_target'],
    ['a request object', { request: 'x.y.z' }, 'request_not_supported'],
    ['a request URI', { request_uri: 'https://app.example/r' }, 'request_uri_not_supported'],
    ['prompt=none', { prompt: 'none' }, 'login_required'],
    ['a malformed scope', { scope: 'a"b' }, 'invalid_scope'],
  ])('%s', async (_, wrong, error) => {
    const { base } = await serve();
    const resource = wrong.resource?.replace('BASE', base);
    const { url } = requestOf(base, await register(base), { ...wrong, ...(resource && { resource }) });
    const page = await new Browser().open(url);
    expect(page.status).toBe(302);
    expect(page.onward?.href.startsWith(`${REDIRECT}?`)).toBe(true);
    expect(Object.fromEntries(page.onward?.searchParams ?? [])).toMatchObject({ error, state: 'the state', iss: base });
  });
});

test.each(['https://evil.example/cb', 'evil-app://cb'])(
  'a refused request does not lead the browser to %s by itself: anybody can register that',
  async (redirect) => {
    const { base } = await serve();
    const id = await register(base, { redirect_uris: [redirect] });
    const { url } = requestOf(base, id, { redirect_uri: redirect, response_type: 'token' });
    const page = await new Browser('zh-CN').open(url);
    expect([page.status, page.onward, page.headers.get('location')]).toEqual([400, undefined, null]);
    const [, link = ''] = /<a href="([^"]*)">/.exec(page.html) ?? [];
    const to = new URL(link.replaceAll('&#38;', '&'));
    expect(to.href.startsWith(`${redirect}?`)).toBe(true);
    expect(Object.fromEntries(to.searchParams)).toMatchObject({
      ...{ error: 'unsupported_response_type', state: 'the state', iss: base },
    });
    expect(page.html).toContain('请求无效');
  },
);

describe('the consent page', () => {
  test('cannot be framed, has no script, and sends its form only here', async () => {
    const { base } = await serve();
    const { html, headers } = await new Browser().open(requestOf(base, await register(base)).url);
    const policy = String(headers.get('content-security-policy'));
    for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'", "base-uri 'none'"])
      expect(policy).toContain(rule);
    expect(policy).not.toContain('script-src');
    expect(headers.get('x-frame-options')).toBe('DENY');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(headers.get('set-cookie')).toMatch(/^mcpx-consent=[\w-]{22}; Max-Age=600; HttpOnly; SameSite=Lax$/);
    expect(html).not.toMatch(/<script|\son\w+=/i);
  });

  test.each([
    '"><img src=x onerror=alert(1)>',
    "<script>alert('x')</script>",
    '</b><a href="https://evil.example">mcpx</a>',
    '\u202egnp.exe\u0000',
  ])('shows the name %j as text', async (name) => {
    const { base } = await serve();
    const { html } = await new Browser().open(requestOf(base, await register(base, { client_name: name })).url);
    expect(html).toContain('asks for access to this mcpx gateway');
    expect(html).not.toMatch(/<script|<img|<a /);
    expect(html).not.toMatch(/[\u202e\0]/);
  });

  test('shows scopes and redirect hosts of clients as text', async () => {
    const { base } = await serve();
    const evil = { scope: "<svg/onload='x'> %3Cimg%3E" };
    const { html } = await new Browser().open(requestOf(base, await register(base), evil).url);
    expect(html).not.toMatch(/<svg|<img/);
    expect(html).toContain('127.0.0.1:7777');
  });

  test.each<[string, (form: string) => string]>([
    ['changed', (form) => `${form.slice(0, 20)}${form[20] === 'A' ? 'B' : 'A'}${form.slice(21)}`],
    ['without its signature', (form) => form.split('.')[0] ?? ''],
    ['empty', () => ''],
    ['without a payload', () => '.'],
    ['of another key', () => `${Buffer.from('{}').toString('base64url')}.${'A'.repeat(43)}`],
  ])('is refused with a form that is %s', async (_, change) => {
    const { base } = await serve();
    const browser = new Browser();
    const page = await browser.open(requestOf(base, await register(base)).url);
    const [, form = ''] = /name="form" value="([^"]*)"/.exec(page.html) ?? [];
    const done = await browser.answer(base, page, { secret: PASSWORD, form: change(form) });
    expect(done).toMatchObject({ status: 400, onward: undefined });
  });

  test('is refused in another browser, after ten minutes, a second time, and from another origin', async () => {
    const { base, clock } = await serve();
    const { url } = requestOf(base, await register(base));
    const browser = new Browser();
    const page = await browser.open(url);
    expect((await new Browser().answer(base, page, { secret: PASSWORD })).status).toBe(400);
    for (const origin of ['https://evil.example', 'null'])
      expect((await browser.answer(base, page, { secret: PASSWORD }, { origin })).status).toBe(403);
    clock.now += 600_000;
    expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(400);
    clock.now -= 1_200_001;
    expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(400);
    clock.now += 600_001;
    expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(200);
    expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(400);
  });

  test('two pages that are open in one browser both work', async () => {
    const { base } = await serve();
    const browser = new Browser();
    const pages = [
      await browser.open(requestOf(base, await register(base)).url),
      await browser.open(requestOf(base, await register(base)).url),
    ];
    for (const page of pages) expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(200);
  });

  test('a wrong password can be corrected; after 20 attempts a minute even the right one has to wait', async () => {
    const { base, logged } = await serve();
    const browser = new Browser();
    const page = await browser.open(requestOf(base, await register(base)).url);
    const wrong = await browser.answer(base, page, { secret: 'a wrong password' });
    expect([wrong.status, wrong.onward]).toEqual([403, undefined]);
    expect(wrong.html).toContain('neither a token nor the password');
    expect(wrong.html).not.toContain('a wrong password');
    for (let i = 0; i < 19; i++) await browser.answer(base, wrong, { secret: `guess ${i}` });
    const braked = await browser.answer(base, wrong, { secret: PASSWORD });
    expect([braked.status, braked.onward]).toEqual([429, undefined]);
    expect(Number(braked.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(logged.join('\n')).toContain('a wrong token or password was entered');
    expect(logged.join('\n')).not.toContain('a wrong password');
  });

  test('an empty secret and the hash of a token are wrong', async () => {
    const { base } = await serve({ settings: { password: undefined } });
    const browser = new Browser();
    const page = await browser.open(requestOf(base, await register(base)).url);
    for (const secret of ['', ' ', 'undefined', 'null', PASSWORD])
      expect((await browser.answer(base, page, { secret })).status).toBe(403);
  });
});

describe('codes and tokens in wrong hands', () => {
  test('a code that is used twice ends the tokens of its first use', async () => {
    const { base } = await serve();
    const { tokens, exchange } = await signIn({ base });
    expect(await post(base, '/token', exchange)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
    expect(await listTools(base, tokens.access_token)).toBe(401);
  });

  test.each<[string, Record<string, string>, string]>([
    ['another client', { client_id: 'OTHER' }, 'invalid_grant'],
    ['another redirect URI', { redirect_uri: 'http://127.0.0.1:7777/other' }, 'invalid_grant'],
    ['a wrong verifier', { code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ['no verifier', { code_verifier: '' }, 'invalid_request'],
    ['another resource', { resource: 'BASE/mcp/other' }, 'invalid_target'],
    ['a foreign resource', { resource: 'https://evil.example/mcp' }, 'invalid_target'],
    ['a wrong code', { code: 'mcpx_code_x' }, 'invalid_grant'],
    ['no client', { client_id: '' }, 'invalid_request'],
    ['another grant type', { grant_type: 'password' }, 'unsupported_grant_type'],
    ['no grant type', { grant_type: '' }, 'invalid_request'],
  ])('a code with %s is refused', async (_, wrong, error) => {
    const { base } = await serve();
    const id = await register(base);
    const { url, verifier } = requestOf(base, id);
    const browser = new Browser();
    const done = await browser.answer(base, await browser.open(url), { secret: PASSWORD });
    const code = done.onward?.searchParams.get('code') ?? '';
    const right = {
      grant_type: 'authorization_code',
      client_id: id,
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT,
    };
    const sent = Object.fromEntries(Object.entries(wrong).map(([name, value]) => [name, value.replace('BASE', base)]));
    if (wrong.client_id === 'OTHER') sent.client_id = await register(base);
    expect(await post(base, '/token', { ...right, ...sent })).toMatchObject({ status: 400, body: { error } });
    expect((await post(base, '/token', right)).status).toBe(200);
  });

  test('a refresh token of another client is refused, and more scopes are refused', async () => {
    const { base } = await serve();
    const { tokens, clientId } = await signIn({ base }, { scope: 'default' });
    const renew = (more: Record<string, string>) =>
      post(base, '/token', {
        grant_type: 'refresh_token',
        client_id: clientId,
        refresh_token: tokens.refresh_token,
        ...more,
      });
    expect((await renew({ client_id: await register(base) })).body.error).toBe('invalid_grant');
    expect((await renew({ scope: 'default other' })).body.error).toBe('invalid_scope');
    expect((await renew({ refresh_token: tokens.access_token })).body.error).toBe('invalid_grant');
    expect((await renew({})).status).toBe(200);
  });

  test('a code in the address of another issuer is not accepted there (mix-up)', async () => {
    const [one, other] = [await serve(), await serve()];
    const { exchange } = await signIn(one);
    expect((await post(other.base, '/token', exchange)).body.error).toBe('invalid_grant');
  });

  test('only the client revokes its tokens; unknown tokens are no error', async () => {
    const { base } = await serve();
    const { tokens, clientId } = await signIn({ base });
    const revoke = (fields: Record<string, string>) => post(base, '/revoke', fields);
    expect((await revoke({ token: tokens.access_token, client_id: 'other' })).status).toBe(200);
    expect((await revoke({ token: 'unknown', client_id: clientId })).status).toBe(200);
    expect((await revoke({ token: tokens.access_token })).status).toBe(400);
    expect(await listTools(base, tokens.access_token)).toBe(200);
  });
});

describe('bodies', () => {
  test.each<[string, string, string, string, number]>([
    ['/register', 'application/json', 'x', 'not JSON', 400],
    ['/register', 'application/json', '[]', 'an array', 400],
    ['/register', 'application/json', `${'['.repeat(8000)}${']'.repeat(8000)}`, 'a deep array', 400],
    ['/register', 'application/json', JSON.stringify({ redirect_uris: ['x'.repeat(20_000)] }), 'a large body', 413],
    ['/register', 'application/json', '{"__proto__":{"redirect_uris":["https://a.example/"]}}', 'a prototype', 400],
    ['/register', 'text/plain', '{}', 'plain text', 415],
    ['/token', 'application/json', '{}', 'JSON', 415],
    ['/token', 'application/x-www-form-urlencoded', `a=${'x'.repeat(20_000)}`, 'a large body', 413],
    ['/token', 'application/x-www-form-urlencoded', 'grant_type=a&grant_type=b', 'a parameter twice', 400],
    ['/token', 'application/x-www-form-urlencoded', '%%%=&&&', 'nonsense', 400],
    ['/revoke', 'application/x-www-form-urlencoded', '', 'an empty body', 400],
  ])('%s refuses %s: %.20s (%s)', async (path, type, body, _, status) => {
    const { base } = await serve();
    const response = await send(`${base}${path}`, { body, headers: { 'content-type': type } });
    expect(response.status).toBe(status);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(await response.json()).toMatchObject({ error: expect.any(String), error_description: expect.any(String) });
  });

  test('a body that does not arrive holds nobody up', async () => {
    const { base } = await serve();
    const { hostname, port } = new URL(base);
    const socket = connectSocket(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.write(
      'POST /register HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{',
    );
    expect(await register(base)).toMatch(/^mcpx-/);
    socket.destroy();
  });
});

describe('addresses', () => {
  const PUBLIC = 'https://mcp.example.com';
  const http = { trustProxy: true };

  test('behind a proxy the public URL is the issuer, cookies are secure, and the forwarded Host is accepted', async () => {
    const { base } = await serve({ oauth: { url: PUBLIC }, http });
    const headers = { 'x-forwarded-host': 'mcp.example.com', 'x-forwarded-for': '203.0.113.7' };
    const metadata = await (
      await send(`${base}/.well-known/oauth-authorization-server`, { method: 'GET', headers })
    ).json();
    expect(metadata).toMatchObject({ issuer: PUBLIC, authorization_endpoint: `${PUBLIC}/authorize` });
    const { url } = requestOf(base, await register(base), { resource: `${PUBLIC}/mcp` });
    const page = await send(url.href, { method: 'GET', headers });
    expect([page.status, String(page.headers['set-cookie'])]).toEqual([200, expect.stringContaining('; Secure')]);
  });

  test.each(['oauth-authorization-server', 'openid-configuration'])(
    'below a path of a host, the path is after the well-known name of %s',
    async (name) => {
      const { base } = await serve({ oauth: { url: `${PUBLIC}/gw` }, http });
      const get = async (path: string) => send(`${base}/.well-known/${name}${path}`, { method: 'GET' });
      for (const path of ['/gw', '']) expect(await (await get(path)).json()).toMatchObject({ issuer: `${PUBLIC}/gw` });
      for (const path of ['/gw/mcp', '/other', '/gwen']) expect((await get(path)).status).toBe(404);
    },
  );

  test('a public gateway contacts no document on this machine', async () => {
    const asked: string[] = [];
    const fetchDocument = async (url: string) => {
      asked.push(url);
      return { status: 200, text: '{}' };
    };
    const { base } = await serve({ oauth: { url: PUBLIC }, http, fetchDocument });
    for (const id of ['http://127.0.0.1:1/c', 'http://localhost/c', 'http://[::1]/c', 'http://169.254.169.254/c']) {
      const page = await new Browser().open(requestOf(base, id).url);
      expect(page.status).toBe(400);
    }
    expect(asked).toEqual([]);
  });

  test('web pages of any origin may use the endpoints without cookies, but not the consent page', async () => {
    const { base } = await serve();
    const headers = { origin: 'https://app.example' };
    const metadata = await fetch(`${base}/.well-known/oauth-authorization-server`, { headers });
    expect(metadata.headers.get('access-control-allow-origin')).toBe('*');
    expect(metadata.headers.get('access-control-allow-credentials')).toBeNull();
    const page = await fetch(requestOf(base, await register(base)).url, { headers });
    expect(page.status).toBe(403);
    expect(page.headers.get('access-control-allow-origin')).toBeNull();
  });

  test('without the built-in mode there is none of this', async () => {
    const { base } = await serve({ oauth: { mode: 'off' } });
    expect((await fetch(`${base}/.well-known/oauth-authorization-server`)).status).toBe(404);
    expect((await fetch(`${base}/authorize`)).status).toBe(400);
  });
});

test('several clients of one user share the limits of the token that the user entered; the token itself counts too', async () => {
  const { base } = await serve({ http: { sessionsPerToken: 2 } });
  const entered = { secret: 'token-of-ci' };
  const [one, other, stranger] = [
    await signIn({ base }, entered),
    await signIn({ base }, entered),
    await signIn({ base }),
  ];
  const bearers = [one, other, one, stranger].map(({ tokens }) => tokens.access_token);
  const begin = (bearer: string) =>
    send(`${base}/mcp`, { body: rpc('initialize', {}), headers: { ...BOTH, authorization: `Bearer ${bearer}` } });
  const statuses: number[] = [];
  for (const bearer of [...bearers.slice(0, 3), 'token-of-ci', ...bearers.slice(3)])
    statuses.push((await begin(bearer)).status);
  expect(statuses).toEqual([200, 200, 429, 429, 200]);
});

describe('the store', () => {
  test('no token, code or password is in the file, in log lines or in events', async () => {
    const served = await serve();
    const { tokens, code } = await signIn(served);
    const text = [readFileSync(served.file, 'utf8'), ...served.logged, JSON.stringify(served.happenings)].join('\n');
    expect(text).toContain('lets the OAuth client');
    for (const secret of [tokens.access_token, tokens.refresh_token, code, PASSWORD, 'token-of-ci'])
      expect(text).not.toContain(secret);
    expect(served.happenings).toContainEqual(expect.objectContaining({ type: 'admin', action: 'grant', ok: true }));
  });

  test('a store that cannot be written is reported to the user and to the client, and nothing is lost', async () => {
    const served = await serve();
    const { base, file } = served;
    const { tokens, clientId } = await signIn(served);
    const renewal = { grant_type: 'refresh_token', client_id: clientId, refresh_token: tokens.refresh_token };
    const lock = `${file}.lock`;
    // A folder in place of the lock: nobody can take it.
    mkdirSync(lock);
    const browser = new Browser();
    const page = await browser.open(requestOf(base, clientId).url);
    const done = await browser.answer(base, page, { secret: PASSWORD });
    expect([done.status, done.onward]).toEqual([503, undefined]);
    expect(done.html).toContain('cannot store the permission');
    expect(await post(base, '/token', renewal)).toMatchObject({
      status: 503,
      body: { error: 'temporarily_unavailable' },
    });
    expect(await listTools(base, tokens.access_token)).toBe(200);
    expect(served.logged.join('\n')).toContain('cannot be stored');
    rmdirSync(lock);
    expect((await post(base, '/token', renewal)).status).toBe(200);
    expect((await browser.answer(base, page, { secret: PASSWORD })).status).toBe(200);
  });

  test('a damaged store signs clients out, with a warning, and a file that cannot be read is a failure of the gateway', async () => {
    const served = await serve();
    const { base, file } = served;
    const { tokens } = await signIn(served);
    const text = readFileSync(file, 'utf8');
    rmSync(file);
    mkdirSync(file);
    expect(await listTools(base, tokens.access_token)).toBe(503);
    rmdirSync(file);
    writeFileSync(file, text.slice(0, -20), { mode: 0o600 });
    expect(await listTools(base, tokens.access_token)).toBe(401);
    expect(served.logged.join('\n')).toContain('Clients of the gateway have to sign in again');
    const again = await signIn(served);
    expect(await listTools(base, again.tokens.access_token)).toBe(200);
  });
});
