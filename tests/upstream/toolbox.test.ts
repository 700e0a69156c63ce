/** Results, errors and limits of the built-in tools; every result is checked with the tool's own output schema. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createMemory, MAX_ENTRIES, MAX_VALUE } from '../../src/upstream/toolbox/memory.ts';
import { createTime } from '../../src/upstream/toolbox/time.ts';
import type { Toolbox } from '../../src/upstream/toolbox/toolbox.ts';
import { openBuiltin, TOOLBOXES } from '../../src/upstream/transports/builtin.ts';

type Args = Record<string, unknown>;

const ajv = new Ajv2020({ strict: false });
const NOW = Date.UTC(2026, 2, 1, 12, 30, 15);

function open(name: keyof typeof TOOLBOXES): Toolbox {
  return name === 'time' ? createTime(() => NOW) : TOOLBOXES[name]();
}

/** Runs a tool with arguments that fit its input schema; the result fits its output schema. */
function run(toolbox: Toolbox, name: string, args: Args): Args {
  const tool = toolbox.tools.find((candidate) => candidate.name === name);
  if (!tool) throw new Error(`no tool ${name}`);
  expect(ajv.validate(tool.inputSchema, args), ajv.errorsText()).toBe(true);
  const result = tool.run(args) as Args;
  expect(ajv.validate(tool.outputSchema ?? {}, JSON.parse(JSON.stringify(result))), ajv.errorsText()).toBe(true);
  return result;
}

