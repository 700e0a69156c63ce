/** JSON for a model: compact, or TOON where that pays. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { estimateTokens } from '../../src/render/token-estimate.ts';
import { renderJson } from '../../src/render/toon.ts';

const AUTO = { toon: 'auto', toonMinSize: 3 } as const;
const rows = Array.from({ length: 10 }, (_, id) => ({ id, name: `name ${id}`, active: id % 2 === 0 }));

let deep: unknown = 1;
for (let level = 0; level < 3000; level += 1) deep = [deep];

const SAME: [string, unknown][] = [
  ['an empty object', {}],
  ['an empty list', []],
  ['a number', 5],
  ['nothing', null],
  ['a string', 'text'],
  ['an irregular value', { a: { b: [1, { c: 2 }] }, d: 'text' }],
  ['a lone surrogate among rows', [...rows, { id: 10, name: '\ud800', active: true }]],
  ['a very deep value', deep],
];

test.each(SAME)('%s stays compact JSON', (_title, value) => {
  expect(renderJson(value, AUTO)).toBe(JSON.stringify(value));
});

test('uniform rows become TOON', () => {
  const text = renderJson(rows, AUTO);
  expect(text).toContain('{id,name,active}:');
  expect(text.length).toBeLessThanOrEqual(0.9 * JSON.stringify(rows).length);
});

test('numbers that JavaScript cannot hold are written as they are', () => {
  const long = parseLossless('9007199254740993');
  const text = renderJson(
    rows.map((row) => ({ ...row, id: long })),
    AUTO,
  );
  expect(text).toContain('{id,name,active}:');
  expect(text).toContain(`  ${JSON.stringify(long)},name 0,true`);
});

test('rows inside an object become TOON too', () => {
  expect(renderJson({ total: 10, rows }, AUTO)).toMatch(/^total: 10\n/);
});

test('TOON can be switched off, and needs enough entries', () => {
  expect(renderJson(rows, { ...AUTO, toon: 'off' })).toBe(JSON.stringify(rows));
  expect(renderJson(rows, { ...AUTO, toonMinSize: 11 })).toBe(JSON.stringify(rows));
});

test('what nobody reads whole stays JSON, which takes no time', () => {
  const many = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `a name that has some length ${id}` }));
  expect(renderJson(many.slice(0, 1000), AUTO)).not.toBe(JSON.stringify(many.slice(0, 1000)));
  expect(renderJson(many, AUTO)).toBe(JSON.stringify(many));
});

test('undefined is written as null', () => {
  expect(renderJson(undefined, AUTO)).toBe('null');
});

test('no value throws, and none becomes longer than its JSON', () => {
  fc.assert(
    fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
      expect(renderJson(value, AUTO).length).toBeLessThanOrEqual(JSON.stringify(value).length);
    }),
  );
});

test('the token estimate grows with the text', () => {
  expect(estimateTokens('')).toBe(0);
  expect(estimateTokens('hello world')).toBeGreaterThan(0);
  expect(estimateTokens('hello world '.repeat(100))).toBeGreaterThan(100);
  expect(estimateTokens('你好世界')).toBeGreaterThan(1);
});
