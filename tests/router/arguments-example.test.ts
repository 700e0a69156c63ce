/** Examples built from schemas pass the check of the schema they come from. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createArgumentChecker, exampleArguments } from '../../src/router/arguments.ts';
import { TOOLBOXES } from '../../src/upstream/transports/builtin.ts';
import { brokenSchema, jsonSchema } from '../render/arbitrary.ts';
import { processorTime } from '../setup/processor.ts';

const checker = createArgumentChecker();

/** The example of one required property. */
function example(property: unknown, key = 'a'): unknown {
  return exampleArguments({ type: 'object', properties: { [key]: property }, required: [key] })[key];
}

const VALUES: [string, unknown, unknown][] = [
  ['a constant', { const: 7 }, 7],
  ['an example', { type: 'string', examples: ['x', 'y'] }, 'x'],
  ['a default', { type: 'number', default: 10 }, 10],
  ['the first of an enum', { enum: [null, 'fast', 'slow'] }, 'fast'],
  ['not a default of another type', { type: 'string', default: 5 }, 'example'],
  ['a number in its range', { type: 'number', minimum: 5, maximum: 9 }, 5],
  ['a number below zero', { type: 'number', maximum: -3 }, -3],
  ['a number between exclusive limits', { type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, 0.5],
  ['a multiple', { type: 'integer', minimum: 7, multipleOf: 5 }, 10],
  ['an integer above a limit', { type: 'integer', exclusiveMinimum: 3 }, 4],
  ['a flag', { type: 'boolean' }, false],
  ['null', { type: 'null' }, null],
  ['a text of a length', { type: 'string', minLength: 10, maxLength: 12 }, 'examplexxx'],
  ['a short text', { type: 'string', maxLength: 2 }, 'ex'],
  ['a text for a pattern', { type: 'string', pattern: '^[A-Z]{3}-\\d+$' }, 'AAA-1'],
  ['a text for a format', { type: 'string', format: 'uuid' }, '123e4567-e89b-42d3-a456-426614174000'],
  ['a text that the description quotes', { type: 'string', description: 'Branch (e.g. "main")' }, 'main'],
  ['a list', { type: 'array', items: { type: 'number' }, minItems: 2 }, [1, 1]],
  ['a list of anything', { type: 'array' }, []],
  ['a tuple', { type: 'array', prefixItems: [{ type: 'number' }, { type: 'boolean' }] }, [1, false]],
  ['an object', { type: 'object', properties: { b: { type: 'number' }, c: {} }, required: ['b'] }, { b: 1 }],
  [
    'a part of everything',
    {
      allOf: [
        { properties: { x: { const: 1 } }, required: ['x'] },
        { properties: { y: { const: 2 } }, required: ['y'] },
      ],
    },
    { x: 1, y: 2 },
  ],
  ['the first alternative', { anyOf: [{ type: 'null' }, { type: 'number' }] }, 1],
  ['several types', { type: ['null', 'integer'] }, 1],
  ['something', {}, 'example'],
];

test.each(VALUES)('the example is %s', (_title, property, expected) => {
  expect(example(property)).toEqual(expected);
});

test.each([
  ['file_path', '/path/to/file.txt'],
  ['url', 'https://example.com'],
  ['issueId', '123'],
  ['start_date', '2026-01-31'],
])('a name says what a text may be: %s', (key, expected) => {
  expect(example({ type: 'string' }, key)).toBe(expected);
});

test('optional properties are left out, required ones of any name are not', () => {
  const schema = JSON.parse(
    '{"properties":{"__proto__":{"const":1},"b":{"const":2}},"required":["__proto__","undeclared"]}',
  );
  const args = exampleArguments(schema);
  expect(Object.entries(args)).toEqual([
    ['__proto__', 1],
    ['undeclared', 'example'],
  ]);
  expect(Object.getPrototypeOf(args)).toBe(Object.prototype);
});

test('a required part that holds itself ends somewhere', () => {
  const schema = {
    $ref: '#/$defs/N',
    $defs: { N: { type: 'object', properties: { n: { $ref: '#/$defs/N' } }, required: ['n'] } },
  };
  expect(JSON.stringify(exampleArguments(schema)).length).toBeLessThan(200);
});

test('parts that multiply at every level are bounded', () => {
  const parts = (level: number) => Array.from({ length: 30 }, () => ({ $ref: `#/$defs/D${level}` }));
  const $defs = Object.fromEntries(Array.from({ length: 9 }, (_, level) => [`D${level}`, { allOf: parts(level + 1) }]));
  const started = processorTime();
  expect(exampleArguments({ $ref: '#/$defs/D0', $defs })).toEqual({});
  expect(processorTime() - started).toBeLessThan(500);
});

test('what stands beside a reference counts first', () => {
  const schema = {
    properties: { a: { $ref: '#/$defs/A', default: 2 } },
    required: ['a'],
    $defs: { A: { type: 'number', default: 1 } },
  };
  expect(exampleArguments(schema)).toEqual({ a: 2 });
});

const fixtures = resolve('tests/fixtures/schemas');
const tools = [
  ...readdirSync(fixtures)
    .filter((file) => file.endsWith('.json') && file !== 'circles.json')
    .map((file) => JSON.parse(readFileSync(join(fixtures, file), 'utf8'))),
  ...Object.values(TOOLBOXES).flatMap((create) => create().tools),
];

test.each(tools.map((tool) => [tool.name, tool]))(
  'the example of "%s" passes its own check untouched',
  async (_name, tool) => {
    const args = exampleArguments(tool.inputSchema);
    expect(await checker.check(tool, args)).toMatchObject({ ok: true, args });
  },
);

test('no schema makes an example throw', () => {
  fc.assert(
    fc.property(fc.oneof(jsonSchema, brokenSchema), (schema) => {
      expect(typeof exampleArguments(schema)).toBe('object');
    }),
  );
});