/** Runs a tool whatever the schema says and returns the sentence with which it refuses. */
function refusal(toolbox: Toolbox, name: string, args: Args): string {
  try {
    toolbox.tools.find((candidate) => candidate.name === name)?.run(args);
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error(`${name} did not refuse`);
}

type Case = [tool: string, args: Args, expected: Args];
type Refused = [tool: string, args: Args, sentence: string];

function check(name: keyof typeof TOOLBOXES, cases: Case[], refused: Refused[]): void {
  describe(`the toolbox "${name}"`, () => {
    test.each(cases)('%s %j', (tool, args, expected) => {
      expect(run(open(name), tool, args)).toMatchObject(expected);
    });
    test.each(refused)('%s refuses %j', (tool, args, sentence) => {
      expect(refusal(open(name), tool, args)).toContain(sentence);
    });
  });
}

check(
  'time',
  [
    [
      'now',
      {},
      { iso: '2026-03-01T12:30:15Z', weekday: 'Sunday', unix: NOW / 1000, offset: '+00:00', timezone: 'UTC' },
    ],
    ['now', { timezone: 'Asia/Shanghai' }, { iso: '2026-03-01T20:30:15+08:00', date: '2026-03-01', time: '20:30:15' }],
    ['now', { timezone: 'America/St_Johns' }, { offset: '-03:30' }],
    [
      'convert',
      { time: '2026-07-01 09:00', from: 'Europe/Paris', to: 'America/New_York' },
      { iso: '2026-07-01T03:00:00-04:00' },
    ],
    ['convert', { time: '2026-07-01T09:00:00+02:00', from: 'Asia/Tokyo', to: 'UTC' }, { iso: '2026-07-01T07:00:00Z' }],
    ['convert', { time: '2026-07-01T09:00:00.250-0230', to: 'UTC' }, { iso: '2026-07-01T11:30:00.250Z' }],
    ['add', { time: '2026-01-31', months: 1 }, { date: '2026-02-28' }],
    ['add', { time: '2024-02-29', years: 1 }, { date: '2025-02-28' }],
    ['add', { time: '2026-01-15', months: -13 }, { date: '2024-12-15' }],
    ['add', { time: '2026-03-28 12:00', timezone: 'Europe/Paris', days: 1 }, { iso: '2026-03-29T12:00:00+02:00' }],
    ['add', { time: '2026-03-28 12:00', timezone: 'Europe/Paris', hours: 24 }, { iso: '2026-03-29T13:00:00+02:00' }],
    [
      'add',
      { time: '2026-03-28 02:30', timezone: 'Europe/Paris', weeks: 1, days: -6 },
      { iso: '2026-03-29T03:30:00+02:00' },
    ],
    ['add', { time: 'now', minutes: 30, seconds: -15 }, { iso: '2026-03-01T13:00:00Z' }],
    ['difference', { start: '2026-03-01', end: '2026-03-04 04:00' }, { seconds: 273600, words: '3 days 4 hours' }],
    ['difference', { start: '2026-03-02', end: '2026-03-01' }, { days: -1, words: 'minus 1 day' }],
    ['difference', { start: 'now', end: 'now' }, { seconds: 0, words: '0 seconds' }],
    ['parse', { text: '1772368215' }, { iso: '2026-03-01T12:30:15Z' }],
    ['parse', { text: '1772368215000' }, { iso: '2026-03-01T12:30:15Z' }],
    ['parse', { text: 'Sun, 01 Mar 2026 09:30:00 GMT' }, { iso: '2026-03-01T09:30:00Z' }],
    ['parse', { text: '2026-10-25 02:30', timezone: 'Europe/Paris' }, { iso: '2026-10-25T02:30:00+02:00' }],
    ['parse', { text: '-12345678901' }, { weekday: 'Friday' }],
  ],
  [
    ['now', { timezone: 'Mars/Olympus' }, 'unknown time zone "Mars/Olympus"'],
    ['convert', { time: 'tomorrow', to: 'UTC' }, '"tomorrow" is not a time'],
    ['parse', { text: '2026-02-30' }, 'not on the calendar'],
    ['parse', { text: '2026-02-03 25:00' }, 'not on the calendar'],
    ['parse', { text: '9999999999999999' }, 'out of the range'],
    ['add', { time: 'now', days: 1e12 }, '"days" is too large'],
    ['add', { time: 'now', years: 400_000 }, 'out of the range'],
    ['add', { time: 5 }, '"time" must be a string'],
    ['add', { time: 'now', days: 'x' }, '"days" must be a finite number'],
  ],
);

check(
  'text',
  [
    ['count', { text: 'Hello world\n你好世界 😀' }, { characters: 18, words: 4, lines: 2, bytes: 29 }],
    ['count', { text: '' }, { characters: 0, words: 0, lines: 0, bytes: 0, tokens: 0 }],
    ['convert_case', { text: 'HTTPServer error-code', style: 'snake' }, { text: 'http_server_error_code' }],
    ['convert_case', { text: 'read file 2', style: 'camel' }, { text: 'readFile2' }],
    ['convert_case', { text: 'read file', style: 'pascal' }, { text: 'ReadFile' }],
    ['convert_case', { text: 'readFile', style: 'kebab' }, { text: 'read-file' }],
    ['convert_case', { text: 'readFile', style: 'constant' }, { text: 'READ_FILE' }],
    ['convert_case', { text: "the DOG isn't", style: 'title' }, { text: "The Dog Isn't" }],
    ['convert_case', { text: 'ONE. two', style: 'sentence' }, { text: 'One. Two' }],
    ['convert_case', { text: 'straße', style: 'upper' }, { text: 'STRASSE' }],
    ['convert_case', { text: 'ABC', style: 'lower' }, { text: 'abc' }],
    ['replace', { text: 'a.b.c', search: '.', replacement: '$&' }, { text: 'a$&b$&c', count: 2 }],
    ['replace', { text: 'Aa', search: 'a', replacement: '', ignore_case: true }, { text: '', count: 2 }],
    ['replace', { text: 'x(a+)+$x', search: '(a+)+$' }, { text: 'x(a+)+$x', count: 1 }],
    ['replace', { text: 'a-b/c', search: '-b/', replacement: '' }, { text: 'ac', count: 1 }],
    [
      'lines',
      { text: ' b\na\r\n\nb ', trim: true, drop_empty: true, unique: true, sort: 'ascending' },
      { lines: ['a', 'b'], count: 2 },
    ],
    ['lines', { text: '10 x\n9 y\nz', sort: 'numeric' }, { lines: ['9 y', '10 x', 'z'] }],
    ['lines', { text: 'a\nb\nab', containing: 'b', sort: 'descending', first: 1 }, { lines: ['b'] }],
    [
      'diff',
      { before: 'a\nb\nc', after: 'a\nx\nc\nd' },
      { diff: '@@ -1,3 +1,4 @@\n a\n-b\n+x\n c\n+d', added: 2, removed: 1 },
    ],
    ['diff', { before: 'same', after: 'same' }, { diff: '', added: 0, removed: 0 }],
    [
      'diff',
      { before: 'a\nb\nc\nd\ne', after: 'a2\nb\nc\nd\ne2', context: 0 },
      { diff: '@@ -1,1 +1,1 @@\n-a\n+a2\n@@ -5,1 +5,1 @@\n-e\n+e2' },
    ],
    ['diff', { before: 'a\nb', after: 'a\nnew\nb', context: 0 }, { diff: '@@ -1,0 +2,1 @@\n+new' }],
    ['encode', { text: 'é?', encoding: 'base64' }, { text: 'w6k/' }],
    ['encode', { text: 'w6k_', encoding: 'base64url', decode: true }, { text: 'é?' }],
    ['encode', { text: 'aGk=', encoding: 'base64', decode: true }, { text: 'hi' }],
    ['encode', { text: 'a b&c', encoding: 'url' }, { text: 'a%20b%26c' }],
    ['encode', { text: 'a%20b', encoding: 'url', decode: true }, { text: 'a b' }],
    ['encode', { text: 'hi', encoding: 'hex' }, { text: '6869' }],
    ['encode', { text: '68 69', encoding: 'hex', decode: true }, { text: 'hi' }],
    ['encode', { text: 'a"b', encoding: 'json' }, { text: '"a\\"b"' }],
    ['encode', { text: '"a\\n"', encoding: 'json', decode: true }, { text: 'a\n' }],
    ['encode', { text: '\ud800', encoding: 'url' }, { text: '%EF%BF%BD' }],
    [
      'hash',
      { text: '' },
      { hash: 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', algorithm: 'sha256' },
    ],
    ['hash', { text: 'a', algorithm: 'md5' }, { hash: '0cc175b9c0f1b6a831c399e269772661' }],
  ],
  [
    ['count', { text: 'x'.repeat(200_001) }, 'the limit is 200000'],
    ['count', {}, '"text" must be a string'],
    ['convert_case', { text: 'a', style: 'odd' }, '"style" must be one of "upper"'],
    ['replace', { text: 'a', search: '' }, 'must not be empty'],
    ['replace', { text: 'a'.repeat(100_000), search: 'a', replacement: 'b'.repeat(100) }, 'would exceed'],
    ['replace', { text: 'a', search: 'a', ignore_case: 'yes' }, '"ignore_case" must be true or false'],
    ['lines', { text: 'a', first: -1 }, '"first" must be a whole number'],
    ['diff', { before: 'a\n'.repeat(3000), after: 'b\n'.repeat(3000) }, 'too much to compare'],
    ['encode', { text: 'not base64!', encoding: 'base64', decode: true }, 'not valid base64'],
    ['encode', { text: 'abc', encoding: 'hex', decode: true }, 'not valid hex'],
    ['encode', { text: '/w==', encoding: 'base64', decode: true }, 'not text'],
    ['encode', { text: '%zz', encoding: 'url', decode: true }, 'not a valid URL encoding'],
    ['encode', { text: '5', encoding: 'json', decode: true }, 'not a JSON string'],
    ['encode', { text: 'a', encoding: 'json', decode: true }, 'not a JSON string'],
  ],
);

check(
  'math',
  [
    ...(
      [
        ['2 + 3 * 4', 14],
        ['(2 + 3) * 4', 20],
        ['2 ^ 3 ^ 2', 512],
        ['-2 ^ 2', -4],
        ['2 ** -1', 0.5],
        ['7 % 4', 3],
        ['-7 % 4', -3],
        ['mod(-7, 4)', 1],
        ['5! / 3!', 20],
        ['sqrt(16) + abs(-2) + ln(e) + log(1000) + log(8, 2)', 13],
        ['round(1.005, 2)', 1.01],
        ['round(-2.5)', -2],
        ['max(1, 2, 3) + min(4, 5) + sum(1, 2) + avg(2, 4)', 13],
        ['gcd(12, 18) + lcm(4, 6)', 18],
        ['deg(pi) + rad(180) - pi', 180],
        ['1_000 × 2 ÷ 4 − .5e1', 495],
        ['hypot(3, 4) + atan2(0, 1) + factorial(3) + pow(2, 3)', 19],
        ['+-+3', -3],
      ] as const
    ).map(([expression, result]): Case => ['calculate', { expression }, { result }]),
    ['calculate', { expression: 'x * 2 + constructor', variables: { x: 4, constructor: 1 } }, { result: 9 }],
    [
      'statistics',
      { numbers: [1, 2, 3, 4] },
      { count: 4, sum: 10, mean: 2.5, median: 2.5, q1: 1.75, q3: 3.25, min: 1, max: 4 },
    ],
    ['statistics', { numbers: [5] }, { variance: 0, stdev: 0, median: 5 }],
    ['convert_units', { value: 1, from: 'mi', to: 'km' }, { value: 1.609344, unit: 'km', kind: 'length' }],
    ['convert_units', { value: 98.6, from: 'fahrenheit', to: 'C' }, { value: 37 }],
    ['convert_units', { value: 1, from: 'GiB', to: 'MB' }, { value: 1073.741824 }],
    ['convert_units', { value: 36, from: 'km/h', to: 'm/s' }, { value: 10 }],
    ['convert_units', { value: 1, from: 'KILOMETERS', to: 'm' }, { value: 1000 }],
    ['convert_base', { number: 'ff', from: 16 }, { number: '255' }],
    ['convert_base', { number: '-10', to: 2 }, { number: '-1010' }],
    ['convert_base', { number: '123456789012345678901234567890', to: 36 }, { number: 'byw97um9s91dlz68tsi' }],
    ['random', { min: 3, max: 3, count: 2 }, { numbers: [3, 3] }],
  ],
  [
    ['calculate', { expression: '1 +' }, 'something is missing at position 4'],
    ['calculate', { expression: '1 2' }, 'unexpected "2"'],
    ['calculate', { expression: '(1' }, '")" is missing'],
    ['calculate', { expression: 'max(1' }, '")" is missing'],
    ['calculate', { expression: 'foo(1)' }, 'unknown function "foo"'],
    ['calculate', { expression: 'constructor' }, 'unknown name "constructor"'],
    ['calculate', { expression: 'process.exit()' }, 'unknown name "process"'],
    ['calculate', { expression: 'sin' }, '"sin" needs parentheses'],
    ['calculate', { expression: 'sin()' }, 'takes 1 arguments, not 0'],
    ['calculate', { expression: 'round(1, 2, 3)' }, 'takes 1 to 2 arguments'],
    ['calculate', { expression: '1 % 0' }, 'division by zero'],
    ['calculate', { expression: '10 ^ 400' }, 'infinite'],
    ['calculate', { expression: 'sqrt(-1)' }, 'not a number'],
    ['calculate', { expression: '171!' }, 'factorial'],
    ['calculate', { expression: 'gcd(1.5, 2)' }, 'whole numbers'],
    ['calculate', { expression: 'round(1, 99)' }, 'digits'],
    ['calculate', { expression: '('.repeat(5000) }, 'too many nested'],
    ['calculate', { expression: '1'.repeat(20_000) }, 'the limit is 10000'],
    ['calculate', { expression: 'x', variables: { x: 'a' } }, 'variable "x" must be a number'],
    ['calculate', { expression: 'x', variables: 5 }, '"variables" must be an object'],
    ['statistics', { numbers: [] }, 'at least one number'],
    ['statistics', { numbers: ['a'] }, 'numbers only'],
    ['statistics', { numbers: new Array(100_001).fill(1) }, 'the limit is 100000'],
    ['convert_units', { value: 1, from: 'km', to: 'kg' }, '"km" measures length, "kg" measures mass'],
    ['convert_units', { value: 1, from: 'kilometr', to: 'm' }, 'unknown unit "kilometr"'],
    ['convert_base', { number: '12', from: 2 }, '"2" is not a digit in base 2'],
    ['convert_base', { number: '-' }, 'no digits'],
    ['convert_base', { number: '1', to: 99 }, 'whole number from 2 to 36'],
    ['random', { min: 5, max: 1 }, 'must not be smaller'],
    ['random', { min: 1.2, max: 1.8 }, 'no whole number'],
    ['random', { min: 0, max: 1e300 }, 'too large'],
  ],
);

check(
  'json',
  [
    ['query', { value: { a: [{ b: 1 }, { b: 2 }] }, path: 'a[*].b' }, { matches: [1, 2], count: 2 }],
    ['query', { value: '{"a":{"b c":[1,2]}}', path: '$.a["b c"][-1]' }, { matches: [2] }],
    ['query', { value: { a: 1 }, path: '' }, { matches: [{ a: 1 }] }],
    ['query', { value: { a: { x: 1, y: 2 } }, path: "['a'].*" }, { matches: [1, 2] }],
    ['query', { value: { a: 1 }, path: 'toString' }, { matches: [], count: 0 }],
    ['query', { value: { a: 1 }, path: 'a[0].b' }, { matches: [] }],
    [
      'format',
      { value: '{"b":1,"a":[{"d":1,"c":2}]}', sort_keys: true, indent: 0 },
      { text: '{"a":[{"c":2,"d":1}],"b":1}' },
    ],
    ['format', { value: { a: 1 } }, { text: '{\n  "a": 1\n}' }],
    ['format', { value: 'plain words', indent: 0 }, { text: '"plain words"' }],
    [
      'diff',
      { before: { a: 1, b: [1], c: 0 }, after: { b: [2, 3], a: 1 } },
      {
        equal: false,
        differences: [
          { path: 'b[0]', change: 'changed', before: 1, after: 2 },
          { path: 'b[1]', change: 'added', after: 3 },
          { path: 'c', change: 'removed', before: 0 },
        ],
      },
    ],
    [
      'diff',
      { before: { 'odd key': 1, x: [] }, after: { 'odd key': 2, x: {} } },
      {
        differences: [{ path: '["odd key"]' }, { path: 'x', change: 'changed' }],
      },
    ],
    ['diff', { before: '[1,2]', after: [1, 2] }, { equal: true, differences: [] }],
    [
      'validate',
      {
        value: { name: 'x', tags: ['a'], id: 5 },
        shape: { name: 'string', 'age?': 'integer', tags: ['string'], id: 'string|number' },
      },
      { valid: true },
    ],
    [
      'validate',
      {
        value: { age: 1.5, tags: [1], deep: [] },
        shape: { name: 'string', age: 'integer', tags: ['string'], deep: { a: 'any' } },
      },
      {
        valid: false,
        problems: [
          { path: 'name', message: 'missing' },
          { path: 'age', message: 'must be integer, got number' },
          { path: 'tags[0]', message: 'must be string, got number' },
          { path: 'deep', message: 'must be object, got array' },
        ],
      },
    ],
    ['validate', { value: 1, shape: [] }, { problems: [{ path: '', message: 'must be array, got number' }] }],
    ['validate', { value: [null], shape: [] }, { valid: true }],
    [
      'to_table',
      {
        value: [
          { a: 1, b: 'x|y' },
          { a: null, c: [1] },
        ],
      },
      { text: '| a | b | c |\n| --- | --- | --- |\n| 1 | x\\|y |  |\n|  |  | [1] |', rows: 2 },
    ],
    ['to_table', { value: '[{"a":"x,\\"y\\"","b":1}]', format: 'csv', columns: ['a'] }, { text: 'a\n"x,""y"""' }],
    ['to_table', { value: [1, 'a\tb'], format: 'tsv' }, { text: 'value\n1\na b' }],
  ],
  [
    ['query', { path: 'a' }, '"value" is missing'],
    ['query', { value: '{"a":', path: 'a' }, 'not valid JSON'],
    ['query', { value: {}, path: 'a[' }, 'wrong at position 2'],
    ['query', { value: new Array(20_000).fill(1), path: '*' }, 'more than 10000'],
    ['format', { value: JSON.parse(`${'['.repeat(500)}${']'.repeat(500)}`) }, 'deeper than 200'],
    ['validate', { value: 1, shape: 'text' }, '"text" is not a type'],
    ['validate', { value: 1, shape: 5 }, 'must be a type name'],
    ['to_table', { value: { a: 1 } }, 'must be a list'],
    ['to_table', { value: [{ a: 1 }], columns: [1] }, 'list of strings'],
    ['to_table', { value: new Array(10_001).fill({}) }, 'the limit is 10000'],
    [
      'to_table',
      { value: [Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`c${index}`, 1]))] },
      'the limit is 100',
    ],
  ],
);

