/** JMESPath on JSON, with bounds: the length of the expression, the time it takes, and the size of what comes out. */
import { runInNewContext } from 'node:vm';
import type { JSONValue } from '@jmespath-community/jmespath';
import { McpxError, messageOf } from '../errors.ts';
import { type ExactNumber, isExact, mapNumbers, plain } from '../exact.ts';
import { isLarger } from '../render/size.ts';
import { isRecord } from '../wire/message.ts';

/** Characters of an expression. */
const MAX_EXPRESSION = 2000;
/** ms for one evaluation: nothing else happens in the meantime. */
const MAX_TIME = 250;
/** Characters of a result, and of any text on the way to it. */
const MAX_SIZE = 16 * 1024 * 1024;

/** What JMESPath has by its specification, and of its extensions those that make nothing larger and take no pattern. */
const FUNCTIONS: ReadonlySet<string> = new Set([
  ...[
    'abs',
    'avg',
    'ceil',
    'contains',
    'ends_with',
    'floor',
    'join',
    'keys',
    'length',
    'map',
    'max',
    'max_by',
    'merge',
  ],
  ...['min', 'min_by', 'not_null', 'reverse', 'sort', 'sort_by', 'starts_with', 'sum', 'to_array', 'to_number'],
  ...[
    'to_string',
    'type',
    'values',
    'find_first',
    'find_last',
    'from_items',
    'group_by',
    'items',
    'lower',
    'upper',
    'zip',
  ],
]);

type Library = typeof import('@jmespath-community/jmespath');
type ExpressionNode = ReturnType<Library['compile']>;

/** A part of a JSON value; null where the expression matches nothing. Throws where it takes too long or gives too much. */
export type Projection = (value: unknown) => unknown;

/** Throws what is wrong with the expression, before anything is done with it. */
export async function compileProjection(expression: unknown): Promise<Projection> {
  if (typeof expression !== 'string' || expression.trim() === '') throw refused('it must be a JMESPath expression');
  if (expression.length > MAX_EXPRESSION) throw refused(`it is longer than ${MAX_EXPRESSION} characters`);
  const library = await import('@jmespath-community/jmespath');
  const tree = parse(library, expression);
  const unknown = functionsIn(tree).find((name) => !FUNCTIONS.has(name));
  if (unknown !== undefined) throw refused(`there is no function ${unknown}(); there are ${[...FUNCTIONS].join(', ')}`);
  bindFunctions(library);
  return (value) => evaluate(library, tree, value);
}

function parse({ compile }: Library, expression: string): ExpressionNode {
  try {
    return compile(expression);
  } catch (cause) {
    throw refused(messageOf(cause), cause);
  }
}

function refused(why: string, cause?: unknown): McpxError {
  return new McpxError('arguments', `"select" cannot be used: ${why}`, {
    hint: 'for example items[*].name, items[?size > `10`].{name: name, size: size}, or length(items)',
    ...(cause !== undefined && { cause }),
  });
}

/** A loop that is stopped from outside also stops inside a regular expression or a sort. */
function evaluate({ TreeInterpreter }: Library, tree: ExpressionNode, value: unknown): unknown {
  try {
    const work = () => {
      const { nearest, restored } = calculable(value);
      const found = TreeInterpreter.search(tree, nearest as JSONValue);
      if (isLarger(found, MAX_SIZE)) throw new McpxError('overloaded', 'it gives too much');
      return restored(found);
    };
    return runInNewContext('work()', { work }, { timeout: MAX_TIME }) as unknown;
  } catch (error) {
    throw new McpxError('arguments', `"select" failed: ${reasonOf(error)}`, { cause: error });
  }
}

interface Calculable {
  nearest: unknown;
  restored(found: unknown): unknown;
}

/**
 * A value with numbers that can be compared and added: each that JavaScript cannot hold is the nearest that it can, and itself again in what is
 * found. Where two have the same nearest, whole numbers too long for JavaScript, which are ids as a rule, are text instead.
 */
function calculable(value: unknown): Calculable {
  const nearest = plain(value);
  if (nearest === value) return { nearest, restored: (found) => found };
  const exact = new Map<number, ExactNumber | undefined>();
  if (!noteNumbers(value, exact)) return { nearest: mapNumbers(value, legible), restored: (found) => found };
  const restore = (number: number | ExactNumber) => (isExact(number) ? number : (exact.get(number) ?? number));
  return { nearest, restored: (found) => mapNumbers(found, restore) };
}

/** Every number under the nearest that JavaScript has; false where two different ones have the same. */
function noteNumbers(value: unknown, noted: Map<number, ExactNumber | undefined>): boolean {
  if (isExact(value) || typeof value === 'number') {
    const number = isExact(value) ? Number(value.rawJSON) : value;
    const own = isExact(value) ? value : undefined;
    const same = !noted.has(number) || noted.get(number)?.rawJSON === own?.rawJSON;
    noted.set(number, own);
    return same;
  }
  return typeof value !== 'object' || value === null || Object.values(value).every((part) => noteNumbers(part, noted));
}

/** Whether JavaScript changes it or not: what is compared with each other must be of one kind. */
function legible(number: number | ExactNumber): unknown {
  const text = isExact(number) ? number.rawJSON : String(number);
  const nearest = Number(text);
  const isLong = /^-?\d{16,}$/.test(text) && !Number.isSafeInteger(nearest);
  return isLong || !Number.isFinite(nearest) ? text : nearest;
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return `it takes longer than ${MAX_TIME} ms`;
  return error instanceof RangeError ? 'it is nested too deeply, or gives too much' : messageOf(error);
}

function functionsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, name } = node as { type?: unknown; name?: unknown };
  const inside = Object.values(node).flatMap(functionsIn);
  return type === 'Function' ? [String(name), ...inside] : inside;
}

/** The two that can make a text of any length out of a short one, by being applied again and again. */
function bindFunctions({ registerFunction, TYPE_ANY, TYPE_ARRAY_STRING, TYPE_STRING }: Library): void {
  const bounded = (text: () => string, size: number) => {
    if (size > MAX_SIZE) throw new McpxError('overloaded', 'it gives too much');
    return text();
  };
  const join = ([glue, parts]: [string, string[]]) =>
    bounded(
      () => parts.join(glue),
      parts.reduce((total, part) => total + part.length + glue.length, 0),
    );
  const asText = ([value]: [unknown]) =>
    typeof value === 'string' ? value : bounded(() => JSON.stringify(value), isLarger(value, MAX_SIZE) ? Infinity : 0);
  const override = { override: true };
  registerFunction('join', join as never, [{ types: [TYPE_STRING] }, { types: [TYPE_ARRAY_STRING] }], override);
  registerFunction('to_string', asText as never, [{ types: [TYPE_ANY] }], override);
}

/** A projection that works on this very value. */
export function exampleSelect(value: unknown): string {
  if (Array.isArray(value)) return `[0:5]${memberOf(value[0])}`;
  if (!isRecord(value)) return '@';
  const name = Object.keys(value).find((key) => Array.isArray(value[key]) && value[key].length > 0);
  const list = name === undefined ? undefined : value[name];
  if (name === undefined || !Array.isArray(list)) return 'keys(@)';
  return `${identifier(name)}[0:5]${memberOf(list[0])}`;
}

function memberOf(item: unknown): string {
  const [key] = isRecord(item) ? Object.keys(item) : [];
  return key === undefined ? '' : `.${identifier(key)}`;
}

function identifier(key: string): string {
  return /^[A-Za-z_]\w*$/.test(key) ? key : JSON.stringify(key);
}
