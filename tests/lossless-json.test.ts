/** Numbers that JavaScript cannot hold, in parsed JSON. Before Node 21 there are none, and everything is as `JSON.parse` reads it. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isLosslessNumber, mayChange, parseLossless, plain, replaceLossless } from '../src/lossless-json.ts';
import { decimalOf, numberText } from './decimal.ts';
import { processorTime } from './setup/processor.ts';

const EXACT = 'rawJSON' in JSON;
const again = (text: string) => JSON.stringify(parseLossless(text));
/** The results that this version of Node must give. */
const kept = (text: string) => (EXACT ? text : JSON.stringify(JSON.parse(text)));

describe('a JSON text that is read and written again', () => {
  test.each([
    '1234567890123456789',
    '-9223372036854775808',
    '{"id":12345678901234567890,"list":[1e400,-1E-400,0.12345678901234567]}',
    '[9007199254740993]',
    '{"a":9007199254740993,"__proto__":{"b":9007199254740993}}',
  ])('%s is the same', (text) => {
    expect(again(text)).toBe(kept(text));
    expect(mayChange(text)).toBe(EXACT);
  });

  test.each([
    ['1.0000000000000000000', '1'],
    ['1e+100', '1e+100'],
    ['100000000000000000000', '100000000000000000000'],
    ['5e-324', '5e-324'],
    ['0e999', '0'],
    ['{"a":"9007199254740993","b":"x 1e400"}', '{"a":"9007199254740993","b":"x 1e400"}'],
  ])('%s has numbers of JavaScript only', (text, expected) => {
    expect(again(text)).toBe(expected);
    expect(parseLossless(text)).toEqual(JSON.parse(text));
  });

  test('has the same numbers, however they are written', () => {
    fc.assert(
      fc.property(fc.array(numberText, { minLength: 1 }), fc.constantFrom(',', ', ', ' ,\n'), (numbers, comma) => {
        const text = `[${numbers.join(comma)}]`;
        const written = again(text).slice(1, -1).split(',');
        if (EXACT) expect(written.map(decimalOf)).toEqual(numbers.map(decimalOf));
        else expect(again(text)).toBe(kept(text));
      }),
      { numRuns: 500 },
    );
  });

  test('that JavaScript wrote is read as by JSON.parse', () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const written = JSON.stringify(JSON.parse(text));
        expect(mayChange(`[${written}]`) && !/"/.test(written)).toBe(false);
        expect(plain(parseLossless(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test.each(['', '{', '12345678901234567890x', '[1e400', '01234567890123456789'])('%j is no JSON', (text) => {
    expect(() => parseLossless(text)).toThrow(SyntaxError);
  });

  test('of more than 256 KiB has numbers of JavaScript only: looking at each would hold everybody up', () => {
    const text = `["${'x'.repeat(256 * 1024)}",9007199254740993]`;
    expect(parseLossless(text)).toEqual(JSON.parse(text));
  });

  test('nested beyond the stack is read with the numbers that there are', () => {
    const text = `${'['.repeat(100_000)}9007199254740993${']'.repeat(100_000)}`;
    expect(parseLossless(text)).toHaveLength(1);
  });

  test.each([
    ['digits', `[${'1'.repeat(1_000_000)}]`],
    ['zeros', `[1${'0'.repeat(1_000_000)}1]`],
    ['a fraction of zeros', `[0.${'0'.repeat(1_000_000)}1]`],
    ['an exponent of zeros', `[1e${'0'.repeat(1_000_000)}999]`],
    ['points', `" 1${'.1'.repeat(500_000)}"`],
  ])('takes no longer than its length: %s', (_, text) => {
    const before = processorTime();
    parseLossless(text);
    expect(processorTime() - before).toBeLessThan(2000);
  });
});

describe('a value with such numbers', () => {
  const value = parseLossless('{"a":[9007199254740993,{"b":-1e400}],"c":"x"}');

  test('has the nearest numbers for whoever calculates', () => {
    expect(plain(value)).toEqual({ a: [9007199254740992, { b: -Infinity }], c: 'x' });
  });

  test('has anything else in their place, and is itself left alone', () => {
    const before = JSON.stringify(value);
    const texts = replaceLossless(value, ({ rawJSON }) => rawJSON);
    expect(JSON.stringify(texts)).toBe(EXACT ? '{"a":["9007199254740993",{"b":"-1e400"}],"c":"x"}' : before);
    expect(JSON.stringify(value)).toBe(before);
  });

  test('is the same object where there are none', () => {
    const ordinary = { a: [1, null, { b: 'x' }] };
    expect(plain(ordinary)).toBe(ordinary);
    expect([1, 'x', null, undefined, ordinary, { rawJSON: '1' }].map(isLosslessNumber)).toEqual(Array(6).fill(false));
  });
});
