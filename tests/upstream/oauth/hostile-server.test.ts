/** Authorization servers that send wrong pages, forget clients, never end a sign-in, and send or quote what nobody should see. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createOAuth, type OAuth } from '../../../src/upstream/oauth/oauth.ts';
import type { SignIn } from '../../../src/upstream/oauth/token-file.ts';
import {
  authorizationServer,
  browse,
  json,
  type ProtectedWorld,
  protectedWorld,
  type WorldOptions,
} from '../oauth-world.ts';

function store() {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-oauth-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'tokens.json');
  const warned: string[] = [];
  const log = { warn: (line: string) => void warned.push(line), debug: () => undefined };
  return { file, warned, open: () => createOAuth({ file, log }) };
}

const serverAt = (url: string) => ({ name: 'docs', url, headers: {}, oauth: {} });

async function signIn(oauth: OAuth, { url }: ProtectedWorld): Promise<SignIn> {
  const pending = await oauth.signInOf(serverAt(url)).beginSignIn();
  await browse(pending.url);
  return pending.done;
}

/** Makes all stored tokens look expired. */
function expire(file: string): void {
  const content = JSON.parse(readFileSync(file, 'utf8')) as { signIns: SignIn[] };
  for (const { tokens } of content.signIns) if (tokens !== undefined) tokens.expiresAt = 1;
  writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
}

const signal = () => new AbortController().signal;

/** An authorization server that replaces values of its metadata. */
function claiming(more: Record<string, unknown>): WorldOptions {
  return {
    intercept({ url, headers }, response) {
      if (!url?.startsWith('/.well-known/')) return false;
      const issuer = `http://${headers.host}`;
      const endpoints = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
      const device = { registration_endpoint: `${issuer}/reg`, device_authorization_endpoint: `${issuer}/device` };
      json(response, 200, { issuer, ...endpoints, ...device, code_challenge_methods_supported: ['S256'], ...more });
      return true;
    },
  };
}

/** An authorization server with these answers by path; `undefined` leaves the request to the real one. */
function answering(answers: Record<string, (() => [number, unknown]) | undefined>): WorldOptions {
  const { intercept } = claiming({});
  return {
    async intercept(request: IncomingMessage, response: ServerResponse) {
      const answer = answers[request.url ?? ''];
      if (answer === undefined) return (await intercept?.(request, response)) ?? false;
      json(response, ...answer());
      return true;
    },
  };
}

const PAGES = [
  ['javascript:alert(1)//', '"javascript:", not https'],
  ['file:///etc/passwd', '"file:", not https'],
  ['ms-settings:network', '"ms-settings:", not https'],
  ['http://sign-in.example/authorize', '"http://sign-in.example", not https'],
  ['https://ada:secret@sign-in.example/', 'a URL with a password'],
  ['https://10.0.0.1/authorize', '"10.0.0.1", an address of a private network'],
] as const;

describe('a page that the user must not be sent to', () => {
  test.each(PAGES)('the authorization endpoint %s: nothing is registered and no page is named', async (page, what) => {
    const world = await protectedWorld(claiming({ authorization_endpoint: page }));
    const begun = store().open().signInOf(serverAt(world.url)).beginSignIn();
    await expect(begun).rejects.toMatchObject({ code: 'auth', message: expect.stringContaining(`leads to ${what}`) });
    expect(world.asked).not.toContain('POST /reg');
  });

  test.each(PAGES)('the page for the code of a device %s', async (page, what) => {
    const device = { device_code: 'd', user_code: 'ABCD', verification_uri: page, expires_in: 60 };
    const world = await protectedWorld(answering({ '/device': () => [200, device] }));
    const begun = store().open().signInOf(serverAt(world.url)).beginDeviceSignIn(signal());
    await expect(begun).rejects.toMatchObject({ code: 'auth', message: expect.stringContaining(`leads to ${what}`) });
    expect(world.asked).not.toContain('POST /token');
  });
});

