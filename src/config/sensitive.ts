/** Finds the secret parts of a configured value, mainly by the value and not by its name.
 * Every value that an entry sets counts as secret unless it is known to be harmless:
 * a common word, a number, a path, a host, a URL without credentials. A name can mark a value as secret (`MYSQL_PASS`) or as harmless (`LOG_LEVEL`).
 */

/** Names of variables, headers, flags and fields that usually hold a credential. */
const CREDENTIAL =
  /token|secret|passw|passphrase|passcode|pwd|api[-_]?key|access[-_]?key|private[-_]?key|credential|authoriz|(?:^|[-_])(?:auth|pass)(?:$|[-_])|bearer|cookie|signature|(?:^|[-_])(?:key|pat|dsn|pin|otp|sig)$/i;

/** Known forms of credentials, which are secret under any name. */
export const KNOWN_TOKEN =
  /\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}|xox[abeprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}|npm_\w{30,}|hf_\w{20,}|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*)/g;

/** The authentication scheme before a credential, such as `Bearer` in `Bearer abc`. */
const SCHEME = /^(\s*(?:bearer|basic|token|digest|apikey|negotiate)\s+)([\s\S]+)$/i;

const WORDS = new Set(
  (
    'true false yes no on off null none auto default enabled disabled always never all any debug info notice warn warning error fatal trace silent quiet verbose ' +
    'production prod development dev staging stage test testing local localhost sandbox live beta stable latest main master public private internal readonly read-only ' +
    'stdio http https sse websocket streamable-http tcp udp json yaml text plain html markdown csv xml utf-8 utf8 ascii c.utf-8 utc gmt identity gzip keep-alive no-cache no-store ' +
    'bearer basic token digest apikey negotiate node npx python python3 uvx docker bash sh xterm xterm-256color dumb'
  ).split(' '),
);

/** Names whose value is harmless unless it looks like a token. */
const HARMLESS_NAME =
  /^(?:node_env|app_env|rails_env|environment|env|debug|log|path|home|user|shell|term|tz|lang|language|lc_\w+|pythonpath|pythonunbuffered|pythonioencoding|virtual_env|no_color|force_color|ci|port|host|hostname|accept|accept-\w+|content-type|user-agent|cache-control|connection|mcp-protocol-version|mcp_transport|transport|no_proxy)$|(?:^|[-_])(?:log_?level|level|port|host|hostname|region|zone|timezone|locale|encoding|format|timeout|dir|directory|folder|file|path|home|enabled|disabled|verbose|debug|version|mode)$/i;

const HARMLESS_VALUES = [
  /^[^\p{L}\p{N}]*$/u, // no letter and no digit
  /^[-+]?\d{1,7}(?:\.\d+)?(?:ms|s|m|h|d|b|kb|mb|gb|%)?$/i,
  /^\d{4}-\d{2}-\d{2}$/,
  /^v?\d{1,4}(?:\.\d{1,6}){1,3}(?:-(?:alpha|beta|rc|next)[.\d]*)?$/, // versions and IPv4 addresses
  /^[a-z]{2}(?:-[a-z]{3,9}){1,2}-\d[a-z]?$/, // regions such as us-east-1
  /^[a-z]{2}_[A-Z]{2}(?:\.UTF-8)?$/,
  /^(?:Africa|America|Antarctica|Asia|Atlantic|Australia|Europe|Indian|Pacific)\/[A-Za-z_/]+$/,
  /^(?:application|text|image|audio|video)\/[\w.+*-]+(?:\s*;\s*(?:charset|q)=[\w.-]+)?(?:\s*,\s*(?:application|text|image)\/[\w.+*-]+)*$/,
  // Hosts, with a port or without.
  /^(?:[a-z0-9](?:[a-z0-9-]{0,30})\.)+(?:com|org|net|io|dev|ai|app|cloud|local|localhost|internal|lan|test|example|invalid|[a-z]{2})(?::\d{1,5})?$/,
  /^(?:localhost|\[::1\]|(?:\d{1,3}\.){3}\d{1,3}):\d{1,5}$/,
];

const URL_LIKE = /^[a-z][a-z\d+.-]*:\/\//i;
/** Matches `/usr/bin`, `~/x`, `./x`, `C:\x`, lists of them, and `@scope/package`, but not `//user:password@host`. */
const PATH_LIKE = /^(?!\/\/[^/]*@)(?:(?:~|\.{1,2}|[A-Za-z]:)?[\\/]|@[\w.-]+\/)/;

