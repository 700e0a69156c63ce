/** Helpers for parsed JSON: type guards, own keys, paths as text. A name such as `__proto__` is an ordinary key here. */
import { isRecord } from '../lossless-json.ts';
import type { Place } from './config.ts';

export type Path = (string | number)[];
export type JsonRecord = Record<string, unknown>;

export { isRecord };

/** Returns an own property, never an inherited one. */
export function own(record: JsonRecord, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** True if a key is a comment: mcpx neither reads it nor warns about it. */
export function isNote(key: string): boolean {
  return key === '$schema' || key.startsWith('x-') || key.startsWith('_') || key.startsWith('//');
}

/** Like `isNote`, for a map whose keys are names: `x-team` may be the name of a server. */
export function isNoteEntry(key: string, value: unknown): boolean {
  return isNote(key) && !(key.startsWith('x-') && isRecord(value));
}

export function inside(place: Place, ...keys: Path): Place {
  return { file: place.file, path: [...place.path, ...keys] };
}

/** Returns a path in JavaScript notation, such as `mcpServers["My Files"].args[0]`. */
export function pathText(path: Path): string {
  const text = path.map((key) => {
    if (typeof key === 'number') return `[${key}]`;
    return /^[\w$-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  return text.join('').replace(/^\./, '');
}

/** Returns the type of a value as text for messages, such as "a list". */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : 'true or false';
}

/** True if two values are equal as JSON, in any order of keys. */
export function sameJson(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, index) => sameJson(item, b[index]));
  }
  if (!isRecord(a) || !isRecord(b)) return a === b;
  const keys = Object.keys(a);
  return (
    keys.length === Object.keys(b).length && keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  );
}

/** Joins items as `a`, `a or b`, or `a, b or c`. */
export function listText(items: readonly string[], word = 'or'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`;
}

export function quoted(items: readonly string[]): string[] {
  return items.map((item) => JSON.stringify(item));
}
