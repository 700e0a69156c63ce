/** Excerpts of a long text: pages by offset, and search hits. Characters are UTF-16 units; surrogate pairs are never split. */

export interface Page {
  text: string;
  /** Offset of the next page; absent at the end. */
  next?: number;
}

/** Returns one page. Consecutive pages of any size add up to exactly the whole text. */
export function pageText(text: string, offset: number, limit: number): Page {
  const end = offset + limit;
  return { text: text.slice(boundary(text, offset), boundary(text, end)), ...(end < text.length && { next: end }) };
}

/** Maximum size of a text: in characters, and in bytes of UTF-8, which some clients count. */
export interface Room {
  chars: number;
  bytes: number;
}

export function fits(text: string, { chars, bytes }: Room): boolean {
  return text.length <= chars && (text.length * MAX_BYTES <= bytes || Buffer.byteLength(text) <= bytes);
}

/** Maximum bytes of UTF-8 per UTF-16 unit. */
export const MAX_BYTES = 3;

/** Returns a page that fits; it is shorter than requested if its characters take more bytes than allowed. */
export function pageWithin(text: string, offset: number, room: Room): Page {
  for (let limit = room.chars; ; ) {
    const page = pageText(text, offset, limit);
    if (limit <= 0 || fits(page.text, { ...room, chars: Number.POSITIVE_INFINITY })) return page;
    const share = room.bytes / Buffer.byteLength(page.text);
    limit = Math.min(limit - 1, Math.floor(page.text.length * share));
  }
}

/** Returns the offset, or the one before it if it lies inside a surrogate pair. */
function boundary(text: string, at: number): number {
  if (at <= 0 || at >= text.length) return Math.max(0, Math.min(at, text.length));
  return isHigh(text.charCodeAt(at - 1)) && isLow(text.charCodeAt(at)) ? at - 1 : at;
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit < 0xdc00;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit < 0xe000;
}

export interface Found {
  /** Offset at which the excerpt begins. */
  offset: number;
  text: string;
}

export interface Finds {
  found: Found[];
  /** Number of all occurrences, counted up to a limit. */
  total: number;
}

/** A line of more characters than this is cut to `AROUND` characters on both sides of the hit. */
const MAX_LINE = 300;
const AROUND = 120;
/** Maximum number of occurrences that are counted. */
const MAX_COUNTED = 10_000;

/**
 * Returns the lines in which `query` occurs, ignoring case; very long lines are cut around the hit. The query is text,
 * not a pattern.
 */
export function findInText(text: string, query: string, max: number): Finds {
  const pattern = new RegExp(query.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu');
  const found: Found[] = [];
  let total = 0;
  let shownTo = -1;
  for (const match of text.matchAll(pattern)) {
    total += 1;
    if (total >= MAX_COUNTED) break;
    if (match.index < shownTo || found.length >= max) continue;
    const piece = around(text, match.index, match.index + match[0].length);
    found.push(piece);
    shownTo = piece.offset + piece.text.length;
  }
  return { found, total };
}

function around(text: string, from: number, to: number): Found {
  const near = text.slice(Math.max(0, from - MAX_LINE), from);
  const after = text.slice(to, to + MAX_LINE);
  const begin = near.lastIndexOf('\n');
  const end = after.indexOf('\n');
  const line = {
    from: begin < 0 ? from - near.length : from - near.length + begin + 1,
    to: end < 0 ? to + after.length : to + end,
  };
  if (line.to - line.from <= MAX_LINE) return { offset: line.from, text: text.slice(line.from, line.to) };
  const start = boundary(text, Math.max(line.from, from - AROUND));
  return { offset: start, text: text.slice(start, boundary(text, Math.min(line.to, to + AROUND))) };
}
