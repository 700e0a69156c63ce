/** JSON for a model to read: compact JSON, or TOON where that is clearly shorter. */
import { encode, rawString } from '@toon-format/toon';
import { replaceExact } from '../exact.ts';

export interface JsonStyle {
  toon: 'auto' | 'off';
  /** TOON is tried only for values that hold a list or object of at least this many entries, at any depth. */
  toonMinSize: number;
}

/** At 1.0 the shorter text was the worse one half the time; at 0.9 hardly ever. */
const MAX_RATIO = 0.9;
/** Deeper values are not looked into: TOON gains on flat rows only, and its encoder recurses. */
const MAX_DEPTH = 64;
/** Characters of JSON; encoding more holds everybody up, and nobody reads it whole. */
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

/** Undefined where the encoder gives up (lone surrogates, deep values) or, as for `{}`, writes nothing. */
function encoded(value: unknown): string | undefined {
  try {
    return encode(replaceExact(value, ({ rawJSON }) => rawString(rawJSON))) || undefined;
  } catch {
    return undefined;
  }
}
