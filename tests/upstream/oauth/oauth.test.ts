/** Sign-in to a protected server: a real authorization server, a real MCP server, and the store of tokens. */
import { generateKeyPairSync } from 'node:crypto';
import { chmodSync, existsSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { createOAuth, type OAuth } from '../../../src/upstream/oauth/oauth.ts';
import type { SignIn } from '../../../src/upstream/oauth/token-file.ts';
import { browse, confirmDevice, json, type ProtectedWorld, protectedWorld, type WorldOptions } from '../oauth-world.ts';

/** A store of tokens in an empty folder; `warned` are its log lines. */
function store() {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-oauth-')), 'tokens.json');
  const warned: string[] = [];
  const log = { warn: (line: string) => void warned.push(line), debug: () => undefined };
  return { file, warned, open: () => createOAuth({ file, log }) };
}

const serverAt = (url: string, oauth: Record<string, unknown> = {}) => ({ name: 'docs', url, headers: {}, oauth });

async function call(url: string, headers: Record<string, unknown>) {
  const body = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'whoami', arguments: {} } };
  return fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...(headers as Record<string, string>),
    },
    body: JSON.stringify(body),
  });
}

test('a sign-in registers a client, stores tokens with mode 0600, and the server accepts them', async () => {
  const world = await protectedWorld();
  const { file, open } = store();
  const oauth = open();
  const pending = await oauth.signInOf(serverAt(world.url)).beginSignIn();
  expect(await browse(pending.url)).toMatch(/^200 .*Signed in/s);
  const signIn = await pending.done;
  expect(signIn).toMatchObject({ issuer: world.issuer, resource: world.url, client: { registered: true } });
  expect(signIn.tokens?.refresh).toBeDefined();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const headers = await open().authorization(serverAt(world.url)).headers();
  const response = await call(world.url, headers);
  expect(await response.text()).toContain('signed in as ada');
});

/** Signs in as a user with a browser does. */
async function signIn(oauth: OAuth, world: ProtectedWorld, settings: Record<string, unknown> = {}): Promise<SignIn> {
  const pending = await oauth.signInOf(serverAt(world.url, settings)).beginSignIn();
  await browse(pending.url);
  return pending.done;
}

/** Writes the stored sign-ins with changes. */
function rewrite(file: string, change: (signIn: SignIn) => SignIn): void {
  const { signIns } = JSON.parse(readFileSync(file, 'utf8')) as { signIns: SignIn[] };
  writeFileSync(file, JSON.stringify({ version: 1, signIns: signIns.map(change) }));
}

const expired = (one: SignIn): SignIn => ({ ...one, tokens: { access: '', ...one.tokens, expiresAt: Date.now() - 1 } });

test('a sign-in of another process is noticed by the one that was refused, once', async () => {
  const world = await protectedWorld();
  const { open } = store();
  const running = open();
  const told: string[] = [];
  const noticed = new Promise<void>((resolve) => {
    running.onSignIn((server) => {
      told.push(server);
      resolve();
    });
  });
  const authorization = running.authorization(serverAt(world.url));
  const sent = await authorization.headers();
  const refused = await call(world.url, sent);
  const challenge = refused.headers.get('www-authenticate') ?? undefined;
  expect(await authorization.refused({ status: 401, challenge, sent })).toBe(false);
  expect(authorization.error(401)).toMatchObject({ hint: 'mcpx login docs' });
  await signIn(open(), world);
  await noticed;
  await signIn(open(), world);
  expect(told).toEqual(['docs']);
  running.stop();
});

test('the scopes of a server that refuses only the list of tools are requested', async () => {
  const metadata = ({ scopes_supported: _, ...rest }: Record<string, unknown>) => rest;
  const world = await protectedWorld({ answersHandshake: true, metadata });
  const pending = await store().open().signInOf(serverAt(world.url)).beginSignIn();
  expect(new URL(pending.url).searchParams.get('scope')).toContain('read');
  pending.cancel();
});

