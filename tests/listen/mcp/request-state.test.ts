/** `requestState`: data of a server that the client returns with its next request. */
import { createHash, createHmac } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createRequestStateCodec } from '../../../src/listen/mcp/request-state.ts';
import { createSecretKey } from '../../../src/listen/mcp/secret-key.ts';

afterEach(() => vi.useRealTimers());

const principal = (name: string) => ({ name, tools: {}, resources: {}, prompts: {}, admin: false });
const origin = { principal: principal('a'), profile: 'p', words: '["tools/call",{}]' };

test('comes back as it was, whatever it is', () => {
  const seal = createRequestStateCodec();
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (state) => {
      expect(seal.open(seal.close(state, origin), origin)).toBe(state);
    }),
  );
});

test('is worth nothing once it was changed', () => {
  const seal = createRequestStateCodec();
  const sealed = seal.close('state', origin);
  fc.assert(
    fc.property(fc.nat(sealed.length - 1), fc.string({ minLength: 1, maxLength: 1 }), (at, other) => {
      const changed = sealed.slice(0, at) + other + sealed.slice(at + 1);
      if (changed !== sealed) expect(seal.open(changed, origin)).toBeUndefined();
    }),
  );
  const swapped = sealed.replace(/[-+]/g, '+').replace(/[_/]/g, '/');
  for (const forged of [
    '',
    '.',
    ...(swapped === sealed ? [] : [swapped]),
    `${sealed}-TAMPERED`,
    `${sealed}.x`,
    sealed.split('.')[0] ?? '',
  ]) {
    expect(seal.open(forged, origin)).toBeUndefined();
  }
});

test('is for the same client, profile and request, and for ten minutes', () => {
  vi.useFakeTimers();
  const seal = createRequestStateCodec();
  const sealed = seal.close('state', origin);
  expect(seal.open(sealed, { ...origin, principal: principal('b') })).toBeUndefined();
  expect(seal.open(sealed, { ...origin, principal: undefined })).toBeUndefined();
  expect(seal.open(sealed, { ...origin, profile: 'q' })).toBeUndefined();
  expect(seal.open(sealed, { ...origin, words: '["tools/call",{"name":"x"}]' })).toBeUndefined();
  vi.advanceTimersByTime(10 * 60_000 - 1);
  expect(seal.open(sealed, origin)).toBe('state');
  vi.advanceTimersByTime(1);
  expect(seal.open(sealed, origin)).toBeUndefined();
});

test('is not opened or made by somebody who knows every token', () => {
  const sealed = createRequestStateCodec().close('state', origin);
  const [payload = ''] = sealed.split('.');
  const bound = JSON.stringify(['a', 'p', origin.words, payload]);
  const digest = (secret: string) => createHash('sha256').update(secret).digest();
  const guesses = [digest('one'), createHmac('sha256', digest('one')).update('mcpx request state').digest()];
  for (const key of guesses) {
    const forged = `${payload}.${createHmac('sha256', key).update(bound).digest('base64url')}`;
    expect(createRequestStateCodec().open(forged, origin)).toBeUndefined();
  }
});

test('is good at every mcpx with the same key, and at no other', () => {
  const secret = createSecretKey();
  const sealed = createRequestStateCodec(secret).close('state', origin);
  expect(createRequestStateCodec(secret).open(sealed, origin)).toBe('state');
  expect(createRequestStateCodec().open(sealed, origin)).toBeUndefined();
});
