/** Masks the secret parts of config values and keeps placeholders as written. */
import { mapPlaceholders } from './placeholders.ts';
import { argumentParts, isHarmless, KNOWN_TOKEN, publicSecrets, secretParts } from './sensitive.ts';

export { isCredentialName } from './sensitive.ts';

/** Returns the text that replaces a secret. */
export type Stars = (secret: string) => string;

const THREE: Stars = () => '***';
/** Replaces a placeholder while a value is parsed. It is in the private use area, so no ordinary text contains it. */
const MARK = '\uE0FF';

/** Masks the value of a variable, header or field called `name`. */
export function maskValue(name: string, value: string, stars = THREE): string {
  return mask(value, (text) => secretParts(name, text), stars);
}

/** Masks the arguments of a command, such as x in `--token x`. */
export function maskArgs(args: readonly string[], stars = THREE): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    return mask(arg, (text) => argumentParts([before, text])[1] ?? [], stars);
  });
}

/** Masks only the credentials in a text that is public otherwise, such as a URL. */
export function maskText(value: string, stars = THREE): string {
  return mask(value, publicSecrets, stars);
}

/** Masks known forms of credentials in any text. */
export function maskTokens(text: string, stars = THREE): string {
  return text.replace(KNOWN_TOKEN, stars);
}

function mask(value: string, partsOf: (text: string) => string[], stars: Stars): string {
  const placeholders: string[] = [];
  const marked = mapPlaceholders(value.replaceAll(MARK, ' '), (written, fallback) => {
    placeholders.push(fallback === undefined ? written : withFallback(written, fallback, partsOf, stars));
    return MARK;
  });
  return maskParts(marked, partsOf(marked), stars).replaceAll(MARK, () => placeholders.shift() ?? '');
}

/** Masks the default value of a placeholder, such as abc in `${KEY:-abc}`. */
function withFallback(written: string, fallback: string, partsOf: (text: string) => string[], stars: Stars): string {
  const end = written.length - 1;
  return written.slice(0, end - fallback.length) + mask(fallback, partsOf, stars) + written.slice(end);
}

/** Masks the longest parts first, so that a part that is contained in another one does not leave the rest visible. */
function maskParts(text: string, parts: readonly string[], stars: Stars): string {
  const longest = [...new Set(parts)].sort((a, b) => b.length - a.length);
  return longest.reduce((masked, part) => {
    return masked.replaceAll(whole(spelling(masked, part)), (secret) => starred(secret, stars));
  }, text);
}

/** Parts with fewer characters are masked only as whole words, because they may occur inside other words. */
const SHORT = 6;

function whole(part: string): string | RegExp {
  if (part.length >= SHORT) return part;
  const literal = part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return new RegExp(`(?<![A-Za-z0-9])${literal}(?![A-Za-z0-9])`, 'g');
}

/** Returns the part as it occurs in the text: unchanged, or JSON-escaped. */
function spelling(text: string, part: string): string {
  return text.includes(part) ? part : JSON.stringify(part).slice(1, -1);
}

/** Masks the text between placeholders, but not the separators. */
function starred(secret: string, stars: Stars): string {
  const literals = secret.split(MARK);
  const shown = (literal: string): string => (literals.length > 1 && isHarmless(literal) ? literal : stars(literal));
  return literals.map(shown).join(MARK);
}