test('a random draw stays in its range', () => {
  const draw = (args: Args) => run(open('math'), 'random', args).numbers as number[];
  for (const value of draw({ min: -3, max: 3, count: 500 })) expect([-3, -2, -1, 0, 1, 2, 3]).toContain(value);
  for (const value of draw({ min: 0, max: 1, count: 100, fraction: true })) {
    expect(value).toBeGreaterThanOrEqual(0);
    expect(value).toBeLessThan(1);
  }
});

test('differences and mismatches are bounded', () => {
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [`k${index}`, index]));
  expect(run(open('json'), 'diff', { before: many, after: {} }).differences).toHaveLength(1000);
  expect(run(open('json'), 'diff', { before: {}, after: many }).differences).toHaveLength(1000);
});

test('an encoded text decodes to itself', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: 'grapheme' }),
      fc.constantFrom('base64', 'base64url', 'hex', 'url', 'json'),
      (text, encoding) => {
        const encoded = run(open('text'), 'encode', { text, encoding }).text;
        expect(run(open('text'), 'encode', { text: encoded, encoding, decode: true })).toEqual({ text });
      },
    ),
  );
});

test('no expression throws anything but a sentence', () => {
  const tokens = fc.constantFrom(
    '1',
    '2.5',
    '(',
    ')',
    '+',
    '-',
    '*',
    '/',
    '^',
    '!',
    ',',
    'pi',
    'max',
    'sqrt',
    ' ',
    '%',
    'x',
    '😀',
  );
  const math = open('math');
  fc.assert(
    fc.property(fc.array(tokens, { minLength: 1, maxLength: 20 }), (parts) => {
      try {
        expect(typeof run(math, 'calculate', { expression: parts.join('') }).result).toBe('number');
      } catch (error) {
        expect((error as Error).name).toBe('McpxError');
      }
    }),
  );
});

