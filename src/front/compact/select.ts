/** Evaluates JMESPath on JSON, with limits on the expression's length, the time and the size of the result. */
import { runInNewContext } from 'node:vm';
import type { JSONValue } from '@jmespath-community/jmespath';
import { McpxError, messageOf } from '../../errors.ts';
import { isLosslessNumber, type LosslessNumber, mapNumbers, plain } from '../../lossless-json.ts';
import { isLarger } from '../../render/json-size.ts';
import { isRecord } from '../../wire/message.ts';
import { bindFunctions, FUNCTIONS, PART_OF_FILTERED } from './select-functions.ts';

/** Maximum characters of an expression. */
const MAX_EXPRESSION = 2000;
/** Milliseconds for one evaluation, which blocks the event loop. */
const MAX_TIME = 250;
/** Maximum characters of a result, and of any intermediate text. */
const MAX_SIZE = 16 * 1024 * 1024;

type Library = typeof import('@jmespath-community/jmespath');
type ExpressionNode = ReturnType<Library['compile']>;

/** A compiled expression. */
export interface Projection {
  /**
   * Returns a part of a JSON value, or null if the expression matches nothing. Throws if it takes too long or the
   * result is too large.
   */
  (value: unknown): unknown;
  /** The names of keys in the expression. */
  readonly names: ReadonlySet<string>;
}

/** Compiles an expression; throws if it is invalid. */
export async function compileProjection(expression: unknown): Promise<Projection> {
  if (typeof expression !== 'string' || expression.trim() === '') throw refused('it must be a JMESPath expression');
  if (expression.length > MAX_EXPRESSION) throw refused(`it is longer than ${MAX_EXPRESSION} characters`);
  const library = await import('@jmespath-community/jmespath');
  const tree = parse(library, expression);
  const unknown = namesIn(tree, 'Function').find((name) => !FUNCTIONS.has(name));
  if (unknown !== undefined) throw refused(`there is no function ${unknown}(); there are ${[...FUNCTIONS].join(', ')}`);
  const names = new Set(namesIn(tree, 'Field'));
  const adapted = withPartsOfFiltered(tree) as ExpressionNode;
  bindFunctions(library, MAX_SIZE);
  return Object.assign((value: unknown) => evaluate(library, adapted, value), { names });
}

/** Takes a literal that is not JSON, such as `release` in backticks, as a string, as the first JMESPath did. */
function parse({ compile }: Library, expression: string): ExpressionNode {
  try {
    return compile(expression, { enable_legacy_literals: true });
  } catch (cause) {
    throw refused(messageOf(cause), cause);
  }
}

function refused(why: string, cause?: unknown): McpxError {
  return new McpxError('arguments', `"select" cannot be used: ${why}`, {
    hint: "for example items[*].name, items[?size > `10` && type == 'x'].{name: name, size: size}, or length(items)",
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
    return withinTime(work);
  } catch (error) {
    throw new McpxError('arguments', `"select" failed: ${reasonOf(error)}`, { cause: error });
  }
}

/** Maximum number of attempts, because another process may have had the processor meanwhile. */
const MAX_ATTEMPTS = 3;

function withinTime(work: () => unknown, attempt = 1): unknown {
  const start = process.cpuUsage();
  try {
    return runInNewContext('work()', { work }, { timeout: MAX_TIME }) as unknown;
  } catch (error) {
    const { user, system } = process.cpuUsage(start);
    const isStarved = isTimeout(error) && user + system < (MAX_TIME / 2) * 1000;
    if (isStarved && attempt < MAX_ATTEMPTS) return withinTime(work, attempt + 1);
    throw error;
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown }).code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
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
  if (isTimeout(error)) return `it takes longer than ${MAX_TIME} ms`;
  return error instanceof RangeError ? 'it is nested too deeply, or its result is too large' : messageOf(error);
}

function namesIn(node: unknown, wanted: 'Function' | 'Field'): string[] {
  if (typeof node !== 'object' || node === null) return [];
  const { type, name } = node as { type?: unknown; name?: unknown };
  const inside = Object.values(node).flatMap((inner) => namesIn(inner, wanted));
  return type === wanted ? [String(name), ...inside] : inside;
}

/**
 * Rewrites `list[?condition][-5:]`, whose index or slice JMESPath applies to each element: elements that are not lists
 * have no such part, so the function takes the part of the list itself.
 */
function withPartsOfFiltered(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(withPartsOfFiltered);
  if (!isRecord(node) || node.type === 'Literal') return node;
  const copy = Object.fromEntries(Object.entries(node).map(([key, inner]) => [key, withPartsOfFiltered(inner)]));
  if (copy.type !== 'FilterProjection' || !beginsWithPart(copy.right)) return copy;
  const all = { ...copy, right: { type: 'Identity' } };
  const part = { type: 'ExpressionReference', child: copy.right };
  return { type: 'Function', name: PART_OF_FILTERED, children: [all, part] };
}

function beginsWithPart(node: unknown): boolean {
  if (!isRecord(node)) return false;
  if (node.type !== 'IndexExpression') return beginsWithPart(node.left);
  const of = node.left;
  return isRecord(of) && of.type === 'Identity' ? true : beginsWithPart(of);
}

/** Returns an expression that works on this value. */
export function exampleSelect(value: unknown): string {
  if (typeof value === 'string') return '[-5:]';
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
