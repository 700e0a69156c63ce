/** Renders JSON for a model: compact JSON, or TOON if that is clearly shorter. */
import { encode, rawString } from '@toon-format/toon';
import { replaceLossless } from '../lossless-json.ts';

export interface JsonStyle {
  toon: 'auto' | 'off';
  /** TOON is tried only for values that hold an array or object of at least this many entries, at any depth. */
  toonMinSize: number;
}

/**
 * Maximum ratio of the lengths of TOON and JSON. At 1.0 the shorter text was the worse one half the time; at 0.9 hardly
 * ever.
 */
const MAX_RATIO = 0.9;
/** Maximum depth that is searched: TOON is shorter for flat rows only, and its encoder recurses. */
const MAX_DEPTH = 64;
/** Maximum characters of JSON; encoding more would block the event loop, and is too long to be read as a whole. */
export const MAX_TOON = 1_000_000;

export function renderJson(value: unknown, { toon, toonMinSize }: JsonStyle): string {
  const json = JSON.stringify(value) ?? 'null';
  if (toon === 'off' || json.length > MAX_TOON || !hasEntries(value, toonMinSize, MAX_DEPTH)) return json;
  const text = encoded(value);
  return text !== undefined && text.length <= MAX_RATIO * json.length ? text : json;
}

function hasEntries(value: unknown, size: number, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth === 0) return false;
  const entries = Object.values(value);
  return entries.length >= size || entries.some((entry) => hasEntries(entry, size, depth - 1));
}

/** Returns undefined if the encoder fails (lone surrogates, deep values) or, as for `{}`, writes nothing. */
function encoded(value: unknown): string | undefined {
  try {
    return encode(replaceLossless(value, ({ rawJSON }) => rawString(rawJSON))) || undefined;
  } catch {
    return undefined;
  }
}
