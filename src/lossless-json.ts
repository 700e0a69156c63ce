/** Parses JSON without losing precision: numbers that JavaScript cannot hold, such as 64-bit ids, are written again as they were read. */

/**
 * Such a number in parsed JSON. `JSON.stringify` writes its text. It is a frozen object, not a record, and cannot be
 * calculated with.
 */
export interface LosslessNumber {
  readonly rawJSON: string;
}

interface ExactJson {
  rawJSON(text: string): LosslessNumber;
  isRawJSON(value: unknown): value is LosslessNumber;
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
}

/** Available since Node 21; in older versions numbers are rounded as by `JSON.parse`. */
const { rawJSON, isRawJSON } = JSON as Partial<ExactJson>;
const { parse } = JSON as unknown as ExactJson;

export function isLosslessNumber(value: unknown): value is LosslessNumber {
  return isRawJSON?.(value) ?? false;
}

/** Works as `JSON.parse`, with exact numbers in place of those that it would change. */
export function parseLossless(text: string): unknown {
  if (rawJSON === undefined || !mayChange(text)) return JSON.parse(text);
  const revive = (_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined && isChanged(source) ? rawJSON(source) : value;
  try {
    return parse(text, revive);
  } catch {
    // The text is nested too deeply for a reviver, or is not JSON at all.
    return JSON.parse(text);
  }
}

/** Returns the value for code that calculates: each exact number becomes the nearest JavaScript number. */
export function plain(value: unknown): unknown {
  return replaceLossless(value, ({ rawJSON: text }) => Number(text));
}

/** Returns a copy with each exact number replaced; returns the same value if it holds none. */
export function replaceLossless(value: unknown, by: (exact: LosslessNumber) => unknown): unknown {
  if (rawJSON === undefined || !holdsExact(value)) return value;
  return mapNumbers(value, (number) => (isLosslessNumber(number) ? by(number) : number));
}

/** Returns a copy with each number replaced. */
export function mapNumbers(value: unknown, map: (number: number | LosslessNumber) => unknown): unknown {
  if (typeof value === 'number' || isLosslessNumber(value)) return map(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapNumbers(item, map));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNumbers(item, map)]));
}

function holdsExact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isLosslessNumber(value) || (Array.isArray(value) ? value : Object.values(value)).some(holdsExact);
}

/**
 * Matches numbers of at least 16 digits or with an exponent of at least three; `JSON.parse` does not change any other.
 */
const LONG_NUMBER = /(?:^|[\s:,[])(-?\d[\d.]{15,}(?:[eE][+-]?\d+)?|-?\d[\d.]*[eE][+-]?\d{3,})/g;
const LONG_EXPONENT = /\d[eE][+-]?\d{3}/;
const RUN = 16;
/**
 * Characters. In a longer text numbers are rounded as by `JSON.parse`, because visiting each of its values would block
 * the event loop.
 */
const LONGEST = 256 * 1024;

/**
 * True if `JSON.parse` would change a number in a text and this can be avoided; also true for such a number inside a
 * string. A fast check rules out nearly every text.
 */
export function mayChange(text: string): boolean {
  if (rawJSON === undefined || text.length > LONGEST || !(hasLongRun(text) || LONG_EXPONENT.test(text))) return false;
  for (const [, number = ''] of text.matchAll(LONG_NUMBER)) if (isChanged(number)) return true;
  return false;
}

/**
 * True if the text holds a run of at least 16 digits and points. Checks every sixteenth character, which is several
 * times as fast as a regular expression.
 */
function hasLongRun(text: string): boolean {
  for (let at = RUN - 1; at < text.length; at += RUN) {
    const code = text.charCodeAt(at);
    // A call of `isPart` here would be the most frequent one of a tool call.
    if (code < FIRST_PART || code > LAST_PART) continue;
    let from = at;
    while (isPart(text.charCodeAt(from - 1))) from -= 1;
    while (isPart(text.charCodeAt(at + 1))) at += 1;
    if (at - from >= RUN - 1) return true;
  }
  return false;
}

/** The codes of the point and of `9`. The slash and the other digits are between them; the slash does no harm. */
const FIRST_PART = 46;
const LAST_PART = 57;

function isPart(code: number): boolean {
  return code >= FIRST_PART && code <= LAST_PART;
}

function isChanged(number: string): boolean {
  const again = String(Number(number));
  return again !== number && (again.endsWith('Infinity') || decimalOf(again) !== decimalOf(number));
}

/** Returns the same text for the same number, however it is written: `-15e-1` for -1.5 and -0.150E1. */
function decimalOf(number: string): string {
  const [, sign = '', whole = '', part = '', exponent = 0] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  let end = digits.length;
  // A regular expression would rescan the zeros in the middle repeatedly.
  while (digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(exponent) - part.length + digits.length - end}`;
}

/** Returns true for a JSON object; a number that JavaScript cannot represent is none. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isLosslessNumber(value);
}
