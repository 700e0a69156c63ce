/** Signed values: they come back only unchanged, with the same context and under the same key. */
import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSignedValues } from '../../src/listen/signed-value.ts';

const key = randomBytes(32);
const signed = createSignedValues<unknown>(() => key);

test('a value comes back with its context', () => {
  const value = { text: '中文 🙂', list: [1, null] };
  expect(signed.open(signed.seal(value))).toEqual(value);
  expect(signed.open(signed.seal(value, ['a', 'b']), ['a', 'b'])).toEqual(value);
});

test.each<[title: string, change: (text: string) => string]>([
  ['another payload', (text) => `e30.${text.split('.')[1]}`],
  ['another signature', (text) => text.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
  ['another spelling of the signature', (text) => `${text}=`],
  ['a third part', (text) => `${text}.`],
  ['no signature', (text) => text.split('.')[0] ?? ''],
  ['no text', () => ''],
])('%s is not accepted', (_, change) => {
  expect(signed.open(change(signed.seal({ a: 1 })))).toBeUndefined();
});

test('another context or key is not accepted', () => {
  const text = signed.seal({ a: 1 }, 'one');
  expect([signed.open(text, 'two'), signed.open(text)]).toEqual([undefined, undefined]);
  expect(createSignedValues(() => randomBytes(32)).open(text, 'one')).toBeUndefined();
});
