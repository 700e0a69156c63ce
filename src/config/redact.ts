/** Literal secrets starred out, placeholders kept: for `config show` and for the lines that messages quote. */
import { mapLiterals } from './placeholders.ts';

const STARS = '***';

/** Names of variables, headers, flags and fields that usually hold a credential. */
const CREDENTIAL =
  /token|secret|passw|passphrase|pwd|api[-_]?key|access[-_]?key|private[-_]?key|credential|authoriz|(?:^|[-_])auth(?:$|[-_])|bearer|cookie|signature|(?:^|[-_])(?:key|pat|dsn)$/i;

/** Texts that are a credential whatever they are called. */
const TOKEN =
  /\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|npm_\w{30,}|hf_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)/g;

/** The password of `scheme://user:password@host`. */
const URL_PASSWORD = /(:\/\/[^\s/:@]*:)([^\s/@]+)(?=@)/g;
const ASSIGNMENT = /((?:[?&]|^--?)([\w.-]+)=)([^&\s"]+)/g;

export function isCredentialName(name: string): boolean {
  return CREDENTIAL.test(name);
}

/** The value of a variable, header or field called `name`. */
export function maskValue(name: string, value: string): string {
  return mask(name, value, () => STARS);
}

/** The arguments of a command; `--token x` hides x. */
export function maskArgs(args: readonly string[]): string[] {
  return args.map((arg, index) => {
    const flag = /^--?([\w-]+)$/.exec(args[index - 1] ?? '')?.[1];
    return maskValue(flag ?? '', arg);
  });
}

/** A line of a config file, each secret replaced by as many stars, so that columns still fit. */
export function maskLine(line: string): string {
  const stars = (text: string): string => '*'.repeat(text.length);
  return line
    .replace(/("((?:[^"\\]|\\.)*)"\s*:\s*")((?:[^"\\]|\\.)*)/g, (_, head, key, value) => head + mask(key, value, stars))
    .replace(/("--?([\w-]+)"\s*,\s*")((?:[^"\\]|\\.)*)/g, (_, head, flag, value) => head + mask(flag, value, stars))
    .replace(/("--?([\w-]+)=)((?:[^"\\]|\\.)*)/g, (_, head, flag, value) => head + mask(flag, value, stars))
    .replace(TOKEN, stars);
}

function mask(name: string, value: string, stars: (secret: string) => string): string {
  if (isCredentialName(name)) return mapLiterals(value, (literal) => maskCredential(literal, stars));
  return mapLiterals(value, (literal) =>
    literal
      .replace(TOKEN, stars)
      .replace(URL_PASSWORD, (_, head, password) => head + stars(password))
      .replace(ASSIGNMENT, (whole, head, key, secret) => (isCredentialName(key) ? head + stars(secret) : whole)),
  );
}

/** `Bearer abc` keeps its first word. */
function maskCredential(literal: string, stars: (secret: string) => string): string {
  const [, scheme = '', secret = ''] = /^(\s*(?:bearer|basic|token|digest|apikey)\s+)?([\s\S]*)$/i.exec(literal) ?? [];
  return secret === '' ? literal : scheme + stars(secret);
}
