/** The estimated cost of JSON.parse for a text. */
import { describe, expect, test } from 'vitest';
import { estimateParse, MAX_NESTING, parseProblem } from '../../src/wire/parse-cost.ts';

/** So many parts of a list, as JSON. */
const list = (count: number, part: (at: number) => string) =>
  `[${Array.from({ length: count }, (_, at) => part(at)).join(',')}]`;

const COSTLY: [string, string][] = [
  ['a million empty lists', list(1_000_000, () => '[]')],
  ['a million empty objects', list(1_000_000, () => '{}')],
  ['an object with a million keys', `{${list(1_000_000, (at) => `"k${at}":1`).slice(1, -1)}}`],
  ['objects that all have other keys', list(500_000, (at) => `{"k${at}":1}`)],
  [
    'objects with the same keys in ever other combinations',
    list(400_000, (at) => `{"a${at % 997}":1,"b${at % 991}":2}`),
  ],
  ['two million short objects', list(2_000_000, () => '{"a":1}')],
  ['seven million numbers', `[${'1,'.repeat(7_000_000)}1]`],
  ['two million different texts', list(2_000_000, (at) => `"t${at}"`)],
];

describe('the cost of a parse', () => {
  test.each(COSTLY)('%s: too many values', (_what, text) => {
    expect(parseProblem(text)).toBe('holds too many values to be read at once');
  });

  test.each<[string, string]>([
    [
      'ten thousand rows',
      list(10_000, (at) => `{"id":${at},"name":"name ${at}","tags":["x","y"],"nested":{"a":{"b":1}}}`),
    ],
    ['a text of 15 MB that is full of brackets', JSON.stringify({ text: '[{"a":'.repeat(2_000_000) })],
    ['a text that ends in a backslash', JSON.stringify({ 'a\\': '\\"[[[[', b: '\\' })],
    ['nothing', ''],
    ['no JSON', '}}}]]]"'],
  ])('%s: may be parsed', (_what, text) => {
    expect(parseProblem(text)).toBeUndefined();
  });

  test('of rows is that of their values, not that of as many different objects', () => {
    const rows = (key: (at: number) => string) => estimateParse(list(1000, (at) => `{"${key(at)}":1}`)).bytes;
    expect(rows(() => 'key')).toBeLessThan(rows((at) => `key${at}`) / 2);
  });

  test.each([
    ['lists', '[', ']'],
    ['objects', '{"a":', '}'],
  ])('%s are nested up to a bound', (_what, open, close) => {
    const nested = (levels: number) => open.repeat(levels) + (open === '[' ? '' : '1') + close.repeat(levels);
    expect(parseProblem(nested(MAX_NESTING))).toBeUndefined();
    expect(parseProblem(nested(MAX_NESTING + 1))).toBe(`is nested deeper than ${MAX_NESTING} levels`);
  });
});