describe('renewal', () => {
  test('an expired token is renewed before the request, and the rotated refresh token is stored', async () => {
    const world = await protectedWorld();
    const { file, open } = store();
    const before = await signIn(open(), world);
    rewrite(file, expired);
    const oauth = open();
    const response = await call(world.url, await oauth.authorization(serverAt(world.url)).headers());
    expect(response.status).toBe(200);
    const [after] = oauth.tokens.all();
    expect(after?.tokens?.access).not.toBe(before.tokens?.access);
    expect(after?.tokens?.refresh).not.toBe(before.tokens?.refresh);
  });

  test('a refused token is renewed, and the request may be sent again', async () => {
    const world = await protectedWorld();
    const { open } = store();
    const oauth = open();
    await signIn(oauth, world);
    const authorization = oauth.authorization(serverAt(world.url));
    const sent = await authorization.headers();
    await call(world.url, sent);
    world.expireAll();
    const refused = await call(world.url, sent);
    const challenge = refused.headers.get('www-authenticate') ?? undefined;
    expect(await authorization.refused({ status: refused.status, challenge, sent })).toBe(true);
    expect((await call(world.url, await authorization.headers())).status).toBe(200);
  });

  test('many requests of several owners of the file with one expired token cause one renewal', async () => {
    const world = await protectedWorld();
    const { file, open } = store();
    await signIn(open(), world);
    rewrite(file, expired);
    world.asked.length = 0;
    const owners = Array.from({ length: 6 }, open);
    const all = owners.flatMap((oauth) => [1, 2].map(() => oauth.authorization(serverAt(world.url)).headers()));
    const sent = await Promise.all(all);
    expect(new Set(sent.map((headers) => headers.authorization)).size).toBe(1);
    expect(world.asked.filter((line) => line === 'POST /token')).toHaveLength(1);
  });

  test('a refused refresh token ends the sign-in once, names the command and keeps the other sign-ins', async () => {
    const world = await protectedWorld();
    const { file, open, warned } = store();
    await signIn(open(), world);
    const other = { issuer: 'https://a.example', resource: 'https://b.example', client: { id: 'c', auth: 'none' } };
    const { signIns } = JSON.parse(readFileSync(file, 'utf8')) as { signIns: SignIn[] };
    const kept = { ...other, tokenEndpoint: 'https://a.example/token', tokens: { access: 'kept' } };
    writeFileSync(file, JSON.stringify({ signIns: [...signIns, kept] }));
    rewrite(file, (one) =>
      one.client.id === 'c' ? one : { ...expired(one), tokens: { access: 'x', refresh: 'gone', expiresAt: 1 } },
    );
    const oauth = open();
    const authorization = oauth.authorization(serverAt(world.url));
    const failure = await Promise.resolve(authorization.headers()).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: 'auth', hint: 'mcpx login docs' });
    expect(String(failure)).toContain('invalid_grant');
    expect(warned).toHaveLength(1);
    expect(warned[0]).toContain('mcpx login docs');
    expect(oauth.tokens.all().find(({ client }) => client.id === 'c')?.tokens).toEqual({ access: 'kept' });
    expect(authorization.error(401)).toMatchObject({ hint: 'mcpx login docs' });
  });

  test.each([
    [
      'HTML',
      (response: import('node:http').ServerResponse) =>
        response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'),
    ],
    ['status 500', (response: import('node:http').ServerResponse) => response.writeHead(500).end()],
  ])('a token endpoint that answers %s keeps the sign-in for later', async (_, answer) => {
    let isBroken = false;
    const world = await protectedWorld({
      intercept: (request, response) => {
        const broken = isBroken && request.url === '/token';
        if (broken) answer(response);
        return broken;
      },
    });
    const { file, open } = store();
    await signIn(open(), world);
    rewrite(file, expired);
    isBroken = true;
    const oauth = open();
    const authorization = oauth.authorization(serverAt(world.url));
    await expect(authorization.headers()).rejects.toMatchObject({ code: 'auth' });
    isBroken = false;
    expect((await call(world.url, await authorization.headers())).status).toBe(200);
  });

  test('a token of a short life is renewed ahead after half of it, and not at each request', async () => {
    const world = await protectedWorld();
    const { file, open } = store();
    await signIn(open(), world);
    rewrite(file, (one) => ({ ...one, tokens: { ...one.tokens, access: 'short', expiresAt: Date.now() + 40_000 } }));
    const renewals = () => world.asked.filter((line) => line === 'POST /token').length - 1;
    const oauth = open();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const authorization = oauth.authorization(serverAt(world.url));
    for (let request = 0; request < 5; request++) {
      expect(await authorization.headers()).toMatchObject({ authorization: 'Bearer short' });
      await vi.advanceTimersByTimeAsync(1000);
    }
    vi.advanceTimersByTime(20_000);
    vi.useRealTimers();
    await expect.poll(renewals).toBe(1);
    await expect.poll(() => oauth.tokens.all()[0]?.tokens?.access).not.toBe('short');
    expect(renewals()).toBe(1);
    oauth.stop();
  });

  test('a token without an expiry is used until it is refused', async () => {
    const world = await protectedWorld();
    const { file, open } = store();
    await signIn(open(), world);
    rewrite(file, ({ tokens, ...one }) => ({ ...one, tokens: { access: tokens?.access ?? '' } }));
    const authorization = open().authorization(serverAt(world.url));
    const sent = await authorization.headers();
    expect((await call(world.url, sent)).status).toBe(200);
    expect(await authorization.refused({ status: 401, challenge: undefined, sent })).toBe(false);
    expect(authorization.error(401)).toMatchObject({ message: 'server "docs" no longer accepts the sign-in' });
  });
});

