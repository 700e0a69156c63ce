/** Built-in server `math`: expressions, statistics, units, number bases and random numbers. */
import { randomBytes } from 'node:crypto';
import { gives, READS, takes } from './define.ts';
import { evaluate, FUNCTION_NAMES, MAX_EXPRESSION } from './expression.ts';
import { readFlag, readInteger, readNumber, readText, rejectInput } from './input.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';
import { convertUnits, UNIT_SUMMARY } from './unit-conversion.ts';

type Args = Record<string, unknown>;

const MAX_NUMBERS = 100_000;
const MAX_RANDOM = 1_000;
const MAX_DIGITS = 1_000;

const CALCULATE: BuiltinTool = {
  name: 'calculate',
  title: 'Calculate',
  description: `Evaluate an arithmetic expression exactly as a calculator would: + - * / % ^ and !, parentheses, pi and e, and the functions ${FUNCTION_NAMES.join(', ')}. Angles are in radians.`,
  inputSchema: takes(
    {
      expression: {
        type: 'string',
        description: 'Such as "2 * (3 + sqrt(16)) ^ 2"',
        minLength: 1,
        maxLength: MAX_EXPRESSION,
      },
      variables: {
        type: 'object',
        description: 'Values of names used in the expression',
        additionalProperties: { type: 'number' },
      },
    },
    ['expression'],
  ),
  outputSchema: gives({ result: { type: 'number' } }),
  annotations: READS,
  run: (args) => ({ result: evaluate(readText(args, 'expression', MAX_EXPRESSION), readVariables(args)) }),
};

const STATISTICS: BuiltinTool = {
  name: 'statistics',
  title: 'Statistics',
  description:
    'Describe a list of numbers: count, sum, mean, median, minimum, maximum, quartiles, variance and standard deviation (of a sample).',
  inputSchema: takes(
    {
      numbers: {
        type: 'array',
        items: { type: 'number' },
        minItems: 1,
        maxItems: MAX_NUMBERS,
        description: 'The numbers to describe',
      },
    },
    ['numbers'],
  ),
  outputSchema: gives(
    Object.fromEntries(
      ['count', 'sum', 'mean', 'median', 'min', 'max', 'q1', 'q3', 'variance', 'stdev'].map((name) => [
        name,
        { type: 'number' },
      ]),
    ),
  ),
  annotations: READS,
  run: (args) => describe(readNumbers(args)),
};

const CONVERT_UNITS: BuiltinTool = {
  name: 'convert_units',
  title: 'Convert units',
  description: `Convert a value from one unit to another. Known units: ${UNIT_SUMMARY}.`,
  inputSchema: takes(
    {
      value: { type: 'number', description: 'The value to convert' },
      from: { type: 'string', description: 'Its unit, such as "km" or "celsius"', maxLength: 40 },
      to: { type: 'string', description: 'The unit wanted, such as "mi" or "fahrenheit"', maxLength: 40 },
    },
    ['value', 'from', 'to'],
  ),
  outputSchema: gives({
    value: { type: 'number' },
    unit: { type: 'string' },
    kind: { type: 'string', description: 'What is measured' },
  }),
  annotations: READS,
  run(args) {
    const to = readText(args, 'to', 40);
    const { value, kind } = convertUnits(readNumber(args, 'value'), readText(args, 'from', 40), to);
    return { value, unit: to, kind };
  },
};

const CONVERT_BASE: BuiltinTool = {
  name: 'convert_base',
  title: 'Convert number base',
  description: 'Write a whole number of any size in another base, such as decimal to hexadecimal or binary.',
  inputSchema: takes(
    {
      number: {
        type: 'string',
        description: 'The digits, such as "255", "-1010" or "ff"',
        minLength: 1,
        maxLength: MAX_DIGITS,
      },
      from: { type: 'integer', minimum: 2, maximum: 36, default: 10, description: 'Base it is written in' },
      to: { type: 'integer', minimum: 2, maximum: 36, default: 10, description: 'Base to write it in' },
    },
    ['number'],
  ),
  outputSchema: gives({ number: { type: 'string' } }),
  annotations: READS,
  run(args) {
    const base = (key: string) => readInteger(args, key, { min: 2, max: 36, fallback: 10 });
    return { number: inBase(readText(args, 'number', MAX_DIGITS), base('from')).toString(base('to')) };
  },
};