describe('a sign-in on another device', () => {
  const device = { device_code: 'd', verification_uri: 'https://device.example/', expires_in: 1, interval: 0.001 };
  const pending = () => [400, { error: 'authorization_pending' }] as [number, unknown];

  test('ends with the life of the code, and does not ask without a pause', async () => {
    const answers = {
      '/device': () => [200, { ...device, user_code: 'ABCD' }] as [number, unknown],
      '/token': pending,
    };
    const world = await protectedWorld(answering(answers));
    const { done } = await store().open().signInOf(serverAt(world.url)).beginDeviceSignIn(signal());
    await expect(done).rejects.toMatchObject({ message: 'server "docs" was not signed in to in time' });
    expect(world.asked.filter((line) => line === 'POST /token').length).toBeLessThan(3);
  });

  test('shows a code without the control characters of terminals', async () => {
    const code = 'AB\u001b[31mCD\u001b]0;title\u0007\nerror: no';
    const answers = { '/device': () => [200, { ...device, user_code: code }] as [number, unknown], '/token': pending };
    const world = await protectedWorld(answering(answers));
    const stop = new AbortController();
    const begun = await store().open().signInOf(serverAt(world.url)).beginDeviceSignIn(stop.signal);
    stop.abort();
    await expect(begun.done).rejects.toThrow();
    expect(begun.code).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('an authorization server that has forgotten its clients', () => {
  async function forgetful() {
    const world = await protectedWorld();
    const { open, file } = store();
    const first = await signIn(open(), world);
    // Its storage, which the types of the package do not name.
    const { adapter } = world.provider.Client as unknown as { adapter: { destroy(id: string): Promise<void> } };
    await adapter.destroy(first.client.id);
    expect(await world.provider.Client.find(first.client.id)).toBeUndefined();
    return { world, open, file, first };
  }

  test('and refuses a renewal: the next sign-in registers again', async () => {
    const { world, open, file, first } = await forgetful();
    expire(file);
    const headers = async () => open().authorization(serverAt(world.url)).headers();
    await expect(headers()).rejects.toMatchObject({ message: expect.stringContaining('invalid_client') });
    const second = await signIn(open(), world);
    expect(second.client.id).not.toBe(first.client.id);
    expect(open().tokens.all()).toEqual([second]);
  });

  test('and shows an error to the user: the sign-in after that one registers again', async () => {
    const { world, open, first } = await forgetful();
    const stuck = await open().signInOf(serverAt(world.url)).beginSignIn();
    expect(await browse(stuck.url)).toContain('invalid_client');
    stuck.cancel();
    await expect(stuck.done).rejects.toThrow('cancelled');
    // The tokens stay in use until another sign-in ends.
    expect(open().tokens.all()[0]?.tokens).toEqual(first.tokens);
    const second = await signIn(open(), world);
    expect(second.client.id).not.toBe(first.client.id);
    expect(open().tokens.all()).toEqual([second]);
  });
});

test('a server without OAuth is named as such, and the hint is not to sign in', async () => {
  const server = createServer((request, response) => response.writeHead(request.url === '/mcp' ? 401 : 404).end());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const begun = store()
    .open()
    .signInOf(serverAt(`http://127.0.0.1:${port}/mcp`))
    .beginSignIn();
  await expect(begun).rejects.toMatchObject({
    message: 'server "docs" has no OAuth: it names no authorization server',
    hint: expect.stringContaining('"headers" of server "docs"'),
  });
});

test.each(['scopes_supported', 'token_endpoint_auth_methods_supported', 'grant_types_supported'])(
  'metadata whose "%s" is no list of texts is read without it',
  async (key) => {
    for (const value of [7, 'none', { a: 1 }, [null]]) {
      const world = await protectedWorld(claiming({ [key]: value }));
      const pending = await store().open().signInOf(serverAt(world.url)).beginSignIn();
      expect(pending.url).toContain('code_challenge_method=S256');
      pending.cancel();
    }
  },
);

describe('metadata that cannot be read is named with the reason', () => {
  const REASONS: [string, (response: ServerResponse) => unknown, string][] = [
    ['missing', (response) => response.writeHead(404).end(), 'answers with HTTP 404'],
    ['a redirect', (response) => response.writeHead(302, { location: '/x' }).end(), 'redirects, which is not followed'],
    ['HTML', (response) => response.writeHead(200).end('<p>'), 'is not JSON'],
    ['a list', (response) => response.writeHead(200).end('[1]'), 'is not a JSON object'],
    ['huge', (response) => response.writeHead(200).end(' '.repeat(300_000)), 'server of "docs" sent over 256 KiB'],
  ];
  test.each(REASONS)('%s', async (_, answer, reason) => {
    const world = await protectedWorld({
      intercept({ url }, response) {
        if (!url?.startsWith('/.well-known/')) return false;
        answer(response);
        return true;
      },
    });
    await expect(store().open().signInOf(serverAt(world.url)).beginSignIn()).rejects.toThrow(reason);
  });
});

test('a server that names another authorization server does not get the secret of its client there', async () => {
  const client = { client_id: 'robot', client_secret: 'a-secret-of-the-robot', grant_types: ['client_credentials'] };
  const more = { redirect_uris: [], response_types: [], token_endpoint_auth_method: 'client_secret_basic' as const };
  const configuration = { clients: [{ ...client, ...more }] };
  let named: string | undefined;
  const world = await protectedWorld({
    configuration,
    metadata: (honest) => ({ ...honest, ...(named !== undefined && { authorization_servers: [named] }) }),
  });
  const other = await authorizationServer(world.url, { configuration });
  const secret = { clientId: 'robot', clientSecret: 'a-secret-of-the-robot' };
  const { file, open } = store();
  const headers = async (oauth: object = {}) => {
    const settings = { grant: 'client_credentials', ...secret, ...oauth };
    return open()
      .authorization({ ...serverAt(world.url), oauth: settings })
      .headers();
  };
  await headers();
  expire(file);
  named = other.issuer;
  const moved = `names another authorization server now: "${other.issuer}" instead of "${world.issuer}"`;
  await expect(headers()).rejects.toMatchObject({ code: 'auth', message: expect.stringContaining(moved) });
  const begun = open()
    .signInOf({ ...serverAt(world.url), oauth: secret })
    .beginSignIn();
  await expect(begun).rejects.toThrow(moved);
  expect(other.asked).not.toContain('POST /token');
  expect(await headers({ issuer: other.issuer })).toHaveProperty('authorization');
});

describe('an answer of the token endpoint', () => {
  /** A signed-in user whose token has expired; the token endpoint gives the answer to the renewal. */
  async function expired(answer: [number, unknown]) {
    let isReal = true;
    const world = await protectedWorld({
      intercept: ({ url }, response) => {
        if (url !== '/token' || isReal) return false;
        json(response, ...answer);
        return true;
      },
    });
    const { open, file, warned } = store();
    await signIn(open(), world);
    expire(file);
    isReal = false;
    const headers = async () => open().authorization(serverAt(world.url)).headers();
    return {
      ...{ warned, headers, tokens: () => open().tokens },
      repair: () => {
        isReal = true;
      },
    };
  }

  test.each([
    ['that no header can hold', { access_token: 'x\r\nhost: evil' }, 'no header can hold'],
    ['of another type', { access_token: 'x', token_type: 'DPoP' }, 'not a Bearer token'],
  ])('with a token %s is refused, and the sign-in stays', async (_, answer, message) => {
    const { headers, repair } = await expired([200, { token_type: 'Bearer', expires_in: 3600, ...answer }]);
    await expect(headers()).rejects.toMatchObject({ message: expect.stringContaining(message) });
    repair();
    expect(await headers()).toHaveProperty('authorization');
  });

  test.each([
    [200, 'bad_refresh_token'],
    [401, 'invalid_refresh_token'],
  ])('with status %i and the error "%s", as large services send it, ends the sign-in once', async (status, error) => {
    const { headers, warned, tokens } = await expired([status, { error, error_description: 'The token is old.' }]);
    for (let attempt = 0; attempt < 3; attempt++) await headers().catch(() => undefined);
    expect(warned).toEqual([expect.stringMatching(new RegExp(`has ended .*${error}.*mcpx login docs`))]);
    expect(tokens().all()).toEqual([expect.objectContaining({ ended: expect.stringContaining(error) })]);
  });

  test('with an expiry after the end of all dates is stored with a date', async () => {
    const { headers, tokens } = await expired([200, { access_token: 'x', token_type: 'Bearer', expires_in: 1e300 }]);
    expect(await headers()).toMatchObject({ authorization: 'Bearer x' });
    expect(() => new Date(tokens().all()[0]?.tokens?.expiresAt ?? 0).toISOString()).not.toThrow();
  });

  test('that quotes the code and the verifier is shown without them', async () => {
    let sent = '';
    const world = await protectedWorld({
      async intercept(request, response) {
        if (request.url !== '/token') return false;
        for await (const chunk of request) sent += chunk;
        json(response, 400, { error: 'invalid_request', error_description: `cannot read ${sent}` });
        return true;
      },
    });
    const error = await signIn(store().open(), world).catch((failure: Error) => failure.message);
    expect(error).toContain('cannot read');
    const parameters = new URLSearchParams(sent);
    for (const name of ['code', 'code_verifier'])
      expect(error).not.toContain(String(parameters.get(name)).slice(0, 12));
  });
});

test('in a folder that cannot be written, no refresh token is spent, and the error names the folder', async () => {
  const world = await protectedWorld();
  const { open, file } = store();
  await signIn(open(), world);
  expire(file);
  world.asked.length = 0;
  // A file in the place of the folder of locks.
  writeFileSync(join(file, '..', 'tokens'), '');
  const refused = expect(open().authorization(serverAt(world.url)).headers()).rejects;
  await refused.toMatchObject({ message: expect.stringMatching(/cannot be renewed, because ".*" cannot be written/) });
  expect(world.asked).toEqual([]);
});

describe('a file of tokens that cannot be read', () => {
  test('leaves servers without a sign-in alone, is reported once, and lists nobody', async () => {
    const { open, file, warned } = store();
    mkdirSync(file);
    const oauth = open();
    expect(await oauth.authorization(serverAt('https://docs.example/mcp')).headers()).toEqual({});
    expect(await oauth.authorization(serverAt('https://more.example/mcp')).headers()).toEqual({});
    expect(warned).toEqual([expect.stringMatching(/cannot be read \(EISDIR\), so nobody is signed in: .*mcpx login/)]);
    expect(() => oauth.tokens.all()).toThrow('cannot be read');
  });
});
