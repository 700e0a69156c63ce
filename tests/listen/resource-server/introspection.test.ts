/** Opaque access tokens: questions to the issuer, their answers, their cache and their limits. */
import { describe, expect, test } from 'vitest';
import { GATEWAY, ISSUER, reply, START, type World, world } from './issuer.ts';

const at = START / 1000;
const ACTIVE = {
  active: true,
  iss: ISSUER,
  aud: GATEWAY,
  sub: 'ada',
  client_id: 'web',
  exp: at + 300,
  token_type: 'Bearer',
};
const SETTINGS = { introspection: { endpoint: null, clientId: 'gw', clientSecret: 's:1', cache: 60_000 } };

/** An issuer that knows the tokens of a table. */
async function introspecting(known: Record<string, object>, settings = SETTINGS): Promise<World & { sent: string[] }> {
  const place = await world([], settings);
  const sent: string[] = [];
  place.answer((body, headers) => {
    sent.push(`${headers.authorization ?? 'none'} ${body}`);
    return reply(known[new URLSearchParams(body).get('token') ?? ''] ?? { active: false });
  });
  return { ...place, sent };
}

test('an active token is accepted, and asked about once while the answer is fresh', async () => {
  const { check, sent, tokens, pass } = await introspecting({ good: ACTIVE });
  const [first, second] = await Promise.all([check('good'), check('good')]);
  expect(first).toMatchObject({ name: expect.stringMatching(/^oauth:ada\/web#/) });
  expect(second).toBe(first);
  expect(tokens.check('good', () => true)).toEqual({ principal: first });
  const credentials = `Basic ${Buffer.from('gw:s%3A1').toString('base64')}`;
  expect(sent).toEqual([`${credentials} token=good&token_type_hint=access_token`]);
  pass(61_000);
  await check('good');
  expect(sent.length).toBe(2);
});

test('a public client names itself in the form', async () => {
  const { check, sent } = await introspecting(
    { good: ACTIVE },
    { introspection: { ...SETTINGS.introspection, clientSecret: null as never } },
  );
  expect(await check('good')).toMatchObject({ admin: false });
  expect(sent).toEqual(['none token=good&token_type_hint=access_token&client_id=gw']);
});

test('a revoked token ends with the cache', async () => {
  const known: Record<string, object> = { good: ACTIVE };
  const { check, pass } = await introspecting(known);
  await check('good');
  delete known.good;
  pass(59_000);
  expect(await check('good')).toMatchObject({ admin: false });
  pass(2000);
  expect(await check('good')).toBe('401 the token is not active');
});

describe('a token is refused', () => {
  test.each<[string, object, string]>([
    ['that is not active', { active: false }, 'the token is not active'],
    [
      'for another audience',
      { aud: 'https://api.example' },
      'the token is for "https://api.example" and not for this gateway',
    ],
    [
      'without an audience, as a refresh token',
      { aud: undefined },
      'the token is for no audience and not for this gateway',
    ],
    ['of another issuer', { iss: 'https://evil.example' }, 'the token is from another issuer'],
    ['that is no Bearer token', { token_type: 'DPoP' }, 'the token is not a Bearer token'],
    ['that is bound to a key', { cnf: {} }, 'the token is bound to a key of its client'],
    ['without an expiry', { exp: undefined }, 'the token has no expiry'],
    ['that has expired all the same', { exp: at - 60 }, 'the token has expired'],
  ])('%s', async (_, change, message) => {
    const { check } = await introspecting({ one: { ...ACTIVE, ...change } });
    expect(await check('one')).toBe(`401 ${message}`);
  });
});

test('unknown tokens are asked about once in ten seconds, and not for a sender of many wrong ones', async () => {
  const { check, sent, pass } = await introspecting({});
  for (let n = 0; n < 5; n++) expect(await check('guess')).toBe('401 the token is not active');
  expect(sent.length).toBe(1);
  expect(await check('another', true)).toBe('401 too many wrong tokens');
  expect(sent.length).toBe(1);
  pass(11_000);
  await check('guess');
  expect(sent.length).toBe(2);
});

test('no more than 32 questions are asked at once', async () => {
  const place = await world([], SETTINGS);
  const waiting: (() => void)[] = [];
  place.answer(() => new Promise((resolve) => waiting.push(() => resolve(reply(ACTIVE)))));
  const checks = Array.from({ length: 40 }, (_, n) => place.check(`t${n}`));
  const refused = (await Promise.all(checks.slice(32))).filter((one) => typeof one === 'string');
  expect(refused).toEqual(Array(8).fill(expect.stringMatching(/^503/)));
  await expect.poll(() => waiting.length).toBe(32);
  for (const go of waiting) go();
  expect((await Promise.all(checks.slice(0, 32))).every((one) => typeof one === 'object')).toBe(true);
});

test.each<[string, () => Response, RegExp]>([
  [
    'refuses the gateway',
    () => reply({}, 401),
    /refuses to introspect \(HTTP 401\) \(check "clientId" and "clientSecret"/,
  ],
  ['answers 500', () => reply({}, 500), /answers with HTTP 500/],
  ['answers HTML', () => new Response('<html>'), /answers with no answer about the token/],
  ['redirects', () => new Response('', { status: 307 }), /answers with HTTP 307/],
])('an issuer that %s is 503, with the reason in the log and no secret', async (_, answer, line) => {
  const place = await world([], SETTINGS);
  place.answer(answer);
  expect(await place.check('secret-token')).toBe(
    '503 the token cannot be checked now, because the issuer does not answer as it should',
  );
  expect(place.warned).toEqual([expect.stringMatching(line)]);
  expect(place.warned.join()).not.toMatch(/secret-token|s:1/);
});
