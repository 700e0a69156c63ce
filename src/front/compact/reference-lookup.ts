/** Evaluates references: finds what an earlier call gave, or a stored result, and replaces the references in arguments. */
import { McpxError, messageOf } from '../../errors.ts';
import { isLosslessNumber, plain } from '../../lossless-json.ts';
import { describeSize, isLarger } from '../../render/json-size.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { type Filling, filledIn, type Reference, referencesIn, requireReference } from './references.ts';
import type { ResultStore } from './result-store.ts';
import { type Given, givenByStored, partOf } from './result-values.ts';
import { compileProjection, type Projection } from './select.ts';

export type StoredResults = Pick<ReturnType<ResultStore['ofSession']>, 'get'>;

/** The results that the references of one call may read. */
export interface Scope {
  /** The number of the call; it refers to calls with a lower number. */
  own: number;
  /** Returns what an earlier call gave; undefined if it failed. */
  earlier(call: number): Promise<Given | undefined>;
  stored: StoredResults;
  /** Characters that references may still fill in, if several calls share them. */
  room?: { left: number };
  /** The element of the `each` that this call belongs to. */
  element?: { item: unknown; index: number };
}

/** Returns the earlier calls that a value refers to; throws for a reference to a call that is not earlier. */
export function callsIn(value: unknown, own: number): number[] {
  const numbers = referencesIn(value, (root) => isCall(root) && Number(root) < own).flatMap((reference) => {
    const calls = reference.roots.filter(isCall).map(Number);
    if (calls.some((call) => call >= own)) throw notEarlier(reference, own);
    return calls;
  });
  return [...new Set(numbers)];
}

const isCall = (root: string) => /^\d{1,3}$/.test(root);

function notEarlier({ text }: Reference, own: number): McpxError {
  const which = own === 0 ? 'the first call has none before it' : `this is call ${own}`;
  return new McpxError('arguments', `"$from" ${JSON.stringify(text)} must name an earlier call: ${which}`);
}

/** The forms of the ids of stored results. */
const STORED = /^(?:r[0-9a-z]{1,7}|[\w-]{22})$/;

/** Returns arguments with each reference replaced by its value; the same arguments if they hold none. */
export async function resolved(args: unknown, scope: Scope, schema?: unknown): Promise<unknown> {
  const references = referencesIn(args, (root) => isPossible(root, scope));
  if (references.length === 0) return args;
  const { given, compiled } = await gather(references, scope);
  const read = (reference: Reference, asText: boolean) => {
    const found = lookUp(reference, given, compiled);
    return asText && reference.path?.length === 0 ? (given.get(reference.roots[0] ?? '')?.text ?? found) : found;
  };
  return filledIn(args, { isRoot: (root) => given.has(root), valueOf: bounded(read, scope.room) }, schema);
}

/** Maximum characters of all texts that references put into the arguments of one call, or of one `each`. */
const MAX_TEXT = 64 * 1024 * 1024;

export const newRoom = (): { left: number } => ({ left: MAX_TEXT });

/** Refuses to put more text into arguments than a message may have. */
function bounded(read: Filling['valueOf'], room = newRoom()): Filling['valueOf'] {
  return (reference, asText) => {
    const value = read(reference, asText);
    if (typeof value === 'string') room.left -= value.length;
    else if (isLarger(value, room.left)) room.left = -1;
    if (room.left >= 0) return value;
    throw new McpxError('overloaded', `not run: the references fill in more than ${describeSize(MAX_TEXT)}`);
  };
}

/** Returns the list that `each` names: a list, a reference to one, or the lines of a text. */
export async function resolvedList(each: unknown, scope: Scope): Promise<unknown[]> {
  if (Array.isArray(each)) return (await resolved(each, scope)) as unknown[];
  const text = isRecord(each) && typeof each.$from === 'string' ? each.$from : each;
  if (typeof text !== 'string') throw noList(each, 'is not one');
  const reference = requireReference(text);
  const { given, compiled } = await gather([reference], scope);
  const only = reference.path?.length === 0 ? given.get(reference.roots[0] ?? '') : undefined;
  const list = only?.values.find(Array.isArray) ?? lookUp(reference, given, compiled);
  if (Array.isArray(list)) return only?.text === only?.whole ? list.filter((line) => line !== '') : list;
  throw noList(text, describe(plain(list)));
}

function noList(each: unknown, why: string): McpxError {
  return new McpxError('arguments', `not run: "each" must be a list: ${JSON.stringify(each)} ${why}`, {
    hint: 'such as "each": "0.items", or a list; {"$from": "item"} in the arguments is one element',
  });
}

function isPossible(root: string, { own, element }: Scope): boolean {
  if (isCall(root)) return Number(root) < own;
  return element !== undefined && (root === 'item' || root === 'index') ? true : STORED.test(root);
}

interface Gathered {
  given: ReadonlyMap<string, Given>;
  compiled: ReadonlyMap<string, Projection>;
}

