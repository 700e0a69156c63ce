/** JSON in the text of a result: read where that is affordable, with numbers that are too long for JavaScript as text. */
import { parseExact } from '../exact.ts';
import { parseProblem } from '../wire/cost.ts';

/** The value of a text that is a JSON object or array; undefined for any other text, and for one that must not be parsed. */
export function readJson(text: string): unknown {
  if (!isJsonLike(text) || parseProblem(text) !== undefined) return undefined;
  const json = hasLongNumber(text) ? quoteLongNumbers(text) : text;
  try {
    return json === undefined ? undefined : parseExact(json);
  } catch {
    return undefined;
  }
}

/** Why a text that looks like JSON was not read, as the end of a sentence about it. */
export function readProblem(text: string): string | undefined {
  if (!isJsonLike(text)) return undefined;
  const isLong = () => hasLongNumber(text) && quoteLongNumbers(text) === undefined;
  return parseProblem(text) ?? (isLong() ? `holds more than ${MAX_LONG} numbers that are too long` : undefined);
}

export function isJsonLike(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** Whether a run of digits may be a number that JavaScript cannot hold. */
export function hasLongNumber(text: string): boolean {
  return /\d{16}/.test(text);
}

const QUOTE = 34;
const BACKSLASH = 92;
/** A whole number of sixteen digits or more, and nothing that belongs to it on either side. */
const LONG = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** Long numbers of one text that are rewritten. */
const MAX_LONG = 100_000;

/** Whole numbers that JavaScript cannot hold become strings, wherever they are no part of one; undefined where there are too many. */
function quoteLongNumbers(text: string): string | undefined {
  const out: string[] = [];
  let from = 0;
  let scanned = 0;
  let inString = false;
  for (const { 0: number, index } of text.matchAll(LONG)) {
    for (; scanned < index; scanned++) {
      const code = text.charCodeAt(scanned);
      if (code === QUOTE) inString = !inString;
      else if (code === BACKSLASH) scanned++;
    }
    if (inString || Number.isSafeInteger(Number(number))) continue;
    if (out.length >= 2 * MAX_LONG) return undefined;
    out.push(text.slice(from, index), `"${number}"`);
    from = index + number.length;
  }
  out.push(text.slice(from));
  return out.join('');
}
