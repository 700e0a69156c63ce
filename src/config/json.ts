/** Parsed JSON as data: guards, own keys, paths in words. Names such as `__proto__` are ordinary keys here. */
import { isExact } from '../exact.ts';
import type { Place } from './config.ts';

export type Path = (string | number)[];
export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isExact(value);
}

/** An own property, and never one that every object inherits. */
export function own(record: JsonRecord, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** Keys that are notes to people: never read, never warned about. */
export function isNote(key: string): boolean {
  return key === '$schema' || key.startsWith('x-') || key.startsWith('_') || key.startsWith('//');
}

/** The same in a map whose keys are names: `x-team` may be one. */
export function isNoteEntry(key: string, value: unknown): boolean {
  return isNote(key) && !(key.startsWith('x-') && isRecord(value));
}

export function inside(place: Place, ...keys: Path): Place {
  return { file: place.file, path: [...place.path, ...keys] };
}

/** `mcpServers["My Files"].args[0]`, as one would write it. */
export function pathText(path: Path): string {
  const text = path.map((key) => {
    if (typeof key === 'number') return `[${key}]`;
    return /^[\w$-]+$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
  });
  return text.join('').replace(/^\./, '');
}

/** What a value is, in words for people who do not write JavaScript. */
export function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object') return 'an object';
  if (typeof value === 'string') return 'text';
  return typeof value === 'number' ? 'a number' : 'true or false';
}

/** Equal as JSON, whatever the order of keys. */
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

/** `a`, `a or b`, `a, b or c`. */
export function listText(items: readonly string[], word = 'or'): string {
  if (items.length < 2) return items.join('');
  return `${items.slice(0, -1).join(', ')} ${word} ${items.at(-1)}`;
}

export function quoted(items: readonly string[]): string[] {
  return items.map((item) => JSON.stringify(item));
}
