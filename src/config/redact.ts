/** Values of the config as they may be shown: secret parts starred out, placeholders as they are written. */
import { mapPlaceholders } from './placeholders.ts';
import { argumentParts, isHarmless, KNOWN_TOKEN, publicSecrets, secretParts } from './sensitive.ts';

export { isCredentialName } from './sensitive.ts';

/** The text that stands in the place of a secret. */
export type Stars = (secret: string) => string;

const THREE: Stars = () => '***';
/** Stands for a placeholder while a value is taken apart; of the private use area, so that no word has it. */
const MARK = '\uE0FF';

/** The value of a variable, header or field called `name`. */
export function maskValue(name: string, value: string, stars = THREE): string {
  return mask(value, (text) => secretParts(name, text), stars);
}

/** The arguments of a command; `--token x` hides x. */
export function maskArgs(args: readonly string[], stars = THREE): string[] {
  return args.map((arg, index) => {
    const before = args[index - 1] ?? '';
    return mask(arg, (text) => argumentParts([before, text])[1] ?? [], stars);
  });
}

/** Text that is public by itself, such as a URL: only credentials in it are starred out. */
export function maskText(value: string, stars = THREE): string {
  return mask(value, publicSecrets, stars);
}

/** Text of any origin: what is a credential by its look alone. */
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

/** `${KEY:-abc}`: the default is a literal. */
function withFallback(written: string, fallback: string, partsOf: (text: string) => string[], stars: Stars): string {
  const end = written.length - 1;
  return written.slice(0, end - fallback.length) + mask(fallback, partsOf, stars) + written.slice(end);
}

/** The longest first, so that a part of another leaves nothing of it behind. */
function maskParts(text: string, parts: readonly string[], stars: Stars): string {
  const longest = [...new Set(parts)].sort((a, b) => b.length - a.length);
  return longest.reduce((masked, part) => {
    return masked.replaceAll(whole(spelling(masked, part)), (secret) => starred(secret, stars));
  }, text);
}

/** Characters of a part that is only looked for between other signs: it may stand in any word. */
const SHORT = 6;

function whole(part: string): string | RegExp {
  if (part.length >= SHORT) return part;
  const literal = part.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  return new RegExp(`(?<![A-Za-z0-9])${literal}(?![A-Za-z0-9])`, 'g');
}

/** As it stands in JSON, where it does not stand there as it is. */
function spelling(text: string, part: string): string {
  return text.includes(part) ? part : JSON.stringify(part).slice(1, -1);
}

/** Hides the text between placeholders, but not the separators. */
function starred(secret: string, stars: Stars): string {
  const literals = secret.split(MARK);
  const shown = (literal: string): string => (literals.length > 1 && isHarmless(literal) ? literal : stars(literal));
  return literals.map(shown).join(MARK);
}
