/** Parses JSON in the text of a result if that is affordable; converts integers too long for JavaScript to strings. */
import { parseLossless } from '../../lossless-json.ts';
import { parseProblem } from '../../wire/parse-cost.ts';

/** Returns the value of a JSON object or array; undefined for any other text, and if parsing is too costly. */
export function readJson(text: string): unknown {
  if (!isJsonLike(text) || parseProblem(text) !== undefined) return undefined;
  const json = hasLongNumber(text) ? quoteLongNumbers(text) : text;
  try {
    return json === undefined ? undefined : parseLossless(json);
  } catch {
    return undefined;
  }
}

/** Returns why a text that looks like JSON was not parsed, as the end of a sentence. */
export function readProblem(text: string): string | undefined {
  if (!isJsonLike(text)) return undefined;
  const isLong = () => hasLongNumber(text) && quoteLongNumbers(text) === undefined;
  return parseProblem(text) ?? (isLong() ? `holds more than ${MAX_LONG} numbers that are too long` : undefined);
}

export function isJsonLike(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

/** True if the text contains digits that may be a number too long for JavaScript. */
export function hasLongNumber(text: string): boolean {
  return /\d{16}/.test(text);
}

const QUOTE = 34;
const BACKSLASH = 92;
/** Matches an integer of sixteen or more digits without a fraction or exponent. */
const LONG = /(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g;

/** Maximum number of long integers converted in one text. */
const MAX_LONG = 100_000;

/** Quotes integers that JavaScript cannot represent, except inside strings; returns undefined if there are too many. */
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
