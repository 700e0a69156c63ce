/** Durations, sizes and nearest names. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isRecord, kindOf, listText, pathText, sameJson } from '../../src/config/json-data.ts';
import { nearest } from '../../src/config/nearest.ts';
import { formatDuration, formatSize, parseDuration, parseSize } from '../../src/config/units.ts';

test.each([
  [500, 500],
  [1.4, 1],
  ['500ms', 500],
  ['60s', 60_000],
  ['1.5s', 1500],
  ['5m', 300_000],
  ['1h', 3_600_000],
  ['2 s', 2000],
  ['60', undefined],
  ['60 sec', undefined],
  ['-1s', undefined],
  [-1, undefined],
  [Number.NaN, undefined],
  [null, undefined],
])('the duration %j is %s ms', (value, ms) => {
  expect(parseDuration(value)).toBe(ms);
});

test.each([
  [100, 100],
  ['64kb', 65_536],
  ['4MB', 4_194_304],
  ['1gb', 1_073_741_824],
  ['7b', 7],
  ['1.5kb', 1536],
  [1.5, undefined],
  ['4m', undefined],
  [-1, undefined],
  [true, undefined],
])('the size %j is %s bytes', (value, bytes) => {
  expect(parseSize(value)).toBe(bytes);
});

test('formatting is the inverse of parsing', () => {
  fc.assert(
    fc.property(fc.nat(), (amount) => {
      expect(parseDuration(formatDuration(amount))).toBe(amount);
      expect(parseSize(formatSize(amount))).toBe(amount);
    }),
  );
  expect([0, 1, 1500, 90_000, 7_200_000].map(formatDuration)).toEqual(['0ms', '1ms', '1500ms', '90s', '2h']);
  expect([0, 1, 2048].map(formatSize)).toEqual(['0b', '1b', '2kb']);
});

describe('the nearest name', () => {
  test.each([
    ['comand', 'command'],
    ['commnad', 'command'],
    ['COMMAND', 'command'],
    ['urk', 'url'],
    ['headres', 'headers'],
    ['zzzzzz', undefined],
    ['', undefined],
    ['a', undefined],
  ])('to %j is %s', (word, expected) => {
    expect(nearest(word, ['command', 'url', 'headers'])).toBe(expected);
  });
});

test('paths read as one would write them', () => {
  expect(pathText(['mcpServers', 'My Files', 'args', 0])).toBe('mcpServers["My Files"].args[0]');
  expect(pathText([])).toBe('');
});

test('lists read as sentences', () => {
  expect([[], ['a'], ['a', 'b'], ['a', 'b', 'c']].map((items) => listText(items))).toEqual([
    '',
    'a',
    'a or b',
    'a, b or c',
  ]);
});

test('kinds have names', () => {
  expect([null, [], {}, 'x', 1, true].map(kindOf)).toEqual([
    'null',
    'a list',
    'an object',
    'text',
    'a number',
    'true or false',
  ]);
});

test('property: values are the same as themselves, whatever the order of keys', () => {
  const reversed = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(reversed);
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, item]) => [key, reversed(item)]),
    );
  };
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (a, b) => {
      expect(sameJson(a, reversed(a))).toBe(true);
      expect(sameJson(a, b)).toBe(sameJson(b, a));
    }),
  );
  expect([sameJson({ a: 1 }, { a: 2 }), sameJson({ a: 1 }, { b: 1 }), sameJson([1], [1, 2]), sameJson({}, [])]).toEqual(
    Array(4).fill(false),
  );
});