describe('the file of tokens', () => {
  test('a file that is not valid is moved aside, and a new sign-in works', async () => {
    const world = await protectedWorld();
    const { file, open, warned } = store();
    writeFileSync(file, '{"signIns": [', { mode: 0o600 });
    await signIn(open(), world);
    expect(readFileSync(`${file}.damaged`, 'utf8')).toBe('{"signIns": [');
    expect(warned.join()).toContain('mcpx login');
  });

  test('a file that others can read becomes private', async () => {
    const { file, open, warned } = store();
    writeFileSync(file, '{"signIns": []}');
    chmodSync(file, 0o644);
    open().tokens.all();
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(warned.join()).toContain('could read');
  });

  test('tokens that cannot be written last for this process, with a warning', async () => {
    const world = await protectedWorld();
    const { file, open, warned } = store();
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: process.pid, host: 'another-host', id: 'x' }));
    const oauth = open();
    const before = await oauth.signInOf(serverAt(world.url)).beginSignIn();
    await browse(before.url);
    await before.done;
    expect(existsSync(file)).toBe(false);
    expect(warned.join()).toContain('cannot be stored');
    expect((await call(world.url, await oauth.authorization(serverAt(world.url)).headers())).status).toBe(200);
  }, 30_000);
});

describe('metadata', () => {
  const attempt = (world: ProtectedWorld) => store().open().signInOf(serverAt(world.url)).beginSignIn();

  test.each<[string, (honest: Record<string, unknown>) => Record<string, unknown>, string]>([
    ['of another resource', (honest) => ({ ...honest, resource: 'https://bank.example/' }), 'another resource'],
    [
      'that leads into the private network',
      (honest) => ({ ...honest, authorization_servers: ['https://10.0.0.1'] }),
      'private network',
    ],
    ['without https', (honest) => ({ ...honest, authorization_servers: ['http://issuer.example'] }), 'not https'],
    [
      'with a URL of another kind',
      (honest) => ({ ...honest, authorization_servers: ['file:///etc'] }),
      'not an https URL',
    ],
    ['that is huge', (honest) => ({ ...honest, scopes_supported: ['x'.repeat(300_000)] }), 'over 256 KiB'],
  ])('%s is refused', async (_, metadata, message) => {
    const world = await protectedWorld({ metadata });
    await expect(attempt(world)).rejects.toThrow(message);
    expect(world.asked).toEqual([]);
  });

  test('of an authorization server with another issuer is refused', async () => {
    const world = await protectedWorld({
      intercept: (request, response) => {
        if (!request.url?.startsWith('/.well-known/')) return false;
        json(response, 200, { issuer: 'https://other.example', token_endpoint: 'https://other.example/token' });
        return true;
      },
    });
    await expect(attempt(world)).rejects.toThrow('says that it is "https://other.example"');
  });

  test('that redirects is not followed', async () => {
    const world = await protectedWorld({
      intercept: (request, response) => {
        if (!request.url?.startsWith('/.well-known/')) return false;
        response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end();
        return true;
      },
    });
    await expect(attempt(world)).rejects.toThrow('has no metadata');
  });

  test('without PKCE is refused', async () => {
    const world = await protectedWorld({
      intercept: (request, response) => {
        if (!request.url?.startsWith('/.well-known/')) return false;
        const issuer = `http://${request.headers.host}`;
        json(response, 200, { issuer, authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` });
        return true;
      },
    });
    await expect(attempt(world)).rejects.toThrow('does not support PKCE');
  });
});

describe('the callback', () => {
  test('answers only the sign-in that waits, once, and only under its own host', async () => {
    const world = await protectedWorld();
    const pending = await store().open().signInOf(serverAt(world.url)).beginSignIn();
    const redirect = new URL(new URL(pending.url).searchParams.get('redirect_uri') ?? '');
    const wrong = await fetch(`${redirect.href}?code=x&state=wrong`);
    expect(wrong.status).toBe(400);
    expect((await fetch(redirect.origin)).status).toBe(404);
    expect((await fetch(redirect.href, { method: 'POST' })).status).toBe(404);
    const last = await browse(pending.url, { stopAt: redirect.origin });
    expect((await fetch(last)).status).toBe(200);
    await pending.done;
    const again = await fetch(last).then(
      ({ status }) => status,
      () => 'closed',
    );
    expect(['closed', 404]).toContain(again);
    expect(world.asked.filter((line) => line === 'POST /token')).toHaveLength(1);
  });

  test('a pasted address completes the sign-in of a browser on another machine', async () => {
    const world = await protectedWorld();
    const pending = await store().open().signInOf(serverAt(world.url)).beginSignIn();
    expect(() => pending.paste('hello')).toThrow('not the address of the last page');
    pending.paste(
      await browse(pending.url, {
        stopAt: `http://127.0.0.1:${new URL(new URL(pending.url).searchParams.get('redirect_uri') ?? '').port}`,
      }),
    );
    expect((await pending.done).tokens?.access).toBeDefined();
  });

  test('an answer of another issuer is refused', async () => {
    const world = await protectedWorld();
    const pending = await store().open().signInOf(serverAt(world.url)).beginSignIn();
    const back = new URL(new URL(pending.url).searchParams.get('redirect_uri') ?? '');
    back.search = new URLSearchParams({
      code: 'x',
      state: new URL(pending.url).searchParams.get('state') ?? '',
      iss: 'https://evil.example',
    }).toString();
    await fetch(back);
    await expect(pending.done).rejects.toMatchObject({ code: 'auth', hint: 'mcpx login docs' });
    expect(world.asked).not.toContain('POST /token');
  });
});

describe('clients', () => {
  const confidential = {
    redirect_uris: ['http://127.0.0.1/callback'],
    application_type: 'native' as const,
    token_endpoint_auth_method: 'client_secret_basic' as const,
  };

  test('a configured client with a secret needs no registration', async () => {
    const client = { ...confidential, client_id: 'mine', client_secret: 'a-secret-of-the-client' };
    const world = await protectedWorld({ configuration: { clients: [client] } });
    const { open } = store();
    const settings = { clientId: 'mine', clientSecret: 'a-secret-of-the-client' };
    expect((await signIn(open(), world, settings)).client).toMatchObject({ id: 'mine', auth: 'client_secret_basic' });
    expect(world.asked).not.toContain('POST /reg');
  });

  test('an id and a secret are encoded only where that is needed, for servers that do not decode them', async () => {
    const client = { ...confidential, client_id: 'a-client_id.1~', client_secret: 'one-secret: 100%' };
    const sent: string[] = [];
    const world = await protectedWorld({
      configuration: { clients: [client] },
      intercept: ({ headers }) => {
        sent.push(headers.authorization ?? '');
        return false;
      },
    });
    await signIn(store().open(), world, { clientId: client.client_id, clientSecret: client.client_secret });
    const credentials = Buffer.from('a-client_id.1~:one-secret%3A%20100%25').toString('base64');
    expect(sent).toContain(`Basic ${credentials}`);
  });

  test('a registered client is used again at the next sign-in', async () => {
    const world = await protectedWorld();
    const { open } = store();
    const first = await signIn(open(), world);
    const second = await signIn(open(), world);
    expect(second.client.id).toBe(first.client.id);
    expect(world.asked.filter((line) => line === 'POST /reg')).toHaveLength(1);
  });

  test.each([
    ['EC', 'ES256', () => generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['RSA', 'RS256', () => generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['Ed25519', 'Ed25519', () => generateKeyPairSync('ed25519')],
  ])('a machine proves its identity with a key (%s)', async (_, algorithm, generate) => {
    const { privateKey, publicKey } = generate();
    const client = {
      client_id: 'robot',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt' as const,
      token_endpoint_auth_signing_alg: algorithm as 'ES256',
      jwks: { keys: [publicKey.export({ format: 'jwk' }) as { kty: 'EC' }] },
    };
    const enabledJWA = { clientAuthSigningAlgValues: ['RS256', 'ES256', 'Ed25519'] } as const;
    const world = await protectedWorld({
      configuration: { clients: [client], enabledJWA } as unknown as NonNullable<WorldOptions['configuration']>,
    });
    const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }));
    const settings = { grant: 'client_credentials', clientId: 'robot', privateKey: pem, scopes: ['read'] };
    const authorization = store().open().authorization(serverAt(world.url, settings));
    expect((await call(world.url, await authorization.headers())).status).toBe(200);
  });

  test('client credentials need no user, and one token serves all requests', async () => {
    const client = {
      client_id: 'robot',
      client_secret: 'a-secret-of-the-robot',
      redirect_uris: [],
      response_types: [],
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'client_secret_basic' as const,
    };
    const world = await protectedWorld({ configuration: { clients: [client] } });
    const settings = {
      grant: 'client_credentials',
      clientId: 'robot',
      clientSecret: 'a-secret-of-the-robot',
      scopes: ['read'],
    };
    const authorization = store().open().authorization(serverAt(world.url, settings));
    for (const _ of [1, 2]) expect((await call(world.url, await authorization.headers())).status).toBe(200);
    expect(world.asked.filter((line) => line === 'POST /token')).toHaveLength(1);
  });
});

describe('a sign-in on another device', () => {
  const device: WorldOptions = { configuration: { features: { deviceFlow: { enabled: true } } } };

  test('waits until the user has confirmed the code there', async () => {
    const world = await protectedWorld(device);
    const oauth = store().open();
    const pending = await oauth.signInOf(serverAt(world.url)).beginDeviceSignIn(new AbortController().signal);
    expect(pending.url).toContain(pending.code);
    expect(await confirmDevice(pending.url)).toMatch(/^200/);
    expect((await pending.done).tokens?.refresh).toBeDefined();
    expect((await call(world.url, await oauth.authorization(serverAt(world.url)).headers())).status).toBe(200);
  }, 30_000);

  test('names another option if the authorization server does not offer it', async () => {
    const world = await protectedWorld();
    const begun = store().open().signInOf(serverAt(world.url)).beginDeviceSignIn(new AbortController().signal);
    await expect(begun).rejects.toMatchObject({ hint: 'mcpx login docs --no-browser' });
  });
});

test('a server that needs more scopes names the command with the scopes', async () => {
  const world = await protectedWorld();
  const oauth = store().open();
  await signIn(oauth, world);
  world.demand('write');
  const authorization = oauth.authorization(serverAt(world.url));
  const sent = await authorization.headers();
  const response = await call(world.url, sent);
  const challenge = response.headers.get('www-authenticate') ?? undefined;
  expect(await authorization.refused({ status: response.status, challenge, sent })).toBe(false);
  expect(authorization.error(403)).toMatchObject({ hint: 'mcpx login docs --scope "read write"' });
});

test('signing out revokes the tokens and deletes them', async () => {
  const world = await protectedWorld();
  const { open } = store();
  const oauth = open();
  await signIn(oauth, world);
  expect(await oauth.signInOf(serverAt(world.url)).signOut()).toBe('revoked');
  expect(world.asked).toContain('POST /token/revocation');
  expect(open().tokens.all()).toEqual([]);
});

test('nothing of the authorization server is contacted before a sign-in', async () => {
  const world = await protectedWorld();
  const authorization = store().open().authorization(serverAt(world.url));
  const sent = await authorization.headers();
  const response = await call(world.url, sent);
  const challenge = response.headers.get('www-authenticate') ?? undefined;
  expect(await authorization.refused({ status: 401, challenge, sent })).toBe(false);
  expect(authorization.error(401)).toMatchObject({ message: 'server "docs" needs sign-in', hint: 'mcpx login docs' });
  expect(world.asked).toEqual([]);
});
