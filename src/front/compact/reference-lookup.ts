/** Evaluates references: finds what an earlier call gave, or a stored result, and replaces the references in arguments. */
import { setImmediate } from 'node:timers/promises';
import { McpxError, messageOf } from '../../errors.ts';
import { isLosslessNumber, plain } from '../../lossless-json.ts';
import { describeSize, isLarger } from '../../render/json-size.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import { filledIn, type Reference, referencesIn, requireReference } from './references.ts';
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
  /** Shared by the calls of one `each`. */
  shared?: Shared;
  /** The element of the `each` that this call belongs to. */
  element?: { item: unknown; index: number };
}

/** The use that the references of one call, or of one `each`, have made of a shared limit. */
interface Shared {
  /** Characters that may still be filled in. */
  left: number;
  /** Stored results that are parsed already. */
  stored: Map<string, Given>;
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

/** Maximum characters of all values that references put into the arguments of one call, or of one `each`. */
const MAX_FILLED = 64 * 1024 * 1024;
/** Maximum number of different JMESPath references in one call; each may take as long as one `select`. */
const MAX_EXPRESSIONS = 50;

export const newShared = (): Shared => ({ left: MAX_FILLED, stored: new Map() });

/** Returns arguments with each reference replaced by its value; the same arguments if they hold none. */
export async function resolved(args: unknown, given: Scope, schema?: unknown): Promise<unknown> {
  const scope = { ...given, shared: given.shared ?? newShared() };
  const references = referencesIn(args, (root) => isPossible(root, scope));
  if (references.length === 0) return args;
  const roots = await rootsOf(references, scope);
  const values = await evaluated(references, roots);
  const read = (reference: Reference, asText: boolean) => {
    const [root = ''] = reference.roots;
    const text = asText && reference.path?.length === 0 ? roots.get(root)?.text : undefined;
    const value = text ?? values.get(reference.text);
    if (value === undefined) throw unknownRoot(reference, roots);
    return withinRoom(value, scope.shared);
  };
  return filledIn(args, { isRoot: (root) => roots.has(root), valueOf: read }, schema);
}

/** Refuses to put more into arguments than a message may have. */
function withinRoom(value: unknown, shared: Shared): unknown {
  if (typeof value === 'string') shared.left -= value.length;
  else if (isLarger(value, shared.left)) shared.left = -1;
  if (shared.left >= 0) return value;
  throw new McpxError('overloaded', `not run: the references fill in more than ${describeSize(MAX_FILLED)}`);
}

/** Returns the list that `each` names: a list, a reference to one, or the lines of a text. */
export async function resolvedList(each: unknown, scope: Scope): Promise<unknown[]> {
  if (Array.isArray(each)) return (await resolved(each, scope)) as unknown[];
  const text = isRecord(each) && typeof each.$from === 'string' ? each.$from : each;
  if (typeof text !== 'string') throw noList(each, 'is not one');
  const reference = requireReference(text);
  const roots = await rootsOf([reference], scope);
  const only = reference.path?.length === 0 ? roots.get(reference.roots[0] ?? '') : undefined;
  const list = only?.values.find(Array.isArray) ?? (await evaluated([reference], roots)).get(reference.text);
  if (list === undefined) throw unknownRoot(reference, roots);
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

type Roots = ReadonlyMap<string, Given>;

/** Collects what the references read. A root in a string that names nothing is left out, because it is data. */
async function rootsOf(references: Reference[], scope: Scope): Promise<Roots> {
  const roots = new Map<string, Given>();
  for (const reference of references) {
    for (const root of reference.roots) {
      if (roots.has(root)) continue;
      const found = await rootOf(root, reference, scope);
      if (found !== undefined) roots.set(root, found);
    }
  }
  return roots;
}

/** Returns the values of the references whose roots exist, by their text; throws for one that gives nothing. */
async function evaluated(references: Reference[], roots: Roots): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  let expressions = 0;
  for (const reference of references) {
    const { text, path } = reference;
    if (values.has(text) || !reference.roots.every((root) => roots.has(root))) continue;
    if (path !== undefined) values.set(text, alongPath(reference, path, roots));
    else {
      expressions += 1;
      if (expressions > MAX_EXPRESSIONS) throw tooMany();
      // Other clients are served between two expressions.
      await setImmediate();
      values.set(text, projected(reference, await compiledFrom(reference), roots));
    }
  }
  return values;
}

function tooMany(): McpxError {
  return new McpxError('arguments', `not run: its arguments have more than ${MAX_EXPRESSIONS} different expressions`, {
    hint: 'refer to values by paths, such as "0.items[0].id", or let "select" prepare them',
  });
}

/** Stands for a result that is too large to be retained for later calls of the batch. */
export const TOO_LARGE: Given = { whole: null, values: [] };
/** Maximum characters of all results that are retained for later calls of one batch. */
const MAX_RETAINED = 128 * 1024 * 1024;

/** Returns a function that counts a result which later calls refer to, and gives it back if there is room. */
export function createRetainer(): (given: Given) => Given {
  let left = MAX_RETAINED;
  return (given) => {
    left -= given.text?.length ?? JSON.stringify(given.whole)?.length ?? 0;
    return left >= 0 ? given : TOO_LARGE;
  };
}

function notRetained(root: string): McpxError {
  const most = describeSize(MAX_RETAINED);
  return new McpxError('overloaded', `not run: the results up to that of call ${root} have more than ${most}`, {
    hint: 'let "select" take the part that later calls refer to',
  });
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
  const { own, earlier, stored, shared, element } = scope;
  if (isCall(root)) {
    if (Number(root) >= own) throw notEarlier(reference, own);
    const found = await earlier(Number(root));
    if (found === undefined) throw new McpxError('arguments', `not run: it refers to call ${root}, which failed`);
    if (found === TOO_LARGE) throw notRetained(root);
    return found;
  }
  if (element !== undefined && root === 'item') return { whole: element.item, values: [element.item] };
  if (element !== undefined && root === 'index') return { whole: element.index, values: [element.index] };
  const known = shared?.stored.get(root);
  const kept = known === undefined && STORED.test(root) ? await stored.get(root) : undefined;
  const given = known ?? (kept && givenByStored(kept));
  if (given !== undefined) shared?.stored.set(root, given);
  return given;
}

function projected({ text, roots: names }: Reference, projection: Projection, roots: Roots): unknown {
  const most = Math.max(...names.map((name) => roots.get(name)?.values.length ?? 0));
  const readings = Array.from({ length: most }, (_, at) => {
    const entries = names.map((name) => [name, roots.get(name)?.values.at(at) ?? roots.get(name)?.whole]);
    return Object.fromEntries(entries) as Params;
  });
  const { part } = partOf({ whole: readings[0], values: readings }, projection);
  if (part !== null) return part;
  throw new McpxError('arguments', `not run: "$from" ${JSON.stringify(text)} selects nothing`, {
    hint: names.map((name) => `"${name}" ${describe(plain(roots.get(name)?.whole))}`).join(', '),
  });
}

function unknownRoot({ text, roots: names }: Reference, roots: Roots): McpxError {
  const root = names.find((name) => !roots.has(name)) ?? '';
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

type Path = (string | number)[];

function alongPath({ text, roots: [root = ''] }: Reference, path: Path, roots: Roots): unknown {
  const { whole, values } = roots.get(root) as Given;
  if (path.length === 0) return whole;
  const found = values.map((value) => follow(value, path, root));
  const there = found.find((one) => one.missing === undefined);
  if (there !== undefined) return there.value;
  const last = found.findLast(({ value }) => typeof value === 'object' && !Array.isArray(value)) ?? found.at(-1);
  const what = `"${last?.missing ?? root}" ${describe(plain(last?.value ?? whole))}`;
  throw new McpxError('arguments', `not run: there is nothing at "$from" ${JSON.stringify(text)}; ${what}`);
}

/** Returns the value at the end of a path, or the last value that exists and its path. */
function follow(from: unknown, path: Path, start: string): { value: unknown; missing?: string } {
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
