/** Principals of access tokens: equal holders are one principal, and names tell them apart. */
import { expect, test } from 'vitest';
import { createPrincipals, type TokenHolder } from '../../src/policy/access-tokens.ts';

const RIGHTS = { tools: {}, resources: {}, prompts: {}, admin: false };
const ADA: TokenHolder = { issuer: 'https://a.example', subject: 'ada', client: 'web', rights: RIGHTS };

test('a renewed token has the same principal; another issuer, subject, client or right has another name', () => {
  const principals = createPrincipals();
  const ada = principals.of(ADA);
  expect(principals.of({ ...ADA, rights: { ...RIGHTS } })).toBe(ada);
  expect(ada).toEqual({
    name: expect.stringMatching(/^oauth:ada\/web#[\w-]{8}$/),
    payer: expect.stringMatching(/^oauth:ada#[\w-]{8}$/),
    ...RIGHTS,
  });
  const others = [
    { issuer: 'https://b.example' },
    { subject: 'bob' },
    { client: 'cli' },
    { rights: { ...RIGHTS, profiles: ['work'] } },
    { rights: { ...RIGHTS, admin: true } },
    { rights: { ...RIGHTS, tools: { deny: ['x'] } } },
  ].map((more) => principals.of({ ...ADA, ...more }));
  expect(new Set([ada, ...others].map(({ name }) => name)).size).toBe(7);
  expect(new Set([ada, ...others].map((one) => principals.fingerprint(one))).size).toBe(7);
  // The limits of a user do not multiply with clients and scopes.
  expect(others.map((one) => one.payer === ada.payer)).toEqual([false, false, true, true, true, true]);
});

test('fingerprints are the same in another process', () => {
  const [one, other] = [createPrincipals(), createPrincipals()];
  expect(one.fingerprint(one.of(ADA))).toBe(other.fingerprint(other.of(ADA)));
  expect(one.fingerprint(other.of(ADA))).toBe('');
  expect(one.knows(other.of(ADA))).toBe(false);
});

test.each([
  ['a client that is its own subject', { subject: 'job', client: 'job' }, /^oauth:job#/],
  ['no client', { client: '' }, /^oauth:ada#/],
  ['control characters and spaces', { subject: 'a\n b\u202e' }, /^oauth:a__b_\/web#/],
  ['long parts', { subject: 'x'.repeat(9000), client: 'y'.repeat(9000) }, /^oauth:x{100}\/y{100}#/],
])('the name of a holder with %s fits into a log line', (_, more, expected) => {
  expect(createPrincipals().of({ ...ADA, ...more }).name).toMatch(expected);
});

test('the number of principals is bounded, and the one that was used least recently goes', () => {
  const principals = createPrincipals(2);
  const [ada, bob] = [principals.of(ADA), principals.of({ ...ADA, subject: 'bob' })];
  principals.of(ADA);
  principals.of({ ...ADA, subject: 'eve' });
  expect([principals.knows(ada), principals.knows(bob)]).toEqual([true, false]);
});
