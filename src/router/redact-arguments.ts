/** Replaces credentials in tool arguments before an error message or an example repeats them. */
import { isCredentialName, maskTokens } from '../config/redact.ts';
import { isRecord } from '../wire/message.ts';

/** Returns a copy in which `<key>` replaces each credential; `key` is the name of the property that holds `value`. */
export function withoutSecrets(value: unknown, key = ''): unknown {
  if (key !== '' && isCredentialName(key)) return `<${key}>`;
  if (typeof value === 'string') return maskCredentials(value, () => '***');
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner, name)]));
}

/**
 * Masks credentials in text that should be JSON: values of keys that name a credential, and strings that look like
 * one.
 */
export function maskJsonText(text: string): string {
  const stars = (secret: string): string => '*'.repeat(secret.length);
  const named = text.replace(/("((?:[^"\\]|\\.)*)"\s*:\s*")((?:[^"\\]|\\.)*)/g, (whole, head, key, value) =>
    isCredentialName(key) ? head + stars(value) : whole,
  );
  return maskCredentials(named, stars);
}

/** The password of `scheme://user:password@host`. */
const URL_PASSWORD = /(:\/\/[^\s/:@]*:)([^\s/@]+)(?=@)/g;
const ASSIGNMENT = /((?:[?&]|^--?)([\w.-]+)=)([^&\s"]+)/g;

function maskCredentials(text: string, stars: (secret: string) => string): string {
  return maskTokens(text, stars)
    .replace(URL_PASSWORD, (_, head, password) => head + stars(password))
    .replace(ASSIGNMENT, (whole, head, key, secret) => (isCredentialName(key) ? head + stars(secret) : whole));
}
