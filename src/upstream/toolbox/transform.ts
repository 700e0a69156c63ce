/** The pure text changes behind the built-in server `text`. */
import { rejectInput } from './input.ts';

export const CASES = ['upper', 'lower', 'title', 'sentence', 'camel', 'pascal', 'snake', 'kebab', 'constant'] as const;
export const ENCODINGS = ['base64', 'base64url', 'hex', 'url', 'json'] as const;
export const SORTS = ['none', 'ascending', 'descending', 'numeric'] as const;

type Case = (typeof CASES)[number];
type Encoding = (typeof ENCODINGS)[number];
type Sort = (typeof SORTS)[number];

export function splitLines(text: string): string[] {
  return text.split(/\r\n|\n|\r/);
}

export function inCase(text: string, style: Case): string {
  return CASE_CHANGES[style](text);
}

const CASE_CHANGES = {
  upper: (text) => text.toUpperCase(),
  lower: (text) => text.toLowerCase(),
  title: (text) => text.replace(/[\p{L}\p{N}][\p{L}\p{N}'’]*/gu, capitalised),
  sentence: (text) => text.toLowerCase().replace(/(^|[.!?。！？]\s*)(\p{L})/gu, (whole) => whole.toUpperCase()),
  camel: (text) =>
    identifierWords(text)
      .map((word, index) => (index === 0 ? word : capitalised(word)))
      .join(''),
  pascal: (text) => identifierWords(text).map(capitalised).join(''),
  snake: (text) => identifierWords(text).join('_'),
  kebab: (text) => identifierWords(text).join('-'),
  constant: (text) => identifierWords(text).join('_').toUpperCase(),
} satisfies Record<Case, (text: string) => string>;

function capitalised(word: string): string {
  const [first = '', ...rest] = word;
  return first.toUpperCase() + rest.join('').toLowerCase();
}

/** Splits a text into words: "HTTPServer error-code" → http, server, error, code. */
function identifierWords(text: string): string[] {
  const words = text.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|\p{Lo}+|\p{N}+/gu) ?? [];
  return words.map((word) => word.toLowerCase());
}

export function sortLines(lines: string[], order: Sort): string[] {
  if (order === 'none') return lines;
  if (order === 'numeric') return [...lines].sort((a, b) => leadingNumber(a) - leadingNumber(b) || compare(a, b));
  const ascending = [...lines].sort(compare);
  return order === 'ascending' ? ascending : ascending.reverse();
}

/** Compares by code unit, so that the order does not depend on the locale. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

/** Returns the number at the start of a line; lines without one sort last. Infinity would make the difference NaN. */
function leadingNumber(line: string): number {
  const value = Number.parseFloat(line);
  return Number.isFinite(value) ? value : Number.MAX_VALUE;
}

export function encoded(text: string, encoding: Encoding): string {
  if (encoding === 'json') return JSON.stringify(text);
  // A lone surrogate has no percent-encoding.
  if (encoding === 'url') return encodeURIComponent(Buffer.from(text).toString());
  return Buffer.from(text, 'utf8').toString(encoding);
}

export function decoded(text: string, encoding: Encoding): string {
  if (encoding === 'json') return decodedJson(text);
  if (encoding === 'url') return decodedUrl(text);
  const compact = text.replace(/\s+/g, '');
  const bytes = Buffer.from(compact, encoding);
  const canonical = bytes.toString(encoding).replace(/=+$/, '');
  // Buffer silently stops at the first invalid character.
  const expected = encoding === 'hex' ? compact.toLowerCase() : compact.replace(/=+$/, '');
  if (canonical.length !== expected.length) rejectInput(`the text is not valid ${encoding}`);
  return utf8(bytes, encoding);
}

function decodedJson(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'string') return value;
  } catch {
    // Invalid JSON and JSON of another type get the same error below.
  }
  return rejectInput('the text is not a JSON string literal', 'give it with its quotes, such as "\\"a\\""');
}

function decodedUrl(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return rejectInput('the text is not a valid URL encoding');
  }
}

function utf8(bytes: Buffer, encoding: Encoding): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return rejectInput(`the ${encoding} text decodes to ${bytes.length} bytes that are not text`);
  }
}
