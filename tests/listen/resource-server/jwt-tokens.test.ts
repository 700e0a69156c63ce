/** JWT access tokens of an issuer: which are accepted, for which profiles, and how often the issuer is asked. */
import { createHmac } from 'node:crypto';
import { exportSPKI } from 'jose';
import { beforeAll, describe, expect, test } from 'vitest';
import { type Change, GATEWAY, ISSUER, type Key, makeKey, publicJwk, reply, START, sign, world } from './issuer.ts';

let key: Key;
let other: Key;
beforeAll(async () => {
  [key, other] = await Promise.all([makeKey('one'), makeKey('one')]);
});

const at = START / 1000;

describe('a token', () => {
  test.each<[string, Change]>([
    ['of RFC 9068', {}],
    ['with the full media type', { header: { typ: 'application/at+jwt' } }],
    ['with the general type, as most issuers send it', { header: { typ: 'JWT' } }],
    ['without a type', { header: { typ: undefined } }],
    ['for several audiences', { claims: { aud: ['https://other.example', GATEWAY] } }],
    ['with a slash after the audience', { claims: { aud: `${GATEWAY}/` } }],
    ['whose clock is a little ahead', { claims: { iat: at + 20, nbf: at + 20 } }],
    ['that expired within the tolerance', { claims: { exp: at - 20 } }],
    ['without a key id, while the issuer has one key', { header: { kid: undefined } }],
  ])('%s is accepted', async (_, change) => {
    const { check } = await world([key]);
    expect(await check(await sign(key, change))).toMatchObject({
      name: expect.stringMatching(/^oauth:ada\/web#/),
      admin: false,
    });
  });

  test.each<[string, Change, string]>([
    ['of another issuer', { claims: { iss: 'https://evil.example' } }, 'the token is from another issuer'],
    ['without an issuer', { claims: { iss: undefined } }, 'the token is from another issuer'],
    [
      'for another audience',
      { claims: { aud: 'https://api.example' } },
      'the token is for "https://api.example" and not for this gateway',
    ],
    [
      'for a name that begins like the gateway',
      { claims: { aud: `${GATEWAY}.evil.example` } },
      `the token is for "${GATEWAY}.evil.example" and not for this gateway`,
    ],
    [
      'for a path that is no endpoint',
      { claims: { aud: `${GATEWAY}/other` } },
      `the token is for "${GATEWAY}/other" and not for this gateway`,
    ],
    ['without an audience', { claims: { aud: undefined } }, 'the token is for no audience and not for this gateway'],
    [
      'with an audience that is no text',
      { claims: { aud: [{}, 5] } },
      'the token is for no audience and not for this gateway',
    ],
    ['that has expired', { claims: { exp: at - 60 } }, 'the token has expired'],
    ['without an expiry', { claims: { exp: undefined } }, 'the token has no expiry'],
    ['with an expiry that is no number', { claims: { exp: 'never' } }, 'the token has no expiry'],
    ['that is not valid yet', { claims: { nbf: at + 60 } }, 'the token is from the future'],
    ['that was issued in the future', { claims: { iat: at + 60 } }, 'the token is from the future'],
    ['without a subject', { claims: { sub: undefined, client_id: undefined } }, 'the token has no subject'],
    ['with a subject that is no text', { claims: { sub: {}, client_id: 5 } }, 'the token has no subject'],
    ['that is an id token', { claims: { at_hash: 'x' } }, 'the token is not an access token'],
    ['of another type', { header: { typ: 'logout+jwt' } }, 'the token is not an access token'],
    ['that is a refresh token of Keycloak', { claims: { typ: 'Refresh' } }, 'the token is not an access token'],
    ['that is bound to a key', { claims: { cnf: { jkt: 'x' } } }, 'the token is bound to a key of its client'],
    [
      'with an extension that must be understood',
      { header: { crit: ['exp'], exp: 1 } },
      'the token is not a JWT that can be checked',
    ],
  ])('%s is refused', async (_, change, message) => {
    const { check, warned } = await world([key]);
    const token = await signAny(change);
    expect(await check(token)).toBe(`401 ${message}`);
    expect(warned.join()).not.toContain(token.slice(0, 20));
  });

  /** Node's Web Crypto signs anything; jose refuses some of it. */
  const signAny = (change: Change) =>
    change.header?.crit === undefined
      ? sign(key, change)
      : forge({ ...change.header, alg: 'ES256', kid: 'one' }, 'ES256');

  test('signed with another key is refused', async () => {
    const { check } = await world([key]);
    expect(await check(await sign(other))).toBe('401 the signature of the token is not valid');
  });

  test.each(['none', 'HS256'])(
    'with the algorithm %s is refused, also with the public key as the secret',
    async (alg) => {
      const { check } = await world([key]);
      const secret = await exportSPKI(key.publicKey);
      expect(await check(forge({ alg, kid: 'one', typ: 'at+jwt' }, alg, secret))).toBe(
        '401 the token is signed in a way that is not accepted',
      );
    },
  );

  test('with an algorithm that the config leaves out is refused', async () => {
    const { check } = await world([key], { algorithms: ['RS256'] });
    expect(await check(await sign(key))).toBe('401 the token is signed in a way that is not accepted');
  });

  test.each([
    ['no JWT', 'opaque-token', 'the token is not a JWT'],
    ['encrypted', 'a.b.c.d.e', 'the token is not a JWT'],
    ['nonsense', 'a.b.c', 'the token is not a JWT that can be checked'],
    ['huge', `${'a'.repeat(9000)}.b.c`, 'the token is longer than 8192 characters'],
  ])('that is %s is refused', async (_, token, message) => {
    expect(await (await world([key])).check(token)).toBe(`401 ${message}`);
  });

  test.each(['RS256', 'PS256', 'ES384', 'EdDSA'])('signed with %s is accepted', async (alg) => {
    const own = await makeKey('k', alg);
    expect(await (await world([own])).check(await sign(own))).toMatchObject({ admin: false });
  });

  test('without a key id is checked with each key of the issuer', async () => {
    const keys = await Promise.all([makeKey('a'), makeKey('b')]);
    const { check } = await world(keys);
    const header = { kid: undefined };
    for (const one of keys) expect(await check(await sign(one, { header }))).toMatchObject({ admin: false });
    expect(await check(await sign(other, { header }))).toBe('401 the signature of the token is not valid');
  });
});

/** Builds a token by hand, with a signature that is empty or an HMAC. */
function forge(header: object, alg: string, secret = 'x'): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const text = `${part(header)}.${part({ iss: ISSUER, aud: GATEWAY, sub: 'ada', exp: at + 300 })}`;
  const signature = alg === 'none' ? '' : createHmac('sha256', secret).update(text).digest('base64url');
  return `${text}.${signature}`;
}

