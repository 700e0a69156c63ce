/** Masks every value in the text of a config file that may be a secret, character by character, so that lines and columns stay.
 * It scans tokens instead of a syntax tree, because messages quote files with syntax errors, and a secret may be in the wrong place.
 */
import { createScanner } from 'jsonc-parser';
import { maskArgs, maskText, maskValue, type Stars } from './redact.ts';
import { isTokenLike } from './sensitive.ts';
import { STARTER } from './starter.ts';

/** Token kinds of jsonc-parser, whose `const enum` cannot be imported. */
const TOKENS = {
  ...{ openBrace: 1, closeBrace: 2, openBracket: 3, closeBracket: 4, comma: 5, colon: 6 },
  ...{ string: 10, number: 11, lineComment: 12, blockComment: 13, lineBreak: 14, blank: 15, unknown: 16, end: 17 },
};

const STARTER_COMMENTS = new Set([...STARTER.matchAll(/^\s*(\/\/.*)$/gm)].map(([, comment]) => comment));

const STARS: Stars = (secret) => '*'.repeat(secret.length);

/** Keys whose values are not secret. Only recognisable credentials in them are masked. */
const PUBLIC_KEYS = new Set(
  (
    '$schema type transport transporttype command module builtin name title description cwd envfile share framing timeout startuptimeout disabled enabled ' +
    'url serverurl httpurl kind front dialect structured style separator onconflict resources prompts tools schema toon level format file host hosts origins allow deny ' +
    'servers profiles lock naming inheritenv logs folder interval port idle ping'
  ).split(' '),
);
/** Keys below which every value counts as secret, regardless of its own key. */
const PRIVATE_PLACES = new Set(['env', 'environment', 'headers', 'oauth', 'auth', 'token', 'secrets', 'inputs']);
const TOKEN_PLACES = new Set(['tokens', 'token']);

/** An object or list that is not closed yet, with its key. */
interface Open {
  key: string;
  isList: boolean;
  /** The last key that was read in it. */
  last: string;
  /** The previous item of a list. */
  before: string;
}

export function maskSource(text: string): string {
  const scanner = createScanner(text, false);
  const opened: Open[] = [{ key: '', isList: false, last: '', before: '' }];
  let masked = '';
  for (let kind: number = scanner.scan(); kind !== TOKENS.end; kind = scanner.scan()) {
    const at = scanner.getTokenOffset();
    const raw = text.slice(at, at + scanner.getTokenLength());
    masked += maskToken(kind, raw, { opened, isKey: isFollowedByColon(text, at + raw.length) });
  }
  return masked;
}

interface Context {
  opened: Open[];
  isKey: boolean;
}

function maskToken(kind: number, raw: string, { opened, isKey }: Context): string {
  const current = opened.at(-1) as Open;
  if (kind === TOKENS.openBrace || kind === TOKENS.openBracket) {
    const key = current.isList ? current.key : current.last;
    opened.push({ key, isList: kind === TOKENS.openBracket, last: '', before: '' });
    return raw;
  }
  if (kind === TOKENS.closeBrace || kind === TOKENS.closeBracket) {
    if (opened.length > 1) opened.pop();
    return raw;
  }
  if (kind === TOKENS.lineComment || kind === TOKENS.blockComment) {
    // A comment may hold an old entry with its secrets. The comments that mcpx writes into a new config hold none.
    return STARTER_COMMENTS.has(raw.trimEnd()) ? raw : raw.slice(0, 2) + raw.slice(2).replace(/[^\s*/]/g, '*');
  }
  if (kind !== TOKENS.string && kind !== TOKENS.number && kind !== TOKENS.unknown) return raw;
  const [, open = '', inner = '', close = ''] = /^(["'“”‘’]?)([\s\S]*?)(["'“”‘’]?)$/.exec(raw) ?? [];
  const shown = isKey ? maskKey(inner, opened) : maskInner(inner, opened);
  if (isKey) current.last = inner;
  current.before = isKey ? '' : inner;
  return open + shown + close;
}

function isFollowedByColon(text: string, end: number): boolean {
  return /^\s*:/.test(text.slice(end, end + 200));
}

/** Masks a string. A string with escapes is masked as a whole, because masking a part would shift columns. */
function maskInner(inner: string, opened: readonly Open[]): string {
  const masked = maskLiteral(inner, opened);
  if (masked.length === inner.length && (masked === inner || !inner.includes('\\'))) return masked;
  return STARS(inner);
}

function maskLiteral(inner: string, opened: readonly Open[]): string {
  const { isList, key, last, before } = opened.at(-1) as Open;
  const name = isList ? key : last;
  const places = [...opened.map((open) => open.key), last].map((place) => place.toLowerCase());
  if (places.some((place) => TOKEN_PLACES.has(place)) && !PUBLIC_KEYS.has(name.toLowerCase()))
    return maskValue('token', inner, STARS);
  // A text in the place of the variables has no name of its own: "env" itself says nothing about the value.
  const isNamed = !isList && !PRIVATE_PLACES.has(name.toLowerCase());
  if (places.some((place) => PRIVATE_PLACES.has(place))) return maskPair(isNamed ? name : '', inner);
  if (name === 'args') return maskArgs([before, inner], STARS)[1] ?? '';
  if (PUBLIC_KEYS.has(name.toLowerCase())) return maskText(inner, STARS);
  return inner.startsWith('-') ? (maskArgs([before, inner], STARS)[1] ?? '') : maskValue(name, inner, STARS);
}

/** Masks a value, whose name is part of the text in `NAME=value` and `Name: value`; the scheme of a URL is no name. */
function maskPair(name: string, inner: string): string {
  const [, head = '', own = name, value = inner] = /^(([A-Za-z][\w-]*)\s*[=:]\s*)(?!\/\/)([\s\S]+)$/.exec(inner) ?? [];
  return head + maskValue(own, value, STARS);
}

function maskKey(key: string, opened: readonly Open[]): string {
  const isToken = opened.some((open) => TOKEN_PLACES.has(open.key.toLowerCase()));
  if (isTokenLike(key) || (isToken && !PUBLIC_KEYS.has(key.toLowerCase()) && !TOKEN_PLACES.has(key) && key !== 'admin'))
    return STARS(key);
  return maskText(key, STARS);
}
