/** The type of a JSON value, inferred from the value. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { renderShape } from '../../src/render/type-of-value.ts';
import { processorTime } from '../setup/processor.ts';

test('an object with a hundred thousand keys of different types is told by some of them', () => {
  const wide = Object.fromEntries(
    Array.from({ length: 100_000 }, (_, at) => [`k${at}`, at % 2 ? at : { [`x${at}`]: 1 }]),
  );
  expect(renderShape(wide, 10_000)).toContain('/* 940 or more keys */');
});

describe('the shape of a value', () => {
  test.each<[unknown, string]>([
    ['x', 'string'],
    [1, 'number'],
    [null, 'null'],
    [true, 'boolean'],
    [{}, '{}'],
    [[], 'unknown[]'],
    [[1, 'a', null], '(null | number | string)[]'],
    [{ a: 1, 'b-c': [true] }, '{ a: number; "b-c": boolean[] }'],
    [[{ a: 1 }, { a: 2, b: 'x' }], '{ a: number; b?: string }[]'],
    [{ rows: [{ id: 1, tags: ['x'] }], next: null }, '{ rows: { id: number; tags: string[] }[]; next: null }'],
    [parseLossless('{"a":[9007199254740993,"x"]}'), '{ a: (number | string)[] }'],
    [[[1], [2, 'x']], '(number | string)[][]'],
    [Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`id${i}`, { n: i }])), 'Record<string, { n: number }>'],
  ])('%j', (value, expected) => {
    expect(renderShape(value)).toBe(expected);
  });

  test('names such as __proto__ are keys like others', () => {
    expect(renderShape(JSON.parse('{"__proto__": 1, "constructor": "x"}'))).toBe(
      '{ __proto__: number; constructor: string }',
    );
  });

  test('what lies deep is left out where the whole would be too long', () => {
    const wide = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`name${i}`, { [`inner${i}`]: { x: i } }]));
    expect(renderShape(wide, 10_000)).toContain('x: number');
    expect(renderShape(wide, 480)).toContain('name0: { inner0: object }');
    expect(renderShape(wide, 300)).toContain('name0: object');
  });

  test('many keys are counted', () => {
    const many = Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`k${i}`, i % 2 === 0 ? i : 'x']));
    expect(renderShape(many, 5000)).toContain('/* 40 more keys */');
  });

  test('never fails, whatever the value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(renderShape(value).length).toBeGreaterThan(0);
      }),
    );
  });

  test('a large and deep value takes no time to speak of', () => {
    let deep: unknown = 1;
    for (let i = 0; i < 50_000; i += 1) deep = [deep];
    const large = { deep, rows: Array.from({ length: 200_000 }, (_, id) => ({ id, more: { id } })) };
    const started = processorTime();
    expect(renderShape(large)).toContain('rows: { id: number; more: { id: number } }[]');
    expect(processorTime() - started).toBeLessThan(1000);
  });
});