describe('the memory', () => {
  test('keeps, finds, lists and forgets', () => {
    const memory = createMemory();
    expect(run(memory, 'set', { key: '__proto__', value: { deep: ['Needle'] } })).toEqual({
      key: '__proto__',
      replaced: false,
      entries: 1,
    });
    expect(run(memory, 'set', { key: '__proto__', value: 'Needle' })).toMatchObject({ replaced: true, entries: 1 });
    expect(run(memory, 'set', { key: 'note/1', value: { a: 'needles' } })).toMatchObject({ entries: 2 });
    expect(run(memory, 'get', { key: '__proto__' })).toEqual({ key: '__proto__', value: 'Needle' });
    expect(run(memory, 'list', { prefix: 'note/' })).toEqual({ keys: ['note/1'], total: 1 });
    expect(run(memory, 'search', { query: 'NEEDLE', limit: 1 })).toEqual({
      entries: [{ key: '__proto__', value: 'Needle' }],
      total: 2,
    });
    expect(refusal(memory, 'get', { key: 'note/2' })).toBe('there is no entry "note/2"');
    expect(run(memory, 'delete', { key: 'note/1' })).toEqual({ key: 'note/1', deleted: true });
    expect(run(memory, 'delete', { key: 'note/1' })).toMatchObject({ deleted: false });
  });

  test('is bounded in entries, in each value and in all', () => {
    const memory = createMemory();
    for (let index = 0; index < MAX_ENTRIES; index += 1) run(memory, 'set', { key: `k${index}`, value: 0 });
    expect(refusal(memory, 'set', { key: 'one more', value: 0 })).toContain('full');
    expect(run(memory, 'set', { key: 'k1', value: 1 })).toMatchObject({ replaced: true });
    expect(refusal(memory, 'set', { key: 'k1', value: 'x'.repeat(MAX_VALUE) })).toContain('the limit is');
    const large = createMemory();
    const value = 'x'.repeat(MAX_VALUE - 2);
    for (let index = 0; index < 40; index += 1) run(large, 'set', { key: `k${index}`, value });
    expect(refusal(large, 'set', { key: 'last', value })).toContain('full');
    expect(refusal(large, 'set', { key: '', value })).toContain('must not be empty');
    expect(refusal(large, 'set', { key: 'a' })).toContain('"value" is missing');
  });
});

test('annotations tell the truth: only memory changes anything', () => {
  for (const name of Object.keys(TOOLBOXES)) {
    const toolbox = TOOLBOXES[name as keyof typeof TOOLBOXES]();
    for (const tool of toolbox.tools) {
      const changes = name === 'memory' && ['set', 'delete'].includes(tool.name);
      expect(tool.annotations?.readOnlyHint, `${name}.${tool.name}`).toBe(!changes);
    }
  }
  expect(() => openBuiltin('memory')).not.toThrow();
});
