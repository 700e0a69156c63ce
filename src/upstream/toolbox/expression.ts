/** Arithmetic expressions: a small parser that computes while it reads. No text is evaluated as code. */
import { rejectInput } from './input.ts';

export const MAX_EXPRESSION = 10_000;
const MAX_NESTING = 100;

const CONSTANTS = new Map([
  ['pi', Math.PI],
  ['tau', 2 * Math.PI],
  ['e', Math.E],
  ['phi', (1 + Math.sqrt(5)) / 2],
]);

type Numeric = (...values: number[]) => number;

/** The functions by name, with their minimum and maximum number of arguments. Angles are in radians. */
const FUNCTIONS = new Map<string, { least: number; most: number; apply: Numeric }>([
  ...one('abs sqrt cbrt exp ln floor ceil trunc sign sin cos tan asin acos atan sinh cosh tanh log2 log10'),
  ['round', { least: 1, most: 2, apply: (value = 0, digits = 0) => roundTo(value, digits) }],
  [
    'log',
    {
      least: 1,
      most: 2,
      apply: (value = 0, base = 10) => (base === 10 ? Math.log10(value) : Math.log(value) / Math.log(base)),
    },
  ],
  ['atan2', { least: 2, most: 2, apply: (y = 0, x = 0) => Math.atan2(y, x) }],
  ['pow', { least: 2, most: 2, apply: (base = 0, power = 0) => base ** power }],
  ['mod', { least: 2, most: 2, apply: (a = 0, b = 0) => a - b * Math.floor(a / b) }],
  ['min', { least: 1, most: 1000, apply: (...values) => Math.min(...values) }],
  ['max', { least: 1, most: 1000, apply: (...values) => Math.max(...values) }],
  ['sum', { least: 1, most: 1000, apply: (...values) => values.reduce((total, value) => total + value, 0) }],
  [
    'avg',
    { least: 1, most: 1000, apply: (...values) => values.reduce((total, value) => total + value, 0) / values.length },
  ],
  ['hypot', { least: 1, most: 1000, apply: (...values) => Math.hypot(...values) }],
  ['factorial', { least: 1, most: 1, apply: (value = 0) => factorial(value) }],
  ['gcd', { least: 2, most: 2, apply: (a = 0, b = 0) => gcd(Math.abs(a), Math.abs(b)) }],
  [
    'lcm',
    {
      least: 2,
      most: 2,
      apply: (a = 0, b = 0) => (a === 0 || b === 0 ? 0 : Math.abs(a * b) / gcd(Math.abs(a), Math.abs(b))),
    },
  ],
  ['deg', { least: 1, most: 1, apply: (radians = 0) => (radians * 180) / Math.PI }],
  ['rad', { least: 1, most: 1, apply: (degrees = 0) => (degrees * Math.PI) / 180 }],
]);

export const FUNCTION_NAMES: readonly string[] = [...FUNCTIONS.keys()];

function one(names: string): [string, { least: number; most: number; apply: Numeric }][] {
  const spelled = new Map([['ln', 'log']]);
  return names.split(' ').map((name) => {
    const apply = Math[(spelled.get(name) ?? name) as 'abs'];
    return [name, { least: 1, most: 1, apply: (value = 0) => apply(value) }];
  });
}

function roundTo(value: number, digits: number): number {
  if (!Number.isInteger(digits) || Math.abs(digits) > 20)
    rejectInput('round() takes a whole number of digits from -20 to 20');
  // Rounding uses the decimal notation, because 1.005 × 100 is 100.49999…
  const [mantissa = '0', exponent = '0'] = value.toExponential().split('e');
  const shifted = Math.round(Number(`${mantissa}e${Number(exponent) + digits}`));
  return Number(`${shifted}e${-digits}`);
}

function factorial(value: number): number {
  if (!Number.isInteger(value) || value < 0 || value > 170)
    rejectInput('a factorial needs a whole number from 0 to 170');
  let product = 1;
  for (let factor = 2; factor <= value; factor += 1) product *= factor;
  return product;
}

function gcd(a: number, b: number): number {
  if (!Number.isSafeInteger(a) || !Number.isSafeInteger(b)) rejectInput('gcd() and lcm() need whole numbers');
  return b === 0 ? a : gcd(b, a % b);
}

