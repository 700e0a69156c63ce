/** Reads a JSON value by the definition of its field: checks and converts it, and reports each mistake once. */
import type { Place } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Field, Fields } from './field-kinds.ts';
import { inside, isNote, isRecord, type JsonRecord, kindOf, listText, pathText, quoted } from './json-data.ts';
import { didYouMean } from './nearest.ts';
import { maskText } from './redact.ts';
import { formatDuration, formatSize, MAX_DURATION, parseDuration, parseSize } from './units.ts';

type Kinds = { [K in Field['kind']]: Extract<Field, { kind: K }> };
type Reader<K extends Field['kind']> = (field: Kinds[K], value: unknown, at: Place, findings: Diagnostics) => unknown;

/** Returns the converted value, or undefined if it reported an error. */
export function readField(field: Field, value: unknown, at: Place, findings: Diagnostics): unknown {
  if (value === null && field.nullable === true) return null;
  // The cast is safe: the table maps each kind to the reader of that kind.
  const read = READERS[field.kind] as Reader<Field['kind']>;
  return read(field as never, value, at, findings);
}

const READERS: { [K in Field['kind']]: Reader<K> } = {
  string: (field, value, at, findings) => (typeof value === 'string' ? value : wrong(field, value, at, findings)),
  scalar: (field, value, at, findings) => {
    if (typeof value === 'string') return value;
    return typeof value === 'number' || typeof value === 'boolean' ? String(value) : wrong(field, value, at, findings);
  },
  boolean: (field, value, at, findings) => (typeof value === 'boolean' ? value : wrong(field, value, at, findings)),
  integer: (field, value, at, findings) => {
    const fits = Number.isSafeInteger(value) && within(value as number, field.min, field.max);
    return fits ? value : wrong(field, value, at, findings);
  },
  number: (field, value, at, findings) =>
    typeof value === 'number' && value > 0 ? value : wrong(field, value, at, findings),
  duration: (field, value, at, findings) => {
    const ms = parseDuration(value);
    return ms !== undefined && within(ms, field.min, MAX_DURATION) ? ms : wrong(field, value, at, findings);
  },
  size: (field, value, at, findings) => {
    const bytes = parseSize(value);
    return bytes !== undefined && within(bytes, field.min) ? bytes : wrong(field, value, at, findings);
  },
  enum: (field, value, at, findings) => {
    if (typeof value === 'string' && field.values.includes(value)) return value;
    return wrong(field, value, at, findings, typeof value === 'string' ? didYouMean(value, field.values) : undefined);
  },
  'enum-or-list': (field, value, at, findings) => {
    if (Array.isArray(value)) return readList({ kind: 'string' }, value, at, findings);
    return typeof value === 'string' && field.values.includes(value) ? value : wrong(field, value, at, findings);
  },
  list: (field, value, at, findings) => {
    if (Array.isArray(value)) return readList(field.of, value, at, findings);
    if (field.single !== true || isRecord(value)) return wrong(field, value, at, findings);
    const single = readField(field.of, value, at, findings);
    return single === undefined ? undefined : [single];
  },
  map: (field, value, at, findings) => {
    if (!isRecord(value)) return wrong(field, value, at, findings);
    const entries = Object.entries(value).map(([key, item]) => [
      key,
      readField(field.of, item, inside(at, key), findings),
    ]);
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  },
  group: (field, value, at, findings) => {
    if (!isRecord(value)) return wrong(field, value, at, findings);
    for (const key of field.required ?? []) {
      if (Object.hasOwn(value, key)) continue;
      findings.error({ message: `"${pathText(at.path)}" needs "${key}"`, place: at, hint: `add "${key}": "…"` });
    }
    warnUnknown(value, Object.keys(field.fields), at, findings);
    return readFields(field.fields, value, at, findings);
  },
  open: (field, value, at, findings) => (isRecord(value) ? value : wrong(field, value, at, findings)),
  servers: (_field, value) => value,
  profiles: (_field, value) => value,
};

/** Reads the keys that are present, each by its own field. */
export function readFields(fields: Fields, value: JsonRecord, at: Place, findings: Diagnostics): JsonRecord {
  const entries = Object.entries(fields).flatMap(([key, field]) => {
    if (!Object.hasOwn(value, key)) return [];
    const item = readField(field, value[key], inside(at, key), findings);
    return item === undefined ? [] : [[key, item] as const];
  });
  return Object.fromEntries(entries);
}

