/** Arguments against schemas: what passes, what is mended, and the words for what is wrong. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseLossless } from '../../src/lossless-json.ts';
import { createArgumentChecker, type Problem } from '../../src/router/arguments.ts';
import { badArguments } from '../../src/router/not-found.ts';
import { createValidators } from '../../src/router/validator.ts';
import { brokenSchema, jsonSchema } from '../render/arbitrary.ts';
import { processorTime } from '../setup/processor.ts';

type Schema = Record<string, unknown>;

const checker = createArgumentChecker();
const object = (properties: Schema, more: Schema = {}): Schema => ({ type: 'object', properties, ...more });
const closed = (properties: Schema, required: string[] = []): Schema =>
  object(properties, { required, additionalProperties: false });

async function accepted(schema: unknown, args: unknown): Promise<unknown> {
  const checked = await checker.check({ inputSchema: schema }, args);
  return checked.ok ? checked.args : checked.problems;
}

async function refused(schema: unknown, args: unknown): Promise<Problem[]> {
  const checked = await checker.check({ inputSchema: schema }, args);
  return checked.ok ? [] : checked.problems;
}

const PASSING: [string, unknown, unknown][] = [
  ['fitting arguments', closed({ a: { type: 'string' } }, ['a']), { a: 'x' }],
  ['unknown keys where the schema is open', object({ a: { type: 'string' } }), { b: 1 }],
  ['anything without a schema', undefined, { b: 1 }],
  ['anything for a schema that is no schema', 'nonsense', { b: 1 }],
  ['anything for a schema that does not compile', object({ a: { type: 'string', minLength: 'x' } }), { a: 5 }],
  ['a value under an empty enum', object({ a: { type: 'string', enum: [] } }), { a: 'x' }],
  ['a value under an empty or unknown type', object({ a: { type: [] }, b: { type: 'any' } }), { a: 1, b: 2 }],
  ['a value behind a reference to another document', object({ a: { $ref: 'https://example.com/s.json' } }), { a: 1 }],
  ['a value behind a reference to nowhere', object({ a: { $ref: '#/$defs/Nope' } }), { a: 1 }],
  ['an unknown format', object({ a: { type: 'string', format: 'odd' } }), { a: 'x' }],
  [
    'a text that a format does not describe',
    closed({ id: { type: 'string', format: 'uuid' }, url: { type: 'string', format: 'uri' } }),
    { id: '1a2b3c4d5e6f7a8b9c0d1e2f3a4b5c6d', url: 'example.com' },
  ],
  [
    'a text in alternatives that only a format tells apart',
    closed({
      at: {
        oneOf: [
          { type: 'string', format: 'date' },
          { type: 'string', format: 'date-time' },
        ],
      },
    }),
    { at: '2026-01-31' },
  ],
  [
    'a text that is excluded by its format',
    closed({ name: { type: 'string', not: { format: 'uri' } } }),
    { name: 'Ada' },
  ],
  [
    'a text under a condition on a format',
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    closed({ to: { type: 'string', if: { format: 'email' }, else: { maxLength: 2 }, then: { maxLength: 2 } } }),
    { to: 'Ada Lovelace' },
  ],
  ['a pattern that could stall', object({ a: { type: 'string', pattern: '^(a+)+$' } }), { a: 'b' }],
  [
    'keys under a pattern that could stall',
    { patternProperties: { '^(x+)+$': {} }, additionalProperties: false },
    { y: 1 },
  ],
  ['required: true of an old draft', object({ a: { type: 'string', required: true } }), {}],
  ['null where the schema says nullable', object({ a: { type: 'string', nullable: true } }), { a: null }],
  ['a schema that is its own part', { $ref: '#' }, { a: 1 }],
  [
    'numbers that JavaScript cannot hold',
    closed({ a: { type: 'integer' }, b: {} }),
    parseLossless('{"a":9007199254740993,"b":[1e400]}'),
  ],
  [
    'long numbers of which JavaScript takes one for another',
    closed({ a: { uniqueItems: true }, b: { enum: [1] } }),
    'rawJSON' in JSON ? parseLossless('{"a":[9007199254740993,9007199254740992]}') : {},
  ],
  ['two schemas with the same $id', { $id: 'http://x/s', ...object({ a: { type: 'string' } }) }, { a: 'x' }],
  ['the other schema with the same $id', { $id: 'http://x/s', ...object({ a: { type: 'number' } }) }, { a: 5 }],
  [
    'a dialect nobody knows',
    { $schema: 'http://json-schema.org/draft-04/schema#', ...object({ a: { type: 'number' } }) },
    { a: 5 },
  ],
];

test.each(PASSING)('%s: passes untouched', async (_title, schema, args) => {
  expect(await accepted(schema, args)).toBe(args);
});

const list = (items: Schema): Schema => ({ type: 'array', items });

const MENDED: [string, Schema, unknown, unknown][] = [
  ['arguments as JSON text', closed({ a: { type: 'number' } }), '{"a":1}', { a: 1 }],
  ['arguments encoded twice', closed({ a: { type: 'number' } }), JSON.stringify('{"a":1}'), { a: 1 }],
  ['no arguments', closed({}), undefined, {}],
  ['null for arguments', closed({}), null, {}],
  ['an empty text', closed({}), ' ', {}],
  ['a number as text', closed({ a: { type: 'number' } }), { a: ' -1.5e3 ' }, { a: -1500 }],
  ['an integer as text', closed({ a: { type: 'integer' } }), { a: '5' }, { a: 5 }],
  ['a boolean as text', closed({ a: { type: 'boolean' } }), { a: 'True' }, { a: true }],
  ['null as text', closed({ a: { type: ['number', 'null'] } }), { a: 'null' }, { a: null }],
  [
    'a number in an alternative',
    closed({ a: { anyOf: [{ type: 'number' }, { type: 'null' }] } }),
    { a: '5' },
    { a: 5 },
  ],
  ['one value for a list', closed({ a: list({ type: 'string' }) }), { a: 'x' }, { a: ['x'] }],
  ['one object for a list', closed({ a: list(object({ b: {} })) }), { a: { b: 1 } }, { a: [{ b: 1 }] }],
  ['one number as text for a list', closed({ a: list({ type: 'number' }) }), { a: '5' }, { a: [5] }],
  [
    'a long number for a list',
    closed({ a: list({ type: 'integer' }) }),
    parseLossless('{"a":-9007199254740993}'),
    parseLossless('{"a":[-9007199254740993]}'),
  ],
  [
    'a long number in a text',
    closed({ a: list({ type: 'integer' }) }),
    '{"a":"[9007199254740993]"}',
    parseLossless('{"a":[9007199254740993]}'),
  ],
  ['a list as text', closed({ a: list({ type: 'number' }) }), { a: '[1, "2"]' }, { a: [1, 2] }],
  ['an object as text', closed({ a: closed({ b: { type: 'number' } }) }), { a: '{"b":"2"}' }, { a: { b: 2 } }],
  [
    'values deep inside',
    closed({ a: list(closed({ 'b/c~': { type: 'boolean' } })) }),
    { a: [{ 'b/c~': 'false' }] },
    { a: [{ 'b/c~': false }] },
  ],
  [
    'the only reading that fits',
    closed({ a: { anyOf: [{ type: 'number' }, list({ type: 'number' })] } }),
    { a: '5' },
    { a: 5 },
  ],
];

test.each(MENDED)('%s: mended', async (_title, schema, args, expected) => {
  const before = JSON.stringify(args);
  expect(await accepted(schema, args)).toEqual(expected);
  expect(JSON.stringify(args)).toBe(before);
});

const UNMENDED: [string, Schema, unknown][] = [
  ['text that is no number', { type: 'number' }, 'five'],
  ['a number that would lose digits', { type: 'integer' }, '12345678901234567890'],
  ['a number with a leading zero', { type: 'number' }, '007'],
  ['a fraction for an integer', { type: 'integer' }, '1.5'],
  ['a number for a text', { type: 'string' }, 5],
  ['yes for true', { type: 'boolean' }, 'yes'],
  ['1 for true', { type: 'boolean' }, 1],
  ['a text with commas for a list', list({ type: 'string' }), 'a,b'],
  ['null for a list', list({ type: 'string' }), null],
  ['two readings that both fit', { anyOf: [{ type: 'number' }, list({ type: 'string' })] }, '5'],
  ['text that is no JSON for an object', { type: 'object' }, '{broken'],
  ['a list for an object', { type: 'object' }, [1]],
];

test.each(UNMENDED)('%s: not guessed', async (_title, property, value) => {
  const problems = await refused(closed({ a: property }), { a: value });
  expect(problems.map(({ path }) => path)).toContain('a');
});

const WORDS: [string, Schema, unknown, Problem[]][] = [
  ['missing', closed({ path: {} }, ['path']), {}, [{ path: 'path', message: 'missing' }]],
  [
    'missing, given under another name',
    object({ path: {} }, { required: ['path'] }),
    { pth: 1 },
    [{ path: 'path', message: 'missing; you gave "pth"' }],
  ],
  [
    'missing, and the only other key',
    object({ path: {}, tail: {} }, { required: ['path'] }),
    { file: 1, tail: 2 },
    [{ path: 'path', message: 'missing; you gave "file"' }],
  ],
  [
    'several missing, and one other key',
    object({ path: {}, text: {} }, { required: ['path', 'text'] }),
    { file: 1 },
    [
      { path: 'path', message: 'missing' },
      { path: 'text', message: 'missing' },
    ],
  ],
  [
    'missing, though every object has one',
    closed({}, ['constructor']),
    {},
    [{ path: 'constructor', message: 'missing' }],
  ],
  [
    'unknown',
    closed({ path: {} }),
    { pth: 1 },
    [{ path: '', message: 'unknown property "pth"; did you mean "path"?' }],
  ],
  ['unknown and unlike', closed({ path: {} }), { zzzzz: 1 }, [{ path: '', message: 'unknown property "zzzzz"' }]],
  [
    'type',
    closed({ n: { type: 'number' } }),
    { n: 'abc' },
    [{ path: 'n', message: 'must be number, got string "abc"' }],
  ],
  [
    'type of null',
    closed({ n: { type: 'number' } }),
    { n: null },
    [{ path: 'n', message: 'must be number, got null' }],
  ],
  [
    'a secret in a list',
    closed({ tokens: { type: 'array', items: { type: 'number' } } }),
    { tokens: ['hunter2'] },
    [{ path: 'tokens[0]', message: 'must be number, got string' }],
  ],
  [
    'a value with a secret in it',
    closed({ n: { type: 'number' } }),
    { n: { password: 'hunter2', user: 'me' } },
    [{ path: 'n', message: 'must be number, got object {"password":"<password>","user":"me"}' }],
  ],
  [
    'type of a secret',
    closed({ api_key: { type: 'number' } }),
    { api_key: 'sk-1' },
    [{ path: 'api_key', message: 'must be number, got string' }],
  ],
  [
    'types of alternatives',
    closed({ n: { anyOf: [{ type: 'number' }, { type: 'null' }] } }),
    { n: 'x' },
    [{ path: 'n', message: 'must be number or null, got string "x"' }],
  ],
  [
    'deep places',
    closed({ a: list(closed({ 'odd key': { type: 'number' } })) }),
    { a: [{ 'odd key': [] }] },
    [{ path: 'a[0]["odd key"]', message: 'must be number, got array []' }],
  ],
  [
    'enum',
    closed({ m: { enum: ['fast', 'slow'] } }),
    { m: 'fats' },
    [{ path: 'm', message: 'must be one of "fast", "slow", got "fats"; did you mean "fast"?' }],
  ],
  ['const', closed({ m: { const: 1 } }), { m: 2 }, [{ path: 'm', message: 'must be 1, got 2' }]],
  ['range', closed({ n: { type: 'number', minimum: 1 } }), { n: 0 }, [{ path: 'n', message: 'must be >= 1, got 0' }]],
  [
    'range of draft-04',
    closed({ n: { type: 'number', minimum: 1, exclusiveMinimum: true } }),
    { n: 1 },
    [{ path: 'n', message: 'must be > 1, got 1' }],
  ],
  [
    'neither of two formats',
    closed({
      at: {
        oneOf: [
          { type: 'string', format: 'date' },
          { type: 'integer', format: 'int64' },
        ],
      },
    }),
    { at: true },
    [{ path: 'at', message: 'must be string or integer, got boolean true' }],
  ],
  [
    'pattern',
    closed({ c: { type: 'string', pattern: '^[A-Z]{3}$' } }),
    { c: 'ab' },
    [{ path: 'c', message: 'must match /^[A-Z]{3}$/, got "ab"' }],
  ],
  [
    'length',
    closed({ c: { type: 'array', minItems: 2 } }),
    { c: [1] },
    [{ path: 'c', message: 'must not have fewer than 2 items' }],
  ],
  ['not', closed({ c: { not: { const: 1 } } }), { c: 1 }, [{ path: 'c', message: 'has a form that is not allowed' }]],
  ['false', closed({ c: false as unknown as Schema }), { c: 1 }, [{ path: 'c', message: 'is not allowed' }]],
  [
    'several at once',
    object({}, { oneOf: [{ properties: { a: {} } }, { properties: { b: {} } }] }),
    {},
    [{ path: '', message: 'must fit only one of the allowed forms' }],
  ],
  [
    'alternatives by their parts',
    object({}, { anyOf: [{ required: ['a'] }, { required: ['b'] }] }),
    {},
    [{ path: 'a', message: 'missing' }],
  ],
  [
    'keys',
    object({}, { propertyNames: { maxLength: 2 } }),
    { long: 1 },
    [
      { path: '', message: 'must not have more than 2 characters, got "long"' },
      { path: '', message: 'has a key that is not allowed: "long"' },
    ],
  ],
  [
    'a value in a tuple',
    {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      ...closed({ t: { type: 'array', prefixItems: [{ type: 'number' }] } }),
    },
    { t: ['x'] },
    [{ path: 't[0]', message: 'must be number, got string "x"' }],
  ],
  [
    '2020-12 without saying so',
    closed({ t: { type: 'array', prefixItems: [{ type: 'number' }] } }),
    { t: ['x'] },
    [{ path: 't[0]', message: 'must be number, got string "x"' }],
  ],
  [
    'draft-07 tuples',
    closed({ t: { type: 'array', items: [{ type: 'number' }] } }),
    { t: ['x'] },
    [{ path: 't[0]', message: 'must be number, got string "x"' }],
  ],
  [
    'unevaluated',
    { properties: { path: {} }, unevaluatedProperties: false },
    { pth: 1 },
    [{ path: '', message: 'unknown property "pth"; did you mean "path"?' }],
  ],
  [
    'if and then',
    JSON.parse('{"properties":{"k":{}},"if":{"properties":{"k":{"const":1}}},"then":{"required":["x"]}}'),
    { k: 1 },
    [{ path: 'x', message: 'missing' }],
  ],
];

test.each(WORDS)('the words for %s', async (_title, schema, args, expected) => {
  expect(await refused(schema, args)).toEqual(expected);
});

test.each([
  ['a list', [1], 'must be an object, got array'],
  ['a number', 5, 'must be an object, got number'],
  ['text', 'hello', 'must be an object, got text that is not a JSON object: "hello"'],
  [
    'JSON with a mistake and a secret',
    '{"password": "hunter2",}',
    'must be an object, got text that is not a JSON object: "{\\"password\\": \\"*******\\",}"',
  ],
  ['JSON of another kind', '[1]', 'must be an object, got text that is not a JSON object: "[1]"'],
])('arguments must be an object, not %s', async (_title, args, message) => {
  expect(await refused(closed({}), args)).toEqual([{ path: '', message }]);
});

test('a key that an open schema does not know is passed on and noted', async () => {
  const schema = object({ path: { type: 'string' }, tail: {} });
  expect(await checker.check({ inputSchema: schema }, { pth: 'x', zzzzzz: 1 })).toEqual({
    ok: true,
    args: { pth: 'x', zzzzzz: 1 },
    notes: [
      'unknown property "pth" was passed on; did you mean "path"?',
      'unknown property "zzzzzz" was passed on; the known ones are path, tail',
    ],
  });
});

describe('keys that an open schema does not know', () => {
  const point = { type: 'object', properties: { longitude: { type: 'number' }, latitude: { type: 'number' } } };
  const schema = {
    type: 'object',
    properties: { place: { $ref: '#/$defs/point' }, points: { type: 'array', items: point } },
    $defs: { point },
  };
  const notes = async (inputSchema: unknown, args: unknown) => {
    const checked = await createArgumentChecker().check({ inputSchema }, args);
    return checked.ok ? checked.notes : checked;
  };

  test('are noted inside objects and lists too, with the whole path', async () => {
    expect(await notes(schema, { place: { longitud: 1 }, points: [{}, { latitud: 2 }] })).toEqual([
      'unknown property "place.longitud" was passed on; did you mean "place.longitude"?',
      'unknown property "points[1].latitud" was passed on; did you mean "points[1].latitude"?',
    ]);
  });

  test.each([
    ['unlike any that is declared, inside', schema, { place: { other: 1 } }],
    ['unlike any that is declared, where others are allowed', { ...schema, additionalProperties: true }, { other: 1 }],
    ['unlike any, where none is declared', { type: 'object', properties: {} }, { other: 1 }],
    ['like one that is given as well, inside', schema, { place: { longitude: 1, longitud: 1 } }],
    ['where any key is declared', { ...schema, additionalProperties: { type: 'number' } }, { plce: 1 }],
    ['where keys may be declared elsewhere', { ...schema, allOf: [{ properties: { plce: {} } }] }, { plce: 1 }],
  ])('are not noted when %s', async (_, inputSchema, args) => {
    expect(await notes(inputSchema, args)).toEqual([]);
  });

  test('are noted ten times at most', async () => {
    const points = Array.from({ length: 30 }, () => ({ latitud: 2 }));
    expect(await notes(schema, { points })).toHaveLength(10);
  });
});

test('the message counts the problems beyond the first twenty, and the names of missing parameters on one line', async () => {
  const names = Array.from({ length: 30 }, (_, index) => `p${index}`);
  const string = { type: 'string' };
  const lists = Object.fromEntries(names.map((name) => [name, ['a', 'b']]));
  const wrong = await refused(closed(Object.fromEntries(names.map((name) => [name, string]))), lists);
  const tool = { name: 'tool', inputSchema: { type: 'object' as const } };
  const linesOf = (problems: Problem[]) => badArguments({ server: 's', tool, problems }).message.split('\n').slice(1);
  expect(wrong).toHaveLength(30);
  expect(linesOf(wrong)).toHaveLength(21);
  expect(linesOf(wrong).at(-1)).toBe('  and 10 more problems');
  const missing = await refused(closed({}, names), {});
  expect(linesOf(missing)).toEqual([expect.stringMatching(/^ {2}missing: p0, p1, .*, p\d+ and \d more$/)]);
  const many = Array.from({ length: 200 }, (_, index) => `p${index}`);
  expect(await refused(closed({}, many), {})).toHaveLength(100);
});

test('a schema is compiled once, also when it arrives anew', async () => {
  const fresh = () => JSON.parse('{"type":"object","properties":{"once":{"type":"number","minimum":3}}}');
  const validators = createValidators();
  const first = await validators.get(fresh());
  expect(first).toBeTypeOf('function');
  expect(await validators.get(fresh())).toBe(first);
});

test('the validators kept are bounded', async () => {
  const validators = createValidators();
  const first = await validators.get({ minProperties: 0 });
  for (let count = 1; count <= 500; count += 1) await validators.get({ minProperties: count });
  expect(await validators.get({ minProperties: 0 })).not.toBe(first);
});

test('a schema that doubles at every reference is not checked, and costs nothing', async () => {
  const $defs = Object.fromEntries(
    Array.from({ length: 60 }, (_, index) => [
      `D${index}`,
      { allOf: [{ $ref: `#/$defs/D${index + 1}` }, { $ref: `#/$defs/D${index + 1}` }] },
    ]),
  );
  const started = processorTime();
  expect(await refused({ $ref: '#/$defs/D0', $defs: { ...$defs, D60: { type: 'string' } } }, { a: 1 })).toEqual([]);
  expect(processorTime() - started).toBeLessThan(1000);
});

test('deep arguments do not stall a schema that refers to itself', async () => {
  const both = { properties: { x: { $ref: '#/$defs/N' } } };
  const schema = {
    $ref: '#/$defs/N',
    $defs: {
      N: {
        type: 'object',
        anyOf: [
          { ...both, required: ['no'] },
          { ...both, required: ['nope'] },
        ],
      },
    },
  };
  let args: Record<string, unknown> = {};
  for (let level = 0; level < 60; level += 1) args = { x: args };
  const started = processorTime();
  await refused(schema, args);
  expect(processorTime() - started).toBeLessThan(1000);
});

test('what is nested beyond the stack is passed on', async () => {
  let deep: unknown = 1;
  for (let level = 0; level < 100_000; level += 1) deep = [deep];
  expect(await checker.check({ inputSchema: closed({ a: { type: 'string' } }) }, { a: deep })).toMatchObject({
    ok: true,
  });
  expect(await checker.check({ inputSchema: { items: deep } }, { a: 1 })).toMatchObject({ ok: true });
});

test('a large schema compiles within a bound, a huge one not at all', async () => {
  const wide = (count: number) =>
    closed(
      Object.fromEntries(
        Array.from({ length: count }, (_, index) => [`p${index}`, { type: ['string', 'null'], enum: ['a', null] }]),
      ),
    );
  expect(await refused(wide(2000), { p0: 'b' })).not.toEqual([]);
  expect(await refused(wide(20_000), { p0: 'b' })).toEqual([]);
});

test('no schema and no arguments make the check throw', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(jsonSchema, brokenSchema), fc.jsonValue(), async (schema, args) => {
      const checked = await checker.check({ inputSchema: schema }, args);
      expect(typeof checked.ok).toBe('boolean');
    }),
    { numRuns: 300 },
  );
});