describe('profiles', () => {
  test.each([
    [GATEWAY, undefined],
    [`${GATEWAY}/mcp`, ['default']],
    [`${GATEWAY}/mcp/work`, ['work']],
    [`${GATEWAY}/api/work/mcp`, ['work']],
    [
      [`${GATEWAY}/mcp/work`, `${GATEWAY}/mcp/home`, 'https://x.example'],
      ['work', 'home'],
    ],
    ['api://mcpx', undefined],
  ])('a token for %j may use %j', async (aud, profiles) => {
    const { check } = await world([key], { audience: ['api://mcpx'] });
    const principal = await check(await sign(key, { claims: { aud } }));
    expect(principal).toMatchObject({ admin: false });
    expect((principal as { profiles?: string[] }).profiles).toEqual(profiles);
  });

  test('without a public URL, the loopback addresses with the port of the listener are the audience', async () => {
    const { check } = await world([key], { url: null });
    const checked = async (aud: string) => typeof (await check(await sign(key, { claims: { aud } })));
    const audiences = ['http://127.0.0.1:3095', 'http://localhost:3095/mcp', 'http://[::1]:3095'];
    for (const aud of audiences) expect([aud, await checked(aud)]).toEqual([aud, 'object']);
    for (const aud of ['http://127.0.0.1:3096', 'http://127.0.0.1', 'https://localhost:3095', GATEWAY])
      expect([aud, await checked(aud)]).toEqual([aud, 'string']);
  });
});

test('a renewed token is the same principal, and another right is another one', async () => {
  const { check, tokens } = await world([key], { profileScope: 'mcp:{profile}' });
  const of = async (claims: object) => check(await sign(key, { claims: { ...claims } }));
  const first = await of({ jti: '1', scope: 'mcp:work' });
  expect(await of({ jti: '2', scope: 'mcp:work' })).toBe(first);
  const more = await of({ scope: 'mcp:work mcp:home' });
  expect(more).toMatchObject({ profiles: ['work', 'home'] });
  expect(more).not.toBe(first);
  expect(tokens.knows(first as never)).toBe(true);
  expect(await of({ scope: 'other' })).toBe('403 the token has not the scope "mcp:{profile}"');
});

