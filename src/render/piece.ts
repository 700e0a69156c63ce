/** Pieces of a TypeScript type and how they combine: alternatives, intersections, literals, keys, parentheses. */
import { escapeInvisible } from '../invisible.ts';

/** `level` tells where parentheses are needed, `notes` what the nearest comment should say. */
export interface Piece {
  text: string;
  level: 'atom' | 'union' | 'intersection';
  notes: string[];
}

export const UNKNOWN: Piece = { text: 'unknown', level: 'atom', notes: [] };

/** Types that say less than whatever stands beside them. */
const VAGUE = new Set(['object', 'string', 'number', 'boolean', '{}']);

export function atom(text: string, notes: string[] = []): Piece {
  return { text, level: 'atom', notes };
}

/** Any of the pieces; of none or of something unknown, nothing is known. */
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

/** All of the pieces at once; what is unknown or vague adds nothing to the rest. */
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

/** Text that can take a postfix such as `[]` or `?`. */
export function operand({ text, level }: Piece): string {
  return level === 'atom' && !text.endsWith('*/') ? text : `(${text})`;
}

/** JSON is a literal type as it stands; what a reader cannot see is escaped. */
export function literal(value: unknown): string {
  return escapeInvisible(JSON.stringify(value) ?? 'unknown');
}

/** Quoted unless plainly an identifier; what lies beyond the basic plane depends on the reader's edition of Unicode. */
export function propertyKey(key: string): string {
  const plain = /^[\p{L}$_][\p{L}\p{Nd}$_]*$/u.test(key) && !/[\uD800-\uDFFF]/.test(key);
  return plain ? key : literal(key);
}
