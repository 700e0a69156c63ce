/** Built-in server `math`: arithmetic, statistics and number bases, for the demo. */
import { evaluate } from './arithmetic.ts';
import { gives, READS, takes } from './define.ts';
import { readInteger, readText, rejectInput } from './input.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';

const NUMBER = { type: 'number' };
const DIGITS = { type: 'string', minLength: 1, maxLength: 1000 };
const BASE = { type: 'integer', minimum: 2, maximum: 36, default: 10 };

const CALCULATE: BuiltinTool = {
  name: 'calculate',
  description: 'Evaluate an arithmetic expression with + - * / ^ and parentheses.',
  inputSchema: takes({ expression: { type: 'string', description: 'Such as "2 * (3 + 4) ^ 2"' } }, ['expression']),
  outputSchema: gives({ result: NUMBER }),
  run: (args) => ({ result: evaluate(readText(args, 'expression', 1000)) }),
};

const STATISTICS: BuiltinTool = {
  name: 'statistics',
  description: 'Describe a list of numbers: count, sum, mean, minimum and maximum.',
  inputSchema: takes({ numbers: { type: 'array', items: NUMBER, minItems: 1 } }, ['numbers']),
  outputSchema: gives({ count: NUMBER, sum: NUMBER, mean: NUMBER, min: NUMBER, max: NUMBER }),
  run({ numbers }) {
    if (!Array.isArray(numbers) || numbers.length === 0 || !numbers.every(Number.isFinite))
      rejectInput('"numbers" must be a list with at least one number');
    const sorted = numbers.toSorted((a, b) => a - b);
    const sum: number = numbers.reduce((total, one) => total + one, 0);
    return { count: numbers.length, sum, mean: sum / numbers.length, min: sorted[0], max: sorted.at(-1) };
  },
};

const CONVERT_BASE: BuiltinTool = {
  name: 'convert_base',
  description: 'Write a whole number of any size in another base, such as decimal to hexadecimal or binary.',
  inputSchema: takes(
    {
      number: { ...DIGITS, description: 'The digits, such as "255", "-1010" or "ff"' },
      from: { ...BASE, description: 'Base it is written in' },
      to: { ...BASE, description: 'Base to write it in' },
    },
    ['number'],
  ),
  outputSchema: gives({ number: { type: 'string' } }),
  run(args) {
    const [from = 10, to] = ['from', 'to'].map((key) => readInteger(args, key, { min: 2, max: 36, fallback: 10 }));
    const [, sign, digits = ''] =
      /^(-?)([0-9a-z]+)$/i.exec(readText(args, 'number', 1000)) ?? rejectInput('"number" must be digits');
    const value = [...digits].reduce((sum, digit) => sum * BigInt(from) + BigInt(digitOf(digit, from)), 0n);
    return { number: (sign === '-' ? -value : value).toString(to) };
  },
};

export function createMath(): Toolbox {
  const tools = [CALCULATE, STATISTICS, CONVERT_BASE].map((tool) => ({ ...tool, annotations: READS }));
  const instructions = 'Exact arithmetic, statistics and number bases. Use it instead of computing in your head.';
  return { name: 'math', title: 'Math', instructions, tools };
}

function digitOf(digit: string, base: number): number {
  const value = Number.parseInt(digit, 36);
  return value < base ? value : rejectInput(`"${digit}" is not a digit in base ${base}`);
}