export function isCredentialName(name: string): boolean {
  return CREDENTIAL.test(name);
}

const UUID = /[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}/i;
const WORD = /^(?:[a-z]+|[A-Z]+|[A-Z][a-z]+|\d{1,8})$/;

/** True if a text has a run of 16 characters that looks random: at least 8 of them are in pieces that are neither words nor numbers. */
export function isTokenLike(text: string): boolean {
  if (UUID.test(text)) return true;
  return (text.match(/[A-Za-z0-9+=_~-]{16,}/g) ?? []).some((run) => {
    const odd = run.split(/[-_+=~]/).filter((piece) => !WORD.test(piece) && !isCamelCase(piece));
    return odd.join('').length >= 8;
  });
}

/** True if a text is camel case with words of three letters or more on average. */
function isCamelCase(text: string): boolean {
  return /^[A-Za-z]+$/.test(text) && (text.match(/[A-Z]/g)?.length ?? 0) * 4 <= text.length;
}

/** True if a value without structure is known not to be a secret. */
export function isHarmless(value: string): boolean {
  const text = value.trim();
  if (WORDS.has(text.toLowerCase())) return true;
  if (HARMLESS_VALUES.some((form) => form.test(text))) return true;
  return PATH_LIKE.test(text) && !/[\n"']/.test(text) && !text.split(/[\\/:;]/).some(isTokenLike);
}

/** Returns the secret parts of a value, as written; the whole value if it has no known structure. */
export function secretParts(name: string, value: string): string[] {
  if (value.trim() === '') return [];
  const credential = isCredentialName(name);
  const json = jsonIn(value);
  if (json !== undefined) return leaves(name, json).flatMap(([key, leaf]) => secretParts(key, leaf));
  if (URL_LIKE.test(value) && !/\s/.test(value)) {
    const parts = urlParts(value);
    return credential && parts.length === 0 ? [value] : parts;
  }
  if (credential ? isNoCredential(value) : isHarmless(value) || vouchedFor(name, value)) return [];
  const [, , bare] = SCHEME.exec(value) ?? [];
  return bare === undefined ? [value, ...pairParts(value)] : [bare, ...basicParts(bare)];
}

/** True if a value under the name of a credential is not a secret: a switch, an empty value, or the path of a file. */
function isNoCredential(value: string): boolean {
  const text = value.trim();
  return /^(?:true|false|yes|no|on|off|none|null|[01]|[^\p{L}\p{N}]*)$/iu.test(text) || FILE.test(text);
}

const FILE = /^(?:~|\.{1,2}|[A-Za-z]:)?[\\/][^\n"']*\.[a-z]{2,5}$/i;

function vouchedFor(name: string, value: string): boolean {
  return HARMLESS_NAME.test(name) && !isTokenLike(value);
}

/** Parses JSON objects and lists only; `"x"` and `5` are ordinary text. */
function jsonIn(value: string): unknown {
  if (!/^\s*[[{]/.test(value)) return undefined;
  try {
    return JSON.parse(value);
  } catch {
    return undefined;
  }
}

/** Returns the strings inside a JSON value, each with the nearest key above it. */
function leaves(name: string, value: unknown): [name: string, text: string][] {
  if (typeof value === 'string') return [[name, value]];
  if (typeof value !== 'object' || value === null) return [];
  const entries = Object.entries(value);
  return entries.flatMap(([key, item]) => leaves(Array.isArray(value) ? name : key, item));
}

/** Returns the password (or a user without one), values of query and fragment, and path segments that may be a key. */
function urlParts(value: string): string[] {
  const [, user = '', password, path = '', rest = ''] =
    /^[a-z][a-z\d+.-]*:\/\/(?:([^\s/?#:@]*)(?::([^\s/?#]*))?@)?[^/?#]*([^?#]*)(.*)$/is.exec(value) ?? [];
  const segments = path.split(/[/;,]/).flatMap((segment, index, all) => keysIn(segment, all[index - 1] ?? ''));
  const fields = [...rest.matchAll(/(?:^|[?#&;])(?:([^=?#&;]*)=)?([^=?#&;]+)/g)].flatMap(([, key = '', field = '']) =>
    isCredentialName(key) || !isHarmless(decoded(field)) ? [field] : [],
  );
  return [password ?? user, ...segments, ...fields].filter((part) => part !== '');
}

/** Paths are public, but many hosted servers have the key of the user in theirs, such as `/s/<key>/mcp` or `/token/<key>`. */
function keysIn(segment: string, before: string): string[] {
  const [, name = '', value = ''] = /^([^=:]*)[=:](.+)$/.exec(segment) ?? [];
  if (value !== '') return secretParts(name, value);
  const isNamed = KEY_NAME.test(before) && !WORD.test(segment) && !isHarmless(segment);
  const isCalledSo = isCredentialName(segment) && !KEY_NAME.test(segment) && !AUTH_WORD.test(segment);
  const isKey = isNamed || isCalledSo || isTokenLike(segment) || segment.split(/[-_.+~]/).some(isScrambled);
  return isKey ? [segment] : tokensIn(segment);
}

/** Segments that only name what follows or what the endpoint does. */
const KEY_NAME = /^(?:(?:api|access|private)[-_]?)?(?:keys?|tokens?|secrets?|passwords?|pat|pin|otp)$/i;
const AUTH_WORD = /^(?:auth|authorize|authorization|credentials?|bearer|sig|signature|cookies?)$/i;

/** True for letters and digits that alternate, such as `f6g1zk`; not for `context7` and `v1beta1`. */
function isScrambled(piece: string): boolean {
  if (piece.length < 5 || /^v\d+(?:alpha|beta|rc)\d*$/i.test(piece)) return false;
  return /[a-z]\d+[a-z]|\d[a-z]+\d/i.test(piece);
}

/** Returns the secret parts of the values in `a=b; c=d` and `Name: value`; of `Name: Bearer x`, this is x. */
function pairParts(value: string): string[] {
  return value.split(/[;,&\n]/).flatMap((item) => {
    const [, name, inner] = /^\s*([\w.-]+)\s*[=:]\s*(\S[\s\S]*)$/.exec(item) ?? [];
    return name === undefined || inner === undefined ? [] : secretParts(name, inner.trim());
  });
}

function basicParts(encoded: string): string[] {
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  const [, password] = /^[^:\u0000-\u001f\ufffd]+:([^\u0000-\u001f\ufffd]+)$/.exec(text) ?? [];
  return password === undefined ? [] : [text, password];
}

/** Returns the secret parts of each argument of a command. */
export function argumentParts(args: readonly string[]): string[][] {
  return args.map((arg, index) => oneArgument(arg, args[index - 1] ?? ''));
}

const FLAG = /^--?([A-Za-z][\w.-]*)$/;
const HEADER_FLAG = /^(?:-H|--?headers?)$/i;

function oneArgument(arg: string, before: string): string[] {
  const flag = FLAG.exec(before)?.[1];
  if (flag !== undefined && isCredentialName(flag) && !FLAG.test(arg)) return secretParts(flag, arg);
  const [, header, content] = /^([A-Za-z][\w-]*)\s*:\s*(\S[\s\S]*)$/.exec(arg) ?? [];
  if (header !== undefined && content !== undefined && (HEADER_FLAG.test(before) || isCredentialName(header)))
    return secretParts(header, content);
  const credentials = /^(?:Bearer|Basic|Token) +(\S{8,})$/i.exec(arg)?.[1];
  if (credentials !== undefined) return [credentials];
  const [, key, value] = /^(?:--?)?([A-Za-z_][\w.-]*)=([\s\S]+)$/.exec(arg) ?? [];
  if (key !== undefined && value !== undefined) {
    if (HEADER_FLAG.test(`--${key}`)) return oneArgument(value, '--header');
    const variable = !arg.startsWith('-') && /^[A-Z][A-Z0-9_]*$/.test(key);
    return variable || isCredentialName(key) ? secretParts(key, value) : publicSecrets(value);
  }
  return publicSecrets(arg);
}

/** Returns the secrets in a text that is public otherwise: credentials in URLs, and text that looks like a token. */
export function publicSecrets(text: string): string[] {
  if (URL_LIKE.test(text) && !/\s/.test(text)) return urlParts(text);
  const urls = [...text.matchAll(/[a-z][a-z\d+.-]*:\/\/[^\s"'<>]+/gi)].flatMap(([url]) => urlParts(url));
  const whole = /^[\w+/=~.-]+$/.test(text) && !PATH_LIKE.test(text) && isTokenLike(text) ? [text] : [];
  return [...tokensIn(text), ...urls, ...whole];
}

function tokensIn(text: string): string[] {
  return text.match(KNOWN_TOKEN) ?? [];
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
