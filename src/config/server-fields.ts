/** Collects the fields of one server entry under our own names. Two names for one field with different values are an error. */
import { aliasNames, type FieldName, fieldNameOf, IGNORED, NOT_CARRIED, type Part, partsOf } from './aliases.ts';
import type { Place } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import type { Field } from './field-kinds.ts';
import { SERVER } from './fields.ts';
import { isNote, isRecord, type JsonRecord, kindOf, listText, quoted, sameJson } from './json-data.ts';
import { didYouMean, nearest } from './nearest.ts';
import { TYPES } from './server-target.ts';
import { readField } from './validate.ts';

/** The meaning that one client gives to common fields. */
export interface Dialect {
  /** Timeouts without a unit are seconds: all of them, or only those that are too short to be milliseconds. */
  seconds?: 'all' | 'short';
  /** Types that only that client can run; their entries are skipped. */
  foreign?: readonly string[];
}

/** A named entry as written in a file. */
export interface Written<T = unknown> {
  name: string;
  value: T;
  place: Place;
}

export interface ServerFields {
  /** Returns our names of the fields that are present. */
  slots(): string[];
  part(slot: FieldName | 'leading'): Part | undefined;
  /** Returns the converted value; undefined if it is absent or wrong. The caller states the field's type. */
  read<T>(slot: FieldName | 'leading'): T | undefined;
  /** Returns a hint if an unknown key resembles one of these fields. */
  mistyped(fields: readonly string[]): string | undefined;
}

const FIELDS = new Map<string, Field>([
  ...Object.entries(SERVER),
  ...nested('tools'),
  ...nested('reconnect'),
  ['enabled', { kind: 'boolean' }],
  ['leading', { kind: 'list', of: { kind: 'scalar' } }],
]);

function nested(key: 'tools' | 'reconnect'): [string, Field][] {
  const field: Field = SERVER[key];
  return field.kind === 'group' ? Object.entries(field.fields).map(([name, inner]) => [`${key}.${name}`, inner]) : [];
}

export function collectFields(server: Written<JsonRecord>, dialect: Dialect, findings: Diagnostics): ServerFields {
  const all = partsOf(server.value, server.place);
  const unknown = all.filter(({ key }) => !FIELDS.has(fieldNameOf(key)));
  for (const part of unknown) tellUnknown(part, server.name, findings);
  const bySlot = new Map<string, Part[]>();
  for (const part of all) {
    if (unknown.includes(part)) continue;
    const slot = fieldNameOf(part.key);
    bySlot.set(slot, [...(bySlot.get(slot) ?? []), part]);
  }
  const merged = new Map([...bySlot].map(([slot, parts]) => [slot, merge(slot, parts, findings)]));
  const timeout = merged.get('timeout');
  if (timeout !== undefined && isInSeconds(timeout.value, dialect))
    merged.set('timeout', { ...timeout, seconds: true });
  return {
    slots: () => [...merged.keys()],
    part: (slot) => merged.get(slot),
    read: <T>(slot: FieldName | 'leading') => {
      const part = merged.get(slot);
      const field = FIELDS.get(slot);
      if (part === undefined || field === undefined) return undefined;
      return readField(field, inMilliseconds(part), part.place, findings) as T | undefined;
    },
    mistyped: (fields) => {
      const found = unknown
        .map(({ key }) => [key, nearest(key, fields)] as const)
        .find(([, field]) => field !== undefined);
      return found === undefined ? undefined : `did you mean "${found[1]}" instead of "${found[0]}"?`;
    },
  };
}

/** A number without a unit below this is probably not meant as milliseconds. */
export const SUSPICIOUS_MS = 1000;

function isInSeconds(value: unknown, { seconds }: Dialect): boolean {
  return seconds === 'all' || (seconds === 'short' && typeof value === 'number' && value < SUSPICIOUS_MS);
}

function inMilliseconds({ value, seconds }: Part): unknown {
  return seconds === true && typeof value === 'number' ? value * 1000 : value;
}

/** Returns the normalized value of a part, for comparing two of them. */
function meaning(slot: string, part: Part): unknown {
  return slot === 'type' ? (TYPES.get(String(part.value).toLowerCase()) ?? part.value) : inMilliseconds(part);
}

function merge(slot: string, parts: Part[], findings: Diagnostics): Part {
  const [first, ...others] = parts.toSorted((a, b) => Number(a.weak ?? false) - Number(b.weak ?? false));
  // Every group has at least one part.
  let result = first as Part;
  for (const other of others) {
    const both = slot === 'env' || slot === 'headers' ? union(result, other, slot) : undefined;
    if (both !== undefined) result = both;
    else if (!sameJson(meaning(slot, result), meaning(slot, other))) disagree(result, other, findings);
  }
  return result;
}

/** Merges variables or headers of two fields; undefined if they contradict each other. */
function union(first: Part, second: Part, slot: string): Part | undefined {
  if (!isRecord(first.value) || !isRecord(second.value)) return undefined;
  const spelled = (name: string): string => (slot === 'headers' ? name.toLowerCase() : name);
  const taken = new Map(Object.entries(first.value).map(([name, value]) => [spelled(name), value]));
  const added = Object.entries(second.value).filter(([name]) => !taken.has(spelled(name)));
  const clash = Object.entries(second.value).some(([name, value]) => {
    return taken.has(spelled(name)) && !sameJson(taken.get(spelled(name)), value);
  });
  if (clash && second.weak !== true) return undefined;
  return { ...first, value: { ...first.value, ...Object.fromEntries(added) } };
}

function disagree(first: Part, second: Part, findings: Diagnostics): void {
  const names = listText(quoted([first, second].map(({ place }) => String(place.path.at(-1)))), 'and');
  findings.error({
    message: `${names} have different values`,
    place: second.place,
    part: 'key',
    hint: 'keep one of them',
  });
}

function tellUnknown({ key, value, place }: Part, server: string, findings: Diagnostics): void {
  if (isNote(key) || IGNORED.has(key)) return;
  const reason = NOT_CARRIED.get(key);
  if (aliasNames().includes(key)) {
    const message = `"${key}" of server "${server}" is ignored: ${kindOf(value)} is not supported there`;
    findings.warn({ message, place, part: 'key' });
    return;
  }
  if (reason === undefined) {
    const hint = didYouMean(key, [...Object.keys(SERVER), 'enabled', ...aliasNames()]);
    findings.unknown({ message: `unknown key ${JSON.stringify(key)} in server "${server}"`, place, part: 'key', hint });
    return;
  }
  const empty = value === false || (Array.isArray(value) && value.length === 0);
  if (!empty) findings.warn({ message: `"${key}" of server "${server}" is ignored: ${reason}`, place, part: 'key' });
}
