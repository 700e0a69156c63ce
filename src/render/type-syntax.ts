/** Fragments of a TypeScript type and their combination: unions, intersections, literals, keys, parentheses. */
import { escapeInvisible } from '../invisible-characters.ts';

/** `level` decides where parentheses are needed; `notes` are the text of the nearest comment. */
export interface Piece {
  text: string;
  level: 'atom' | 'union' | 'intersection';
  notes: string[];
}

export const UNKNOWN: Piece = { text: 'unknown', level: 'atom', notes: [] };

/** Types that add nothing to an intersection with a more specific type. */
const VAGUE = new Set(['object', 'string', 'number', 'boolean', '{}']);

export function atom(text: string, notes: string[] = []): Piece {
  return { text, level: 'atom', notes };
}

/** Returns the union of the pieces; it is unknown if there are none or one of them is unknown. */
export function union(pieces: Piece[]): Piece {
  const notes = pieces.flatMap((piece) => piece.notes);
  const distinct = distinctTexts(pieces);
  if (distinct.length === 0 || distinct.some((piece) => piece.text === 'unknown')) return { ...UNKNOWN, notes };
  const possible = distinct.filter((piece) => piece.text !== 'never');
  const [first, second] = possible;
  if (first === undefined) return atom('never', notes);
  if (second === undefined) return { ...first, notes };
  return { text: possible.map((piece) => piece.text).join(' | '), level: 'union', notes };
}

/** Returns the intersection of the pieces; unknown and vague pieces are left out beside specific ones. */
export function intersection(pieces: Piece[]): Piece {
  const notes = pieces.flatMap((piece) => piece.notes);
  const known = distinctTexts(pieces).filter((piece) => piece.text !== 'unknown');
  const telling = known.filter((piece) => !VAGUE.has(piece.text));
  const kept = telling.length > 0 ? telling : known;
  const [first, second] = kept;
  if (first === undefined) return { ...UNKNOWN, notes };
  if (second === undefined) return { ...first, notes };
  const texts = kept.map((piece) => (piece.level === 'union' ? `(${piece.text})` : piece.text));
  return { text: texts.join(' & '), level: 'intersection', notes };
}

function distinctTexts(pieces: Piece[]): Piece[] {
  return [...new Map(pieces.map((piece) => [piece.text, piece])).values()];
}

/** Returns the text in a form that can take a postfix such as `[]` or `?`. */
export function operand({ text, level }: Piece): string {
  return level === 'atom' && !text.endsWith('*/') ? text : `(${text})`;
}

/** Returns JSON as a literal type, with invisible characters escaped. */
export function literal(value: unknown): string {
  return escapeInvisible(JSON.stringify(value) ?? 'unknown');
}

/**
 * Returns a key, quoted unless it is an identifier. Letters beyond the basic plane are quoted, because they depend on
 * the reader's version of Unicode.
 */
export function propertyKey(key: string): string {
  const plain = /^[\p{L}$_][\p{L}\p{Nd}$_]*$/u.test(key) && !/[\uD800-\uDFFF]/.test(key);
  return plain ? key : literal(key);
}