describe('the issuer', () => {
  test('is asked once for many tokens, and a checked token needs no promise', async () => {
    const { check, asked, tokens } = await world([key]);
    const many = await Promise.all(Array.from({ length: 20 }, (_, jti) => sign(key, { claims: { jti } })));
    await Promise.all(many.map((token) => check(token)));
    expect(asked).toEqual([`${ISSUER}/.well-known/oauth-authorization-server`, `${ISSUER}/keys`]);
    expect(tokens.check(many[0] ?? '', () => false)).toMatchObject({ principal: { admin: false } });
  });

  test('is not asked before the first token, and not for keys that the config names', async () => {
    const { check, asked, documents } = await world([key], { jwksUri: 'https://keys.example/jwks' });
    expect(asked).toEqual([]);
    const jwks = { keys: [await publicJwk(key)] };
    documents.set('https://keys.example/jwks', () => reply(jwks));
    expect(await check(await sign(key))).toMatchObject({ admin: false });
    expect(asked).toEqual(['https://keys.example/jwks']);
  });

  test('has a checked token end at its expiry, with the tolerance', async () => {
    const { check, pass } = await world([key]);
    const token = await sign(key);
    expect(await check(token)).toMatchObject({ admin: false });
    pass(329_000);
    expect(await check(token)).toMatchObject({ admin: false });
    pass(2000);
    expect(await check(token)).toBe('401 the token has expired');
  });

  test('rotates its keys: the new one is fetched for the first token, unknown ones at most twice a minute', async () => {
    const { check, documents, asked, pass } = await world([key]);
    await check(await sign(key));
    pass(40_000);
    const next = await makeKey('two');
    documents.set(`${ISSUER}/keys`, async () => reply({ keys: [await publicJwk(next)] }));
    expect(await check(await sign(next))).toMatchObject({ admin: false });
    const before = asked.length;
    const flood = await Promise.all(Array.from({ length: 50 }, (_, n) => sign(other, { header: { kid: `k${n}` } })));
    for (const token of flood)
      expect(await check(token)).toBe('401 the token is signed with a key that the issuer does not have');
    expect(asked.length).toBe(before);
    pass(31_000);
    await Promise.all(flood.map((token) => check(token)));
    expect(asked.length).toBe(before + 2);
  });

  test('that withdrew a key refuses its tokens after ten minutes and one more check', async () => {
    const { check, documents, pass } = await world([key]);
    const token = await sign(key, { claims: { exp: at + 7200 } });
    await check(token);
    const next = await makeKey('two');
    documents.set(`${ISSUER}/keys`, async () => reply({ keys: [await publicJwk(next)] }));
    pass(11 * 60_000);
    await check(token);
    pass(6 * 60_000);
    expect(await check(token)).toBe('401 the token is signed with a key that the issuer does not have');
  });

  test.each<[string, string, () => Response | Promise<Response>, RegExp]>([
    [
      'has no metadata',
      METADATA(),
      () => reply({}, 404),
      /"https:\/\/login.example\/.well-known\/openid-configuration" answers with HTTP 404/,
    ],
    [
      'lies about its name',
      METADATA(),
      () => reply({ issuer: 'https://evil.example' }),
      /is of the issuer "https:\/\/evil.example"/,
    ],
    ['has metadata without keys', METADATA(), () => reply({ issuer: ISSUER }), /has no "jwks_uri"/],
    ['answers HTML', `${ISSUER}/keys`, () => new Response('<html>'), /is not JSON/],
    ['answers 500', `${ISSUER}/keys`, () => reply({}, 500), /answers with HTTP 500/],
    ['redirects', `${ISSUER}/keys`, () => new Response('', { status: 302 }), /redirects, which is not followed/],
    ['has keys of another form', `${ISSUER}/keys`, () => reply({ keys: 'x' }), /is not a set of keys/],
    ['does not answer', `${ISSUER}/keys`, () => Promise.reject(new Error('ECONNREFUSED')), /ECONNREFUSED/],
  ])('that %s is 503 with a line in the log, and is not asked by each token', async (_, url, answer, line) => {
    const { check, documents, warned, asked, pass } = await world([key]);
    const honest = documents.get(url);
    documents.set(url, answer);
    const token = await sign(key);
    const said = '503 the token cannot be checked now, because the issuer does not answer as it should';
    expect(await check(token)).toBe(said);
    const before = asked.length;
    for (let n = 0; n < 20; n++) expect(await check(await sign(key, { claims: { jti: n } }))).toBe(said);
    expect(asked.length).toBe(before);
    expect(warned).toEqual([expect.stringMatching(line)]);
    documents.set(url, honest as () => Response);
    pass(6000);
    expect(await check(token)).toMatchObject({ admin: false });
  });

  test('that fails later does no harm for an hour', async () => {
    const { check, documents, pass } = await world([key]);
    const token = await sign(key, { claims: { exp: at + 86_400 } });
    await check(token);
    documents.set(`${ISSUER}/keys`, () => reply({}, 500));
    pass(30 * 60_000);
    expect(await check(token)).toMatchObject({ admin: false });
    pass(40 * 60_000);
    expect(await check(token)).toMatch(/^503/);
  });
});

function METADATA(): string {
  return `${ISSUER}/.well-known/oauth-authorization-server`;
}
