/** Evaluates arithmetic expressions by precedence climbing. */
import { rejectInput } from './input.ts';

interface Operator {
  precedence: number;
  apply(left: number, right: number): number;
  /** True if `2 ^ 3 ^ 2` means `2 ^ (3 ^ 2)`. */
  isRightAssociative?: true;
}

const OPERATORS: ReadonlyMap<string | undefined, Operator> = new Map<string, Operator>([
  ['+', { precedence: 1, apply: (a, b) => a + b }],
  ['-', { precedence: 1, apply: (a, b) => a - b }],
  ['*', { precedence: 2, apply: (a, b) => a * b }],
  ['/', { precedence: 2, apply: (a, b) => a / b }],
  ['^', { precedence: 4, apply: (a, b) => a ** b, isRightAssociative: true }],
]);
/** A sign binds more weakly than a power: `-2 ^ 2` is `-4`. */
const SIGN = 3;

export function evaluate(expression: string): number {
  const tokens = expression.match(/\d+(?:\.\d+)?|\.\d+|\S/g) ?? [];
  const result = readAbove(0, tokens);
  if (tokens.length > 0) rejectToken(tokens[0]);
  return Number.isFinite(result) ? result : rejectInput('the result is not a finite number');
}

/** Reads an operand and the operators above this precedence. */
function readAbove(precedence: number, tokens: string[]): number {
  let value = readOperand(tokens);
  for (;;) {
    const operator = OPERATORS.get(tokens[0]);
    if (operator === undefined || operator.precedence <= precedence) return value;
    tokens.shift();
    const own = operator.isRightAssociative ? operator.precedence - 1 : operator.precedence;
    value = operator.apply(value, readAbove(own, tokens));
  }
}

function readOperand(tokens: string[]): number {
  const token = tokens.shift();
  if (token === '-') return -readAbove(SIGN, tokens);
  if (token !== '(') return token !== undefined && /\d/.test(token) ? Number(token) : rejectToken(token);
  const value = readAbove(0, tokens);
  const closing = tokens.shift();
  return closing === ')' ? value : rejectToken(closing);
}

function rejectToken(token: string | undefined): never {
  return rejectInput(token === undefined ? 'the expression ends too early' : `unexpected "${token}"`);
}