/** Returns the value of `text`, which may use the names in `variables`. Throws an error that names the position. */
export function evaluate(text: string, variables: ReadonlyMap<string, number> = new Map()): number {
  if (text.length > MAX_EXPRESSION) rejectInput(`the expression is longer than ${MAX_EXPRESSION} characters`);
  const parser = new Parser(text, variables);
  const value = parser.whole();
  if (!Number.isFinite(value))
    rejectInput(Number.isNaN(value) ? 'the result is not a number' : 'the result is infinite');
  return value;
}

/** A recursive descent parser, lowest precedence first: sum, product, sign, power (right to left), factorial, atom. */
class Parser {
  private position = 0;
  private nesting = 0;
  private readonly text: string;
  private readonly variables: ReadonlyMap<string, number>;

  constructor(text: string, variables: ReadonlyMap<string, number>) {
    this.text = text.replaceAll('**', '^').replaceAll('×', '*').replaceAll('÷', '/').replaceAll('−', '-');
    this.variables = variables;
  }

  whole(): number {
    const value = this.sum();
    if (this.peek() !== '') this.fail(`unexpected "${this.peek()}"`);
    return value;
  }

  private sum(): number {
    let value = this.product();
    for (let sign = this.take('+', '-'); sign !== ''; sign = this.take('+', '-')) {
      const right = this.product();
      value = sign === '+' ? value + right : value - right;
    }
    return value;
  }

  private product(): number {
    let value = this.signed();
    for (let sign = this.take('*', '/', '%'); sign !== ''; sign = this.take('*', '/', '%')) {
      const right = this.signed();
      if (sign !== '*' && right === 0) this.fail('division by zero');
      value = sign === '*' ? value * right : sign === '/' ? value / right : value % right;
    }
    return value;
  }

  private signed(): number {
    return this.nested(() => {
      const sign = this.take('+', '-');
      if (sign === '') return this.power();
      const value = this.signed();
      return sign === '-' ? -value : value;
    });
  }

  private power(): number {
    let base = this.atom();
    while (this.take('!') !== '') base = factorial(base);
    return this.take('^') === '' ? base : base ** this.signed();
  }

  private atom(): number {
    if (this.take('(') !== '') {
      const value = this.sum();
      if (this.take(')') === '') this.fail('")" is missing');
      return value;
    }
    const number = this.match(/(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/y);
    if (number !== undefined) return Number(number.replaceAll('_', ''));
    const name = this.match(/[\p{L}_][\p{L}\p{N}_]*/uy);
    if (name === undefined)
      return this.fail(this.peek() === '' ? 'something is missing' : `unexpected "${this.peek()}"`);
    return this.take('(') === '' ? this.named(name) : this.call(name);
  }

  private named(name: string): number {
    const value = this.variables.get(name) ?? CONSTANTS.get(name.toLowerCase());
    return value ?? this.fail(FUNCTIONS.has(name) ? `"${name}" needs parentheses` : `unknown name "${name}"`);
  }

  private call(name: string): number {
    const known = FUNCTIONS.get(name.toLowerCase());
    if (!known) return this.fail(`unknown function "${name}"`);
    const values: number[] = [];
    if (this.take(')') === '') {
      do values.push(this.sum());
      while (this.take(',') !== '');
      if (this.take(')') === '') this.fail('")" is missing');
    }
    if (values.length < known.least || values.length > known.most) {
      const expected = known.least === known.most ? known.least : `${known.least} to ${known.most}`;
      this.fail(`${name}() takes ${expected} arguments, not ${values.length}`);
    }
    return known.apply(...values);
  }

  private nested<T>(parse: () => T): T {
    this.nesting += 1;
    if (this.nesting > MAX_NESTING) this.fail('too many nested parts');
    const value = parse();
    this.nesting -= 1;
    return value;
  }

  private peek(): string {
    this.match(/\s+/y);
    return String.fromCodePoint(...[this.text.codePointAt(this.position)].filter((point) => point !== undefined));
  }

  private take(...signs: string[]): string {
    const next = this.peek();
    if (next === '' || !signs.includes(next)) return '';
    this.position += next.length;
    return next;
  }

  private match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.position;
    const found = pattern.exec(this.text)?.[0];
    if (found !== undefined) this.position += found.length;
    return found;
  }

  private fail(what: string): never {
    return rejectInput(`${what} at position ${this.position + 1}`, 'write it like "2 * (3 + sqrt(16)) ^ 2"');
  }
}
