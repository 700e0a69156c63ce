/** Compares JSON values with each other and with a shape that is an example of types. */
import { rejectInput } from './input.ts';
import { childPath } from './json-path.ts';

export interface Difference {
  path: string;
  change: 'added' | 'removed' | 'changed';
  before?: unknown;
  after?: unknown;
}

export interface Mismatch {
  path: string;
  message: string;
}

export const MAX_FINDINGS = 1_000;
const SHAPE_WORDS = ['string', 'number', 'integer', 'boolean', 'null', 'object', 'array', 'any'];

/** Returns the differences of two values in the key order of the first one; at most MAX_FINDINGS. */
export function differences(before: unknown, after: unknown, path = '', out: Difference[] = []): Difference[] {
  if (out.length >= MAX_FINDINGS || Object.is(before, after)) return out;
  if (kindOf(before) !== kindOf(after) || typeof before !== 'object' || before === null) {
    out.push({ path, change: 'changed', before, after });
    return out;
  }
  const [old, fresh] = [entriesOf(before), entriesOf(after)];
  for (const [key, value] of old) {
    if (out.length >= MAX_FINDINGS) break;
    if (fresh.has(key)) differences(value, fresh.get(key), childPath(path, key), out);
    else out.push({ path: childPath(path, key), change: 'removed', before: value });
  }
  for (const [key, value] of fresh) {
    if (out.length >= MAX_FINDINGS) break;
    if (!old.has(key)) out.push({ path: childPath(path, key), change: 'added', after: value });
  }
  return out;
}

function entriesOf(value: unknown): Map<string | number, unknown> {
  return new Map<string | number, unknown>(
    Array.isArray(value) ? value.entries() : Object.entries(value as Record<string, unknown>),
  );
}

/** Returns the mismatches with a shape such as `{"name": "string", "age?": "integer", "tags": ["string"]}`. */
export function mismatches(value: unknown, shape: unknown, path = '', out: Mismatch[] = []): Mismatch[] {
  if (out.length >= MAX_FINDINGS) return out;
  if (typeof shape === 'string') checkWord(value, shape, path, out);
  else if (Array.isArray(shape)) checkItems(value, shape, path, out);
  else if (typeof shape === 'object' && shape !== null) checkProperties(value, shape, path, out);
  else rejectInput(`the shape at "${path || 'the top'}" must be a type name, a list or an object`);
  return out;
}

function checkWord(value: unknown, words: string, path: string, out: Mismatch[]): void {
  const allowed = words.split('|').map((word) => word.trim());
  const unknown = allowed.find((word) => !SHAPE_WORDS.includes(word));
  if (unknown !== undefined)
    rejectInput(`"${unknown}" is not a type`, `use one of ${SHAPE_WORDS.join(', ')}, or several with "|"`);
  const kind = kindOf(value);
  const fits = allowed.some(
    (word) => word === 'any' || word === kind || (word === 'integer' && Number.isInteger(value)),
  );
  if (!fits) out.push({ path, message: `must be ${allowed.join(' or ')}, got ${kind}` });
}

function checkItems(value: unknown, shape: unknown[], path: string, out: Mismatch[]): void {
  if (!Array.isArray(value)) {
    out.push({ path, message: `must be array, got ${kindOf(value)}` });
    return;
  }
  if (shape.length === 0) return;
  for (const [index, item] of value.entries()) mismatches(item, shape[0], childPath(path, index), out);
}

function checkProperties(value: unknown, shape: object, path: string, out: Mismatch[]): void {
  if (kindOf(value) !== 'object') {
    out.push({ path, message: `must be object, got ${kindOf(value)}` });
    return;
  }
  const given = entriesOf(value);
  for (const [name, inner] of Object.entries(shape)) {
    const key = name.endsWith('?') ? name.slice(0, -1) : name;
    if (given.has(key)) mismatches(given.get(key), inner, childPath(path, key), out);
    else if (key === name) out.push({ path: childPath(path, key), message: 'missing' });
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
