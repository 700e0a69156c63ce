/** Comments beside a type: descriptions, defaults, formats, ranges. They never break the surrounding text. */
import type { Schema } from './schema-refs.ts';
import { clean, cut, oneLine } from './text.ts';

const MAX_NOTE = 60;
/** Maximum characters of a pattern, which is useful only as a whole. Beside a format the limit is `MAX_NOTE`. */
const MAX_PATTERN = 200;

/** Limits without meaning, which generators write for every integer. */
const IDLE_LIMITS = new Set([
  ...[Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER, Number.MAX_VALUE],
  ...[2 ** 63, -(2 ** 63), 2 ** 31 - 1, -(2 ** 31)],
]);

/** Formats that only state the bits of a number. */
const IDLE_FORMATS = new Set([
  'int32',
  'int64',
  'uint',
  'uint8',
  'uint16',
  'uint32',
  'uint64',
  'float',
  'double',
  'decimal',
]);

/** Returns short notes for the constraints of a schema beyond its type. */
export function notesOf(schema: Schema): string[] {
  const { type, format, multipleOf, uniqueItems, contentEncoding, deprecated, examples } = schema;
  const notes = [
    type === 'integer' && 'integer',
    typeof format === 'string' && !IDLE_FORMATS.has(format) && format,
    typeof contentEncoding === 'string' && contentEncoding,
    range(bounds(schema), ''),
    range([limit(schema.minLength), limit(schema.maxLength)], ' chars'),
    range([limit(schema.minItems), limit(schema.maxItems)], ' items'),
    range([limit(schema.minProperties), limit(schema.maxProperties)], ' keys'),
    typeof multipleOf === 'number' && `multiple of ${multipleOf}`,
    uniqueItems === true && 'unique',
    patternNote(schema),
    ...dependencies(schema.dependentRequired),
    'default' in schema && schema.default !== null && `default ${short(schema.default)}`,
    Array.isArray(examples) && examples.length > 0 && `e.g. ${short(examples[0])}`,
    deprecated === true && 'deprecated',
  ];
  return notes.filter((note) => typeof note === 'string' && note !== '').map(String);
}

function patternNote({ pattern, format }: Schema): string {
  const most = typeof format === 'string' ? MAX_NOTE : MAX_PATTERN;
  return typeof pattern === 'string' && pattern.length <= most ? `/${pattern}/` : '';
}

/** `{"card": ["address"]}` becomes "card needs address". */
function dependencies(value: unknown): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [];
  return Object.entries(value).flatMap(([key, needed]) =>
    Array.isArray(needed) && needed.length > 0 ? [cut(`${key} needs ${needed.join(', ')}`, MAX_NOTE)] : [],
  );
}

function limit(value: unknown): number | undefined {
  return typeof value === 'number' && !IDLE_LIMITS.has(value) ? value : undefined;
}

/** Returns lower and upper bound; an exclusive bound gets a sign, also in the boolean form of draft-04. */
function bounds({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: Schema): (number | string | undefined)[] {
  const above = exclusiveMinimum === true ? minimum : exclusiveMinimum;
  const below = exclusiveMaximum === true ? maximum : exclusiveMaximum;
  const [low, high] = [limit(above), limit(below)];
  return [low === undefined ? limit(minimum) : `>${low}`, high === undefined ? limit(maximum) : `<${high}`];
}

function range([low, high]: (number | string | undefined)[], unit: string): string {
  if (low === undefined && high === undefined) return '';
  if (typeof low === 'string' || typeof high === 'string') {
    const parts = [typeof low === 'number' ? `≥${low}` : low, typeof high === 'number' ? `≤${high}` : high];
    return parts.filter((part) => part !== undefined).join(' ') + unit;
  }
  if (low === high) return `${low}${unit}`;
  if (low === undefined) return `≤${high}${unit}`;
  if (low === 0 && high === undefined && unit !== '') return '';
  if (low === 1 && high === undefined && unit !== '') return 'non-empty';
  return high === undefined ? `≥${low}${unit}` : `${low}..${high}${unit}`;
}

function short(value: unknown): string {
  return cut(JSON.stringify(value) ?? '', MAX_NOTE);
}

/** Returns description and notes as the text of one comment, without delimiters; empty if there are none. */
export function commentText(description: unknown, notes: string[], maxDescription?: number): string {
  const whole = typeof description === 'string' ? oneLine(clean(description)) : '';
  const about = maxDescription === undefined ? whole : cut(whole, maxDescription);
  const fresh = [...new Set(notes.map((note) => oneLine(clean(note))))].filter((note) => !isSaid(note, whole));
  if (about === '') return fresh.join(', ');
  return fresh.length === 0 ? about : `${about} (${fresh.join(', ')})`;
}

/** True if the description already contains the note: "Defaults to 10" covers "default 10", "(1-10)" covers "1..10". */
function isSaid(note: string, description: string): boolean {
  if (description.includes(note)) return true;
  const limits = /^(-?[\d.]+?)\.\.(-?[\d.]+)/.exec(note);
  if (limits) return new RegExp(`\\b${limits[1]}\\b.{1,5}\\b${limits[2]}\\b`).test(description);
  if (note.startsWith('e.g. ')) return description.includes(note.slice('e.g. '.length).replace(/^"(.*)"$/, '$1'));
  if (!note.startsWith('default ')) return false;
  const value = note.slice('default '.length).replace(/^"(.*)"$/, '$1');
  return /default/i.test(description) && description.includes(value);
}

/** Returns the text as a comment that can stand inside a line. */
export function blockComment(text: string): string {
  return text === '' ? '' : `/* ${text.replaceAll('*/', '*\\/')} */`;
}

/** Appends a comment to the first line of a type: every line break in a type follows an opening brace. */
export function withComment(type: string, comment: string): string {
  if (comment === '') return type;
  const end = type.indexOf('\n');
  return end < 0 ? `${type} // ${comment}` : `${type.slice(0, end)} // ${comment}${type.slice(end)}`;
}
