/** Plain text: truncation by code points, sanitizing of text from servers, and search for the nearest name. */
import { editDistance } from '../config/nearest.ts';
import { removeAllInvisible, removeInvisible } from '../invisible-characters.ts';

/** Returns the first `max` code points; a truncated text ends in "…", which counts. Never splits a surrogate pair. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const kept: string[] = [];
  for (const point of text) {
    if (kept.length === max) return max > 0 ? `${kept.slice(0, -1).join('').trimEnd()}…` : '';
    kept.push(point);
  }
  return text;
}

/**
 * Terminal escape sequences for colours and cursor movements: CSI, OSC and the two-character escapes, also with the
 * 8-bit introducers.
 */
const ANSI =
  /(?:\u001B\][^\u0007\u001B\u009C]*(?:\u0007|\u001B\\|\u009C)?|(?:\u001B\[|\u009B)[0-?]*[ -/]*[@-~]?|\u001B[ -/]*[0-~]?)/g;

/**
 * Sanitizes a description: keeps newline and tab, and removes everything that could move a cursor, reorder text or hide
 * words.
 */
export function clean(text: string): string {
  return removeInvisible(text.replace(/\r\n?|[\u2028\u2029]/g, '\n').replace(ANSI, ''));
}

/** Sanitizes a name to one line without invisible characters, so that two names that look the same are the same. */
export function cleanName(name: string): string {
  return oneLine(removeAllInvisible(clean(name)));
}

/** Returns the text on one line, with runs of white space as one space. */
export function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim();
}

/** Maximum code points of a name in an error message. */
const MAX_NAME = 200;

/**
 * Returns a received name in a form that is safe to repeat in a message: on one line, without invisible characters, and
 * truncated.
 */
export function asName(name: unknown): string {
  return cut(cleanName(String(name).slice(0, 8 * MAX_NAME)), MAX_NAME);
}

/** Maximum characters of a name that are compared: the cost grows with the square. */
const MAX_COMPARED = 128;

/** Returns the names most similar to `name`, best first; case, `-`, `_`, `.` and word order count little. */
export function nearest(name: string, names: Iterable<string>, max = 3): string[] {
  const wanted = folded(name);
  if (wanted === '') return [];
  const limit = Math.floor(wanted.length / 3);
  const scored: { name: string; score: number }[] = [];
  for (const candidate of new Set(names)) {
    const score = likeness(wanted, folded(candidate), limit);
    if (score !== undefined) scored.push({ name: candidate, score });
  }
  scored.sort((a, b) => a.score - b.score || (a.name < b.name ? -1 : 1));
  return scored.slice(0, max).map((entry) => entry.name);
}

/** Returns the names with the fewest letters to change, best first, also if none of them is similar. */
export function closest(name: string, names: Iterable<string>, max = 3): string[] {
  const wanted = folded(name);
  const scored = [...new Set(names)].map((one) => ({ one, score: editDistance(wanted, folded(one), MAX_COMPARED) }));
  scored.sort((a, b) => a.score - b.score || (a.one < b.one ? -1 : 1));
  return scored.slice(0, max).map(({ one }) => one);
}

/** Returns a distance, lower is nearer; undefined if unlike. Containment beats a far typo: `read` finds `read_file`. */
function likeness(wanted: string, candidate: string, limit: number): number | undefined {
  const distance = editDistance(wanted, candidate, limit);
  if (distance <= Math.min(limit, 2)) return distance;
  const [short, long] = wanted.length < candidate.length ? [wanted, candidate] : [candidate, wanted];
  if (short.length >= 3 && long.includes(short)) return 2 + (long.length - short.length) / (long.length + 1);
  const parts = new Set(wanted.split(' '));
  const shared = candidate.split(' ').filter((part) => part.length > 2 && parts.has(part)).length;
  if (shared >= 2 || (shared === 1 && parts.size === 2)) return 4 - shared / (shared + 1);
  return distance <= limit ? 4 + distance : undefined;
}

function folded(name: string): string {
  return name
    .slice(0, MAX_COMPARED)
    .replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2')
    .toLowerCase()
    .replace(/[\s._/-]+/g, ' ')
    .trim();
}
