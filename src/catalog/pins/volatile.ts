/** Serializes tool definitions for comparison, without the parts that may differ between two lists of the same tool. */
import { isLosslessNumber } from '../../lossless-json.ts';
import type { Tool } from '../listing.ts';

/** A time that is not compared. */
export interface Ignored {
  /** The position of the value, such as `default of "since"`. */
  place: string;
  value: string;
}

/**
 * A definition as text that is the same for two definitions that mean the same. These are all the differences that are ignored:
 *
 * - A date or date-time of ISO 8601 that is a whole value in `default`, `example` or `examples` of a schema, or in `_meta`: servers write the
 *   time of their start there. It can mean nothing but a time. Numbers and UUIDs are compared: they may be the id of an account or a recipient.
 * - Such a date or date-time inside a `description`, as in "Current date: 2026-10-19": a date gives a model no instruction.
 * - The order of `required`, `enum` and `type`, which are sets in JSON Schema, and the order of keys.
 */
export interface Normalised {
  text: string;
  ignored: Ignored[];
}

/** The kind of value at a place, which decides how it is compared. */
type Kind = 'tool' | 'schema' | 'names' | 'sample' | 'set' | 'plain';

const DATE = '\\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\\d|3[01])';
const CLOCK = '[01]\\d:[0-5]\\d|2[0-3]:[0-5]\\d';
const ZONE = ' ?(?:Z|UTC|GMT|[+-]\\d{2}:?\\d{2})';
const TIME = `${DATE}(?:[T ](?:${CLOCK})(?::[0-5]\\d(?:[.,]\\d{1,9})?)?(?:${ZONE})?)?`;
const WHOLE = new RegExp(`^${TIME}$`);
const WITHIN = new RegExp(`(?<![\\w-])${TIME}(?![\\w-])`, 'g');

/** Keywords of a schema whose arrays are sets. */
const SETS = new Set(['required', 'enum', 'type']);
/** Keywords whose values are samples; they do not restrict a value. */
const SAMPLES = new Set(['default', 'example', 'examples']);
/** Keywords whose keys are names of properties or definitions. */
const NAMES = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas']);
/** Maximum number of ignored times that are recorded per tool, for the log. */
const MAX_IGNORED = 20;

/** Serializes a definition. The depth is bounded, because definitions are within the limits of lists. */
export function normalise(tool: Tool): Normalised {
  const ignored: Ignored[] = [];
  const ignore = (place: string, value: string): void => {
    if (ignored.length < MAX_IGNORED) ignored.push({ place, value });
  };
  return { text: write(tool, { kind: 'tool', keyword: '', name: '' }, ignore), ignored };
}

interface Position {
  kind: Kind;
  /** The nearest enclosing keyword, and the property that it belongs to. */
  keyword: string;
  name: string;
}

type Ignore = (place: string, value: string) => void;

/** Returns JSON with sorted keys. */
export function canonical(value: unknown): string {
  return write(value, { kind: 'plain', keyword: '', name: '' }, () => undefined);
}

function write(value: unknown, at: Position, ignore: Ignore): string {
  if (typeof value === 'string') return writeText(value, at, ignore);
  if (Array.isArray(value)) {
    if (at.kind === 'set') return `[${value.map(canonical).sort().join(',')}]`;
    return `[${value.map((one) => write(one, at, ignore)).join(',')}]`;
  }
  if (typeof value !== 'object' || value === null || isLosslessNumber(value)) return JSON.stringify(value) ?? 'null';
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined);
  entries.sort(([a], [b]) => (a < b ? -1 : 1));
  const parts = entries.map(([key, inner]) => `${JSON.stringify(key)}:${write(inner, inside(at, key), ignore)}`);
  return `{${parts.join(',')}}`;
}

/** Serializes a string; a time becomes a placeholder that no JSON string equals. */
function writeText(text: string, { kind, keyword, name }: Position, ignore: Ignore): string {
  const place = name === '' ? keyword : `${keyword} of "${name}"`;
  if (kind === 'sample' && WHOLE.test(text)) {
    ignore(place, text);
    return '<time>';
  }
  if (keyword !== 'description' || (kind !== 'schema' && kind !== 'tool')) return JSON.stringify(text);
  const parts = text.split(WITHIN);
  if (parts.length === 1) return JSON.stringify(text);
  ignore(place, (text.match(WITHIN) ?? []).join(', '));
  return parts.map((part) => JSON.stringify(part)).join('<time>');
}

function inside({ kind, keyword, name }: Position, key: string): Position {
  if (kind === 'tool') return { kind: ofTool(key), keyword: key, name };
  if (kind === 'names') return { kind: 'schema', keyword: '', name: name === '' ? key : `${name}.${key}` };
  if (kind !== 'schema') return { kind, keyword, name };
  if (SAMPLES.has(key)) return { kind: 'sample', keyword: key, name };
  if (NAMES.has(key)) return { kind: 'names', keyword: key, name };
  if (SETS.has(key)) return { kind: 'set', keyword: key, name };
  if (key === 'const') return { kind: 'plain', keyword: key, name };
  return { kind: 'schema', keyword: key, name };
}

function ofTool(field: string): Kind {
  if (field === 'inputSchema' || field === 'outputSchema') return 'schema';
  if (field === '_meta') return 'sample';
  return field === 'description' ? 'tool' : 'plain';
}
