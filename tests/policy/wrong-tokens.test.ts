/** How many wrong tokens one address may try. */
import { expect, test } from 'vitest';
import { createWrongTokens } from '../../src/policy/wrong-tokens.ts';

function at(options: { limit?: number; maxAddresses?: number } = {}) {
  let time = 0;
  const wrong = createWrongTokens({ limit: 2, ...options, now: () => time });
  const pass = (ms: number) => {
    time += ms;
  };
  return { ...wrong, pass };
}

test('a few pass; the next ones are told how long to wait, and the first of them is known', () => {
  const { count, pass } = at();
  expect([count('192.0.2.1'), count('192.0.2.1')]).toEqual([undefined, undefined]);
  pass(10_000);
  expect([count('192.0.2.1'), count('192.0.2.1')]).toEqual([
    { wait: 50, first: true },
    { wait: 50, first: false },
  ]);
  expect(count('192.0.2.2')).toBeUndefined();
});

test('after a minute an address begins anew', () => {
  const { count, pass } = at({ limit: 1 });
  expect([count('a'), count('a')?.first]).toEqual([undefined, true]);
  pass(60_000);
  expect([count('a'), count('a')?.first]).toEqual([undefined, true]);
});

test('addresses of one IPv6 network count together, others do not', () => {
  const { count } = at({ limit: 1 });
  expect(count('2001:db8:1:2::1')).toBeUndefined();
  expect(count('2001:db8:1:2:3:4:5:6')).toBeDefined();
  expect(count('2001:db8:1:3::1')).toBeUndefined();
  expect(count('2001:db8::1')).toBeUndefined();
  expect(count('2001:db8:0:0:1::')).toBeDefined();
  expect(count('::1')).toBeUndefined();
});

test('so many addresses are remembered, and the oldest is forgotten first', () => {
  const { count } = at({ limit: 1, maxAddresses: 2 });
  for (const address of ['a', 'b', 'c']) expect(count(address)).toBeUndefined();
  expect([count('c'), count('b')]).toEqual([expect.anything(), expect.anything()]);
  expect(count('a')).toBeUndefined();
});