const RANDOM: BuiltinTool = {
  name: 'random',
  title: 'Random numbers',
  description:
    'Draw random numbers from a range, both ends included, from the secure generator of the operating system. Whole numbers unless "fraction" is set.',
  inputSchema: takes({
    min: { type: 'number', default: 1, description: 'Smallest value' },
    max: { type: 'number', default: 100, description: 'Largest value' },
    count: { type: 'integer', minimum: 1, maximum: MAX_RANDOM, default: 1, description: 'How many numbers' },
    fraction: { type: 'boolean', default: false, description: 'Draw fractions instead of whole numbers' },
  }),
  outputSchema: gives({ numbers: { type: 'array', items: { type: 'number' } } }),
  annotations: { ...READS, idempotentHint: false },
  run(args) {
    const [min, max] = [readNumber(args, 'min', 1), readNumber(args, 'max', 100)];
    if (max < min) rejectInput(`"max" (${max}) must not be smaller than "min" (${min})`);
    const draw = readFlag(args, 'fraction') ? () => min + randomFraction() * (max - min) : wholeNumbers(min, max);
    const count = readInteger(args, 'count', { min: 1, max: MAX_RANDOM, fallback: 1 });
    return { numbers: Array.from({ length: count }, draw) };
  },
};

export function createMath(): Toolbox {
  return {
    name: 'math',
    title: 'Math',
    instructions:
      'Exact arithmetic, statistics, unit and base conversion, random numbers. Use it instead of computing in your head.',
    tools: [CALCULATE, STATISTICS, CONVERT_UNITS, CONVERT_BASE, RANDOM],
  };
}

function readVariables(args: Args): Map<string, number> {
  const given = args.variables ?? {};
  if (typeof given !== 'object' || given === null) rejectInput('"variables" must be an object of numbers');
  return new Map(
    Object.entries(given).map(([name, value]) => {
      if (typeof value !== 'number') rejectInput(`variable "${name}" must be a number`);
      return [name, value];
    }),
  );
}

function readNumbers(args: Args): number[] {
  const list = args.numbers;
  if (!Array.isArray(list) || list.length === 0) rejectInput('"numbers" must be a list with at least one number');
  if (list.length > MAX_NUMBERS) rejectInput(`"numbers" holds ${list.length} values; the limit is ${MAX_NUMBERS}`);
  if (!list.every((value) => typeof value === 'number' && Number.isFinite(value))) {
    rejectInput('"numbers" must hold numbers only');
  }
  return list;
}

function describe(numbers: number[]): Record<string, number> {
  const ordered = [...numbers].sort((a, b) => a - b);
  const count = numbers.length;
  const sum = numbers.reduce((total, value) => total + value, 0);
  const mean = sum / count;
  const squares = numbers.reduce((total, value) => total + (value - mean) ** 2, 0);
  const variance = count > 1 ? squares / (count - 1) : 0;
  return {
    count,
    sum,
    mean,
    median: quantile(ordered, 0.5),
    min: ordered[0] ?? 0,
    max: ordered[count - 1] ?? 0,
    q1: quantile(ordered, 0.25),
    q3: quantile(ordered, 0.75),
    variance,
    stdev: Math.sqrt(variance),
  };
}

/** Interpolates linearly between the two nearest ranks, as spreadsheets do. */
function quantile(ordered: number[], share: number): number {
  const place = (ordered.length - 1) * share;
  const low = ordered[Math.floor(place)] ?? 0;
  const high = ordered[Math.ceil(place)] ?? 0;
  return low + (high - low) * (place - Math.floor(place));
}

function inBase(text: string, base: number): bigint {
  const digits = text.trim().toLowerCase().replace(/^[+-]/, '');
  let value = 0n;
  for (const digit of digits) {
    const worth = /^[0-9a-z]$/.test(digit) ? Number.parseInt(digit, 36) : base;
    if (worth >= base) rejectInput(`"${digit}" is not a digit in base ${base}`);
    value = value * BigInt(base) + BigInt(worth);
  }
  if (digits === '') rejectInput('"number" has no digits');
  return text.trim().startsWith('-') ? -value : value;
}

/** Returns 53 random bits as a fraction from 0 (inclusive) to 1 (exclusive). */
function randomFraction(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n) / 2 ** 53;
}

function wholeNumbers(min: number, max: number): () => number {
  const [low, high] = [Math.ceil(min), Math.floor(max)];
  if (high < low) rejectInput(`there is no whole number from ${min} to ${max}`);
  if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high)) rejectInput('"min" and "max" are too large');
  return () => low + Math.floor(randomFraction() * (high - low + 1));
}
