/** A small path language over JSON values: `a.b[0]`, `items[*].name`, `["key with.dot"]`, `[-1]` for the last. */
import { rejectInput } from './input.ts';

export type Step = { key: string } | { index: number } | { all: true };

export const MAX_PATH = 1_000;
const MAX_MATCHES = 10_000;
const IDENTIFIER = /^[\p{L}_$][\p{L}\p{N}_$-]*$/u;

/** Returns the steps of a path; a leading `$` or `.` is allowed. Throws an error that names the position. */
export function parsePath(text: string): Step[] {
  const steps: Step[] = [];
  const token = /\.?\*|\.?([^.[\]*"'\s]+)|\[(?:(-?\d{1,9})|(\*)|"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)')\]/y;
  token.lastIndex = /^\s*\$?/.exec(text)?.[0].length ?? 0;
  const end = text.trimEnd().length;
  while (token.lastIndex < end) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (!match)
      rejectInput(
        `the path is wrong at position ${at + 1}: "${text.slice(at, at + 20)}"`,
        'write it like "items[0].name"',
      );
    const [whole, name, index, star, double, single] = match;
    const quoted = double ?? single;
    if (star !== undefined || whole.endsWith('*')) steps.push({ all: true });
    else if (index !== undefined) steps.push({ index: Number(index) });
    else steps.push({ key: name ?? (quoted ?? '').replace(/\\(.)/g, '$1') });
  }
  return steps;
}

/** Returns every value that the path matches; a missing step matches none. */
export function follow(value: unknown, steps: readonly Step[]): unknown[] {
  let found = [value];
  for (const step of steps) {
    const next: unknown[] = [];
    for (const item of found) {
      for (const child of children(item, step)) next.push(child);
      if (next.length > MAX_MATCHES) rejectInput(`the path matches more than ${MAX_MATCHES} values`);
    }
    found = next;
  }
  return found;
}

function children(value: unknown, step: Step): unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  if ('all' in step) return Object.values(value);
  if ('index' in step) {
    const item = Array.isArray(value) ? value.at(step.index) : undefined;
    return item === undefined ? [] : [item];
  }
  return Object.hasOwn(value, step.key) ? [(value as Record<string, unknown>)[step.key]] : [];
}

/** Returns the path of a child in the notation that `parsePath` reads. */
export function childPath(parent: string, key: string | number): string {
  if (typeof key === 'number') return `${parent}[${key}]`;
  if (!IDENTIFIER.test(key)) return `${parent}[${JSON.stringify(key)}]`;
  return parent === '' ? key : `${parent}.${key}`;
}
