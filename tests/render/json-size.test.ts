/** Sizes of values as JSON. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLarger } from '../../src/render/json-size.ts';

test('size is measured without writing anything', () => {
  expect(isLarger({ a: 'x'.repeat(100) }, 100)).toBe(true);
  expect(isLarger({ a: 'x'.repeat(50) }, 100)).toBe(false);
  let twice: unknown = 'x';
  for (let i = 0; i < 100; i += 1) twice = [twice, twice];
  expect(isLarger(twice, 1_000_000)).toBe(true);
});

test('what is larger by far is larger, what is smaller by far is not', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const { length } = JSON.stringify(value);
      expect(isLarger(value, length * 3 + 10)).toBe(false);
      expect(isLarger({ value, more: 'x'.repeat(100) }, 100)).toBe(true);
    }),
  );
});
