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
  'math',
  [
    ...(
      [
        ['2 + 3 * 4', 14],
        ['(2 + 3) * 4', 20],
        ['2 ^ 3 ^ 2', 512],
        ['-2 ^ 2', -4],
        ['2 ^ -1', 0.5],
        ['10 - 4 - 3', 3],
        ['2 * -3 + 1', -5],
        ['7 / 2 / 7', 0.5],
        ['--.5', 0.5],
      ] as const
    ).map(([expression, result]): Case => ['calculate', { expression }, { result }]),
    ['statistics', { numbers: [3, 1, 2, 4] }, { count: 4, sum: 10, mean: 2.5, min: 1, max: 4 }],
    ['convert_base', { number: 'ff', from: 16 }, { number: '255' }],
    ['convert_base', { number: '-10', to: 2 }, { number: '-1010' }],
    ['convert_base', { number: '123456789012345678901234567890', to: 36 }, { number: 'byw97um9s91dlz68tsi' }],
  ],
  [
    ['calculate', { expression: '1 +' }, 'ends too early'],
    ['calculate', { expression: '1 2' }, 'unexpected "2"'],
    ['calculate', { expression: '(1' }, 'ends too early'],
    ['calculate', { expression: '(1 2)' }, 'unexpected "2"'],
    ['calculate', { expression: 'constructor' }, 'unexpected "c"'],
    ['calculate', { expression: '1 / 0' }, 'not a finite number'],
    ['calculate', { expression: '1'.repeat(1001) }, 'the limit is 1000'],
    ['statistics', { numbers: [] }, 'at least one number'],
    ['statistics', { numbers: ['a'] }, 'at least one number'],
    ['convert_base', { number: '12', from: 2 }, '"2" is not a digit in base 2'],
    ['convert_base', { number: '-' }, 'must be digits'],
    ['convert_base', { number: '1', to: 99 }, 'whole number from 2 to 36'],
  ],
);

test('no expression throws anything but a sentence', () => {
  const tokens = fc.constantFrom('1', '2.5', '(', ')', '+', '-', '*', '/', '^', ' ', 'x', '😀');
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
