/** Infers the TypeScript type of a JSON value, so that a model can request a part of it. */
import { isLosslessNumber } from '../lossless-json.ts';
import { atom, type Piece, propertyKey, UNKNOWN, union } from './type-syntax.ts';

/** Maximum number of values examined in one type, and of items examined in one array. */
const MAX_VALUES = 20_000;
const MAX_ITEMS = 200;
const MAX_KEYS = 60;
/** Maximum number of different keys examined in one object. */
const MAX_SEEN_KEYS = 1000;
/** Number of keys with values of one type from which an object counts as a dictionary. */
const MIN_RECORD = 20;
const MAX_DEPTH = 8;

/** The types seen at one position of a value, for all items of an array together. */
interface Seen {
  kinds: Set<'string' | 'number' | 'boolean' | 'null'>;
  /** Number of objects seen, and their keys. */
  objects: number;
  keys: Map<string, { count: number; seen: Seen }>;
  /** True if there were too many keys to examine all of them. */
  hasMore: boolean;
  items: Seen | undefined;
}

/** Returns a type of at most `max` characters if possible; deep levels are left out first. Never throws. */
export function renderShape(value: unknown, max = 1200): string {
  const seen = survey([value], { left: MAX_VALUES }, 0);
  for (let depth = MAX_DEPTH; depth > 1; depth -= 1) {
    const { text } = write(seen, depth);
    if (text.length <= max) return text;
  }
  return write(seen, 1).text;
}

function survey(values: unknown[], budget: { left: number }, depth: number): Seen {
  const seen: Seen = { kinds: new Set(), objects: 0, keys: new Map(), hasMore: false, items: undefined };
  const byKey = new Map<string, unknown[]>();
  const items: unknown[] = [];
  let lists = 0;
  for (const value of values) {
    budget.left -= 1;
    if (budget.left < 0) break;
    if (value === null || value === undefined) seen.kinds.add('null');
    else if (Array.isArray(value)) {
      lists += 1;
      items.push(...value.slice(0, MAX_ITEMS));
    } else if (isLosslessNumber(value)) seen.kinds.add('number');
    else if (typeof value === 'object') {
      seen.objects += 1;
      for (const key of Object.keys(value)) {
        const inner = (value as Record<string, unknown>)[key];
        const known = byKey.get(key);
        if (known !== undefined) known.push(inner);
        else if (byKey.size < MAX_SEEN_KEYS) byKey.set(key, [inner]);
        else seen.hasMore = true;
      }
    } else seen.kinds.add(typeof value as 'string' | 'number' | 'boolean');
  }
  if (depth >= MAX_DEPTH) return seen;
  if (lists > 0) seen.items = survey(items.slice(0, MAX_ITEMS), budget, depth + 1);
  for (const [key, inner] of byKey) {
    seen.keys.set(key, { count: inner.length, seen: survey(inner.slice(0, MAX_ITEMS), budget, depth + 1) });
  }
  return seen;
}

function write(seen: Seen, depth: number): Piece {
  const pieces: Piece[] = [...seen.kinds].sort().map((kind) => atom(kind));
  if (seen.items !== undefined) pieces.unshift(atom(listOf(seen.items, depth)));
  if (seen.objects > 0) pieces.unshift(atom(objectOf(seen, depth)));
  return pieces.length === 0 ? UNKNOWN : union(pieces);
}

function listOf(items: Seen, depth: number): string {
  const { text, level } = write(items, depth);
  return level === 'atom' ? `${text}[]` : `(${text})[]`;
}

function objectOf({ keys, objects, hasMore }: Seen, depth: number): string {
  if (keys.size === 0) return '{}';
  if (depth <= 1) return 'object';
  const members = [...keys].map(([key, { count, seen }]) => ({
    key,
    optional: count < objects,
    type: write(seen, depth - 1).text,
  }));
  const types = new Set(members.map(({ type }) => type));
  const [only] = types;
  if (members.length >= MIN_RECORD && types.size === 1) return `Record<string, ${only}>`;
  const shown = members.slice(0, MAX_KEYS);
  const more =
    members.length > shown.length ? `; /* ${members.length - shown.length}${hasMore ? ' or' : ''} more keys */` : '';
  const texts = shown.map(({ key, optional, type }) => `${propertyKey(key)}${optional ? '?' : ''}: ${type}`);
  return `{ ${texts.join('; ')}${more} }`;
}
