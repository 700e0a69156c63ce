/** Removes the secret values of one server from messages, errors and stderr lines about it. */
import type { ServerSpec } from '../config/config.ts';
import { resolveLaunch } from '../config/env.ts';
import { McpxError, RpcError } from '../errors.ts';
import { isRecord } from '../wire/message.ts';

export interface Redactor {
  /** Redacts secrets in the text, also a secret that is truncated before a `…`. */
  text(text: string): string;
  /** Redacts a text whose end was cut off, possibly in the middle of a secret. */
  beginning(text: string): string;
  /** Redacts an error; returns the same object if there is nothing to redact. */
  error<E extends Error>(error: E): E;
  /** Returns true if the text contains a secret. */
  finds(text: string): boolean;
}

const STARS = '***';
/** The minimum number of leading characters of a secret that are redacted at a cut. */
const SHORTEST_BEGINNING = 4;
const MAX_DEPTH = 32;

/** The number of former values of changing secrets that are still redacted: a late answer may quote a former token. */
const FORMER = 8;

/** `changing` returns secrets that change, such as the tokens of a sign-in. */
export function createRedactor(fixed: readonly string[], changing: () => readonly string[] = () => []): Redactor {
  let recent: readonly string[] = [];
  let computed = sortedForms(fixed);
  const forms = (): readonly string[] => {
    const added = changing().filter((secret) => !recent.includes(secret));
    if (added.length > 0) {
      recent = [...recent, ...added].slice(-FORMER);
      computed = sortedForms([...fixed, ...recent]);
    }
    return computed;
  };

  const beginning = (text: string): string => {
    const safe = whole(text);
    const cut = Math.max(0, ...forms().map((form) => overlap(safe, form)));
    return cut < SHORTEST_BEGINNING ? safe : `${safe.slice(0, -cut)}${STARS}`;
  };
  const whole = (text: string): string => forms().reduce((safe, form) => safe.replaceAll(form, STARS), text);
  const text = (said: string): string => {
    const safe = whole(said);
    if (forms().length === 0 || !safe.includes('…')) return safe;
    const pieces = safe.split('…');
    return pieces.map((piece, index) => (index < pieces.length - 1 ? beginning(piece) : piece)).join('…');
  };
  const value = (given: unknown, depth = 0): unknown => {
    if (typeof given === 'string') return text(given);
    if (depth > MAX_DEPTH) return STARS;
    if (Array.isArray(given)) return given.map((item) => value(item, depth + 1));
    if (!isRecord(given)) return given;
    return Object.fromEntries(Object.entries(given).map(([key, item]) => [text(key), value(item, depth + 1)]));
  };
  const error = <E extends Error>(failure: E): E =>
    forms().length === 0 ? failure : (redactError(failure) as unknown as E);
  const redactError = (failure: Error): Error => {
    const message = text(failure.message);
    const cause = failure.cause instanceof Error ? redactError(failure.cause) : failure.cause;
    if (failure instanceof RpcError) return new RpcError(failure.code, message, value(failure.data));
    if (failure instanceof McpxError) {
      const { code, hint, data, fault } = failure;
      return new McpxError(code, message, { hint: hint && text(hint), data: value(data), cause, fault });
    }
    if (message === failure.message && cause === failure.cause) return failure;
    return Object.assign(new Error(message, { cause }), { ...failure, message, cause });
  };
  return { text, beginning, error, finds: (said) => forms().some((form) => said.includes(form)) };
}

/**
 * Creates the redactor of a server that may not run. If a variable is missing, the server never started, so it has no
 * secrets to leak.
 */
export function redactorOf(spec: ServerSpec): Redactor {
  try {
    return createRedactor(resolveLaunch(spec, { inheritEnv: 'all' }).secrets);
  } catch {
    return createRedactor([]);
  }
}

/** Returns the forms of all secrets, the longest first, so that a secret that contains another is replaced as a whole. */
function sortedForms(secrets: readonly string[]): string[] {
  return [...new Set(secrets.flatMap(formsOf))].sort((a, b) => b.length - a.length);
}

/** Returns how many characters at the end of the text are the beginning of the secret. */
function overlap(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length >= SHORTEST_BEGINNING; length -= 1)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}

/**
 * Returns the forms in which a secret may be quoted: plain, percent-encoded or decoded, escaped for JSON or HTML,
 * Base64.
 */
function formsOf(secret: string): string[] {
  const forms = [secret, decoded(secret)].flatMap((text) => {
    const encoded = percent(text);
    return [
      text,
      encoded,
      encoded.replace(/%[\dA-F]{2}/g, (byte) => byte.toLowerCase()),
      encoded.replaceAll('%20', '+'),
      encodeURI(wellFormed(text)),
      JSON.stringify(text).slice(1, -1),
      text.replace(/[&<>"]/g, (character) => HTML[character] ?? character),
      ...inBase64(text),
    ];
  });
  return forms.filter((form) => form.length >= SHORTEST_BEGINNING);
}

const HTML: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/**
 * Returns the part that the Base64 of every text with the secret has in common, such as `user:password`: one form for
 * each of the three byte offsets.
 */
function inBase64(secret: string): string[] {
  return [0, 1, 2].flatMap((before) => {
    const bytes = Buffer.concat([Buffer.alloc(before), Buffer.from(secret)]);
    const skipped = before === 0 ? 0 : before + 1;
    const certain = Math.floor((bytes.length * 8) / 6);
    const form = bytes.toString('base64').slice(skipped, certain);
    const urlSafe = form.replaceAll('+', '-').replaceAll('/', '_');
    return form.length < SHORTEST_BASE64 ? [] : [form, urlSafe];
  });
}

/** The minimum length in characters; shorter forms may occur by chance. */
const SHORTEST_BASE64 = 8;

function percent(text: string): string {
  return encodeURIComponent(wellFormed(text)).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** Replaces lone surrogates, which cannot be percent-encoded. */
function wellFormed(text: string): string {
  return Buffer.from(text).toString('utf8');
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