function readList(of: Field, items: unknown[], at: Place, findings: Diagnostics): unknown[] {
  const read = items.map((item, index) => readField(of, item, inside(at, index), findings));
  return read.filter((item) => item !== undefined);
}

export function warnUnknown(value: JsonRecord, known: readonly string[], at: Place, findings: Diagnostics): void {
  for (const key of Object.keys(value)) {
    if (known.includes(key) || isNote(key)) continue;
    const where = at.path.length === 0 ? '' : ` in "${pathText(at.path)}"`;
    const message = `unknown key ${JSON.stringify(maskText(key))}${where}`;
    findings.unknown({ message, place: inside(at, key), part: 'key', hint: didYouMean(key, known) });
  }
}

function within(value: number, min: number, max = Number.MAX_SAFE_INTEGER): boolean {
  return value >= min && value <= max;
}

function wrong(field: Field, value: unknown, at: Place, findings: Diagnostics, hint?: string): undefined {
  const message = `"${pathText(at.path)}" must be ${expected(field)}, not ${shown(field, value)}`;
  findings.error({ message, place: at, hint: hint ?? advice(field, value) ?? about(field) });
  return undefined;
}

/** Describes the values that a field accepts, as a part of a message. */
function expected(field: Field): string {
  const words = {
    string: 'text in double quotes',
    scalar: 'text in double quotes',
    boolean: 'true or false',
    number: 'a number greater than 0',
    map: 'an object of names and values',
    group: 'an object',
    open: 'an object',
    servers: 'an object of servers',
    profiles: 'an object of profiles',
  };
  const orNull = field.nullable === true ? ' or null' : '';
  if (field.kind === 'integer') return `${wholeNumber(field.min, field.max)}${orNull}`;
  if (field.kind === 'duration') return `a duration${field.min > 0 ? ' above 0' : ''} such as 60000 (ms) or "60s"`;
  if (field.kind === 'size') return `a size${least(field.min)} such as 65536 (bytes) or "64kb"`;
  if (field.kind === 'enum') return `${listText(quoted(field.values))}${orNull}`;
  if (field.kind === 'enum-or-list') return `${listText(quoted(field.values))}, or a list of names`;
  if (field.kind === 'list') return field.of.kind === 'group' ? 'a list of objects' : 'a list such as ["a", "b"]';
  return `${words[field.kind]}${orNull}`;
}

function least(bytes: number): string {
  return bytes > 1 ? ` of at least ${formatSize(bytes)}` : '';
}

function wholeNumber(min: number, max?: number): string {
  if (max !== undefined) return `a whole number from ${min} to ${max}`;
  return min > 0 ? `a whole number of at least ${min}` : 'a whole number';
}

/** Returns the value for a message. Text is quoted only if it cannot be a secret. */
function shown(field: Field, value: unknown): string {
  const harmless = !['string', 'scalar', 'map', 'group', 'open', 'list'].includes(field.kind);
  const simple = ['string', 'number', 'boolean'].includes(typeof value);
  if (!simple || (typeof value !== 'boolean' && !harmless)) return kindOf(value);
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 59)}…` : text;
}

/** Returns the description of the field as a hint. */
function about({ doc }: Field): string | undefined {
  return doc === undefined ? undefined : `${doc.charAt(0).toLowerCase()}${doc.slice(1).replace(/\.$/, '')}`;
}

function advice(field: Field, value: unknown): string | undefined {
  if (field.kind === 'boolean' && (value === 'true' || value === 'false')) return `write ${value} without quotes`;
  if (field.kind === 'integer' && typeof value === 'string' && /^\d+$/.test(value))
    return `write ${value} without quotes`;
  if (field.kind === 'list' && typeof value === 'string') return 'write ["…"]';
  const ms = field.kind === 'duration' ? parseDuration(value) : undefined;
  if (ms !== undefined && ms > MAX_DURATION)
    return `the longest is ${formatDuration(MAX_DURATION - (MAX_DURATION % 3_600_000))}`;
  if (field.kind === 'duration' && typeof value === 'string' && /^\d+$/.test(value))
    return `write ${value} or "${value}s"`;
  return undefined;
}
