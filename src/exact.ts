/** Numbers that JavaScript cannot hold, such as 64-bit ids: JSON is read so that they are written again as they came. */

/** Such a number in parsed JSON: `JSON.stringify` writes its text. It is frozen, no record, and nothing to calculate with. */
export interface ExactNumber {
  readonly rawJSON: string;
}

interface ExactJson {
  rawJSON(text: string): ExactNumber;
  isRawJSON(value: unknown): value is ExactNumber;
  parse(text: string, revive: (key: string, value: unknown, context: { source?: string }) => unknown): unknown;
}

/** Since Node 21; before, numbers are what JavaScript makes of them. */
const { rawJSON, isRawJSON } = JSON as Partial<ExactJson>;
const { parse } = JSON as unknown as ExactJson;

export function isExact(value: unknown): value is ExactNumber {
  return isRawJSON?.(value) ?? false;
}

/** As `JSON.parse`, with exact numbers in place of those that it would change. */
export function parseExact(text: string): unknown {
  if (rawJSON === undefined || !mayChange(text)) return JSON.parse(text);
  const revive = (_key: string, value: unknown, { source }: { source?: string }) =>
    typeof value === 'number' && source !== undefined && isChanged(source) ? rawJSON(source) : value;
  try {
    return parse(text, revive);
  } catch {
    // Nested more deeply than can be looked into, if it is JSON at all.
    return JSON.parse(text);
  }
}

/** The same value for code that calculates: each exact number is the nearest that JavaScript has. */
export function plain(value: unknown): unknown {
  return replaceExact(value, ({ rawJSON: text }) => Number(text));
}

/** A copy with something else for each exact number; the very same value where there is none. */
export function replaceExact(value: unknown, by: (exact: ExactNumber) => unknown): unknown {
  if (rawJSON === undefined || !holdsExact(value)) return value;
  return mapNumbers(value, (number) => (isExact(number) ? by(number) : number));
}

/** A copy with something else for each number. */
export function mapNumbers(value: unknown, map: (number: number | ExactNumber) => unknown): unknown {
  if (typeof value === 'number' || isExact(value)) return map(value);
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map((item) => mapNumbers(item, map));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNumbers(item, map)]));
}

function holdsExact(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  return isExact(value) || (Array.isArray(value) ? value : Object.values(value)).some(holdsExact);
}

/** Numbers of 16 digits, or with an exponent of three: all others survive. */
const LONG_NUMBER = /(?:^|[\s:,[])(-?\d[\d.]{15,}(?:[eE][+-]?\d+)?|-?\d[\d.]*[eE][+-]?\d{3,})/g;
const LONG_EXPONENT = /\d[eE][+-]?\d{3}/;
const RUN = 16;
/** Characters; in a longer text numbers are what JavaScript makes of them: looking at each value of it would hold everybody up. */
const LONGEST = 256 * 1024;

/** Whether `JSON.parse` changes a number in a text, and it need not; may be said for one inside of a string. Nearly every text has none at first sight. */
export function mayChange(text: string): boolean {
  if (rawJSON === undefined || text.length > LONGEST || !(hasLongRun(text) || LONG_EXPONENT.test(text))) return false;
  for (const [, number = ''] of text.matchAll(LONG_NUMBER)) if (isChanged(number)) return true;
  return false;
}

/** Whether so many digits, with a point among them, stand anywhere. Looks at one character of sixteen, and is several times as fast as an expression. */
function hasLongRun(text: string): boolean {
  for (let at = RUN - 1; at < text.length; at += RUN) {
    if (!isPart(text.charCodeAt(at))) continue;
    let from = at;
    while (isPart(text.charCodeAt(from - 1))) from -= 1;
    while (isPart(text.charCodeAt(at + 1))) at += 1;
    if (at - from >= RUN - 1) return true;
  }
  return false;
}

/** Digits and the point; the slash between them does no harm. */
function isPart(code: number): boolean {
  return code >= 46 && code <= 57;
}

function isChanged(number: string): boolean {
  const again = String(Number(number));
  return again !== number && (again.endsWith('Infinity') || decimalOf(again) !== decimalOf(number));
}

/** The same text for the same number, whatever way it is written: `-15e-1` for -1.5 and -0.150E1. */
function decimalOf(number: string): string {
  const [, sign = '', whole = '', part = '', exponent = 0] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? [];
  const digits = (whole + part).replace(/^0+/, '');
  let end = digits.length;
  // An expression for this would go over the zeros in the middle again and again.
  while (digits[end - 1] === '0') end -= 1;
  return end === 0 ? '0' : `${sign}${digits.slice(0, end)}e${Number(exponent) - part.length + digits.length - end}`;
}
