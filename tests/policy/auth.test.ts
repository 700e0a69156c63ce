/** Authenticators that replace each other at every reload. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { createAuthenticator } from '../../src/policy/auth.ts';

const TOKENS = [{ name: 'alice', secret: 'a-secret' }] as Parameters<typeof createAuthenticator>[0];

test('a token that stays as it was keeps its principal', () => {
  const before = createAuthenticator(TOKENS);
  const after = createAuthenticator(TOKENS, { before });
  const principal = before.principal('Bearer a-secret');
  expect(principal).toMatchObject({ name: 'alice' });
  expect(after.principal('Bearer a-secret')).toBe(principal);
});

test('an authenticator does not hold the one that it replaced', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const replace = () => {
    const before = createAuthenticator(TOKENS);
    return { before: new WeakRef(before), after: createAuthenticator(TOKENS, { before }) };
  };
  const { before, after } = replace();
  await expect
    .poll(() => {
      collect();
      return before.deref() === undefined;
    })
    .toBe(true);
  expect(after.required).toBe(true);
});
