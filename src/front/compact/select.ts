/** Evaluates JMESPath on JSON, with limits on the expression's length, the time and the size of the result. */
import { runInNewContext } from 'node:vm';
import type { JSONValue } from '@jmespath-community/jmespath';
import { McpxError, messageOf } from '../../errors.ts';
import { isLosslessNumber, type LosslessNumber, mapNumbers, plain } from '../../lossless-json.ts';
import { isLarger } from '../../render/json-size.ts';
import { isRecord } from '../../wire/message.ts';

/** Maximum characters of an expression. */
const MAX_EXPRESSION = 2000;
/** Milliseconds for one evaluation, which blocks the event loop. */
const MAX_TIME = 250;
/** Maximum characters of a result, and of any intermediate text. */
const MAX_SIZE = 16 * 1024 * 1024;

/** Functions of the JMESPath specification, and extensions that do not enlarge data or take a pattern. */
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

/**
 * Returns a part of a JSON value, or null if the expression matches nothing. Throws if it takes too long or the
 * result is too large.
 */
export type Projection = (value: unknown) => unknown;

/** Compiles an expression; throws if it is invalid. */
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

/** Runs in `node:vm`, whose timeout also interrupts a regular expression or a sort. */
function evaluate({ TreeInterpreter }: Library, tree: ExpressionNode, value: unknown): unknown {
  try {
    const work = () => {
      const { nearest, restored } = calculable(value);
      const found = TreeInterpreter.search(tree, nearest as JSONValue);
      if (isLarger(found, MAX_SIZE)) throw new McpxError('overloaded', 'its result is too large');
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
 * Converts exact numbers to JavaScript numbers for comparison and addition, and restores them in the result. If two
 * exact numbers round to the same value, long integers, which are usually ids, become text instead.
 */
function calculable(value: unknown): Calculable {
  const nearest = plain(value);
  if (nearest === value) return { nearest, restored: (found) => found };
  const exact = new Map<number, LosslessNumber | undefined>();
  if (!noteNumbers(value, exact)) return { nearest: mapNumbers(value, legible), restored: (found) => found };
  const restore = (number: number | LosslessNumber) =>
    isLosslessNumber(number) ? number : (exact.get(number) ?? number);
  return { nearest, restored: (found) => mapNumbers(found, restore) };
}

/** Maps each rounded number to its exact number; returns false if two different numbers round to the same value. */
function noteNumbers(value: unknown, noted: Map<number, LosslessNumber | undefined>): boolean {
  if (isLosslessNumber(value) || typeof value === 'number') {
    const number = isLosslessNumber(value) ? Number(value.rawJSON) : value;
    const own = isLosslessNumber(value) ? value : undefined;
    const same = !noted.has(number) || noted.get(number)?.rawJSON === own?.rawJSON;
    noted.set(number, own);
    return same;
  }
  return typeof value !== 'object' || value === null || Object.values(value).every((part) => noteNumbers(part, noted));
}

/** Returns long integers as text whether or not rounding changes them, because compared values must have one type. */
function legible(number: number | LosslessNumber): unknown {
  const text = isLosslessNumber(number) ? number.rawJSON : String(number);
  const nearest = Number(text);
  const isLong = /^-?\d{16,}$/.test(text) && !Number.isSafeInteger(nearest);
  return isLong || !Number.isFinite(nearest) ? text : nearest;
}

function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return `it takes longer than ${MAX_TIME} ms`;
  return error instanceof RangeError ? 'it is nested too deeply, or its result is too large' : messageOf(error);
}

function functionsIn(node: unknown): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, name } = node as { type?: unknown; name?: unknown };
  const inside = Object.values(node).flatMap(functionsIn);
  return type === 'Function' ? [String(name), ...inside] : inside;
}

/** Bounds the two functions whose repeated use can turn a short text into one of any length. */
function bindFunctions({ registerFunction, TYPE_ANY, TYPE_ARRAY_STRING, TYPE_STRING }: Library): void {
  const bounded = (text: () => string, size: number) => {
    if (size > MAX_SIZE) throw new McpxError('overloaded', 'its result is too large');
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

/** Returns an expression that works on this value. */
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