/** Collects what the references read. A root in a string that names nothing is left out, because it is data. */
async function gather(references: Reference[], scope: Scope): Promise<Gathered> {
  const given = new Map<string, Given>();
  const compiled = new Map<string, Projection>();
  for (const reference of references) {
    for (const root of reference.roots) {
      if (given.has(root)) continue;
      const found = await rootOf(root, reference, scope);
      if (found !== undefined) given.set(root, found);
    }
    if (reference.path === undefined) compiled.set(reference.text, await compiledFrom(reference));
  }
  return { given, compiled };
}

async function compiledFrom({ text, expression }: Reference): Promise<Projection> {
  try {
    return await compileProjection(expression);
  } catch (cause) {
    const why = messageOf(cause).replace(/^"select" cannot be used: /, '');
    throw new McpxError('arguments', `not run: ${JSON.stringify(text)} is no reference: ${why}`, { cause });
  }
}

async function rootOf(root: string, reference: Reference, scope: Scope): Promise<Given | undefined> {
  const { own, earlier, stored, element } = scope;
  if (isCall(root)) {
    if (Number(root) >= own) throw notEarlier(reference, own);
    const found = await earlier(Number(root));
    if (found === undefined) throw new McpxError('arguments', `not run: it refers to call ${root}, which failed`);
    return found;
  }
  if (element !== undefined && root === 'item') return { whole: element.item, values: [element.item] };
  if (element !== undefined && root === 'index') return { whole: element.index, values: [element.index] };
  const kept = STORED.test(root) ? await stored.get(root) : undefined;
  return kept && givenByStored(kept);
}

/** Returns the value of a reference; throws if there is none. */
function lookUp(reference: Reference, given: Gathered['given'], compiled: Gathered['compiled']): unknown {
  const { text, path, roots } = reference;
  const missing = roots.find((root) => !given.has(root));
  if (missing !== undefined) throw unknownRoot(text, missing);
  const [root = ''] = roots;
  if (path !== undefined) return alongPath(text, { root, path }, given.get(root) as Given);
  const projection = compiled.get(text) as Projection;
  const most = Math.max(...roots.map((name) => given.get(name)?.values.length ?? 0));
  const readings = Array.from({ length: most }, (_, at) => {
    const entries = roots.map((name) => [name, given.get(name)?.values.at(at) ?? given.get(name)?.whole]);
    return Object.fromEntries(entries) as Params;
  });
  const { part } = partOf({ whole: readings[0], values: readings }, projection);
  if (part !== null) return part;
  throw new McpxError('arguments', `not run: "$from" ${JSON.stringify(text)} selects nothing`, {
    hint: roots.map((name) => `"${name}" ${describe(plain(given.get(name)?.whole))}`).join(', '),
  });
}

function unknownRoot(text: string, root: string): McpxError {
  const isElement = root === 'item' || root === 'index';
  const why = isElement
    ? `"${root}" is an element of "each", which this call does not have`
    : STORED.test(root)
      ? `no result is kept as "${root}"`
      : `"${root}" is neither an earlier call nor a kept result`;
  return new McpxError('arguments', `not run: ${JSON.stringify(text)} is no reference: ${why}`, {
    hint: 'begin with the number of an earlier call or the id of a kept result, such as {"$from": "0.items[0].id"}',
  });
}

interface Path {
  root: string;
  path: (string | number)[];
}

function alongPath(text: string, { root, path }: Path, { whole, values }: Given): unknown {
  if (path.length === 0) return whole;
  const found = values.map((value) => follow(value, path, root));
  const there = found.find((one) => one.missing === undefined);
  if (there !== undefined) return there.value;
  const last = found.findLast(({ value }) => typeof value === 'object' && !Array.isArray(value)) ?? found.at(-1);
  const at = JSON.stringify(text);
  throw new McpxError(
    'arguments',
    `not run: there is nothing at "$from" ${at}; "${last?.missing}" ${describe(plain(last?.value))}`,
  );
}

/** Returns the value at the end of a path, or the last value that exists and its path. */
function follow(from: unknown, path: Path['path'], start: string): { value: unknown; missing?: string } {
  let value = from;
  let at = start;
  for (const step of path) {
    const key = typeof step === 'number' && step < 0 && Array.isArray(value) ? value.length + step : step;
    const isHolder = typeof value === 'object' && value !== null && !isLosslessNumber(value);
    if (!isHolder || !Object.hasOwn(value as object, key)) return { value, missing: at };
    value = (value as Record<string | number, unknown>)[key];
    at += typeof step === 'number' ? `[${step}]` : `.${step}`;
  }
  return { value };
}

function describe(value: unknown): string {
  if (typeof value !== 'object' || value === null) return `is ${value === null ? 'null' : `a ${typeof value}`}`;
  if (Array.isArray(value)) return `is a list of ${value.length}`;
  return `has the keys ${Object.keys(value).slice(0, 20).join(', ')}`;
}
