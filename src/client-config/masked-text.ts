/** Masks secrets in the text of a client's file, so that a preview can show its lines. */
import { isRecord } from '../config/json-data.ts';
import { maskSource } from '../config/redacted-source.ts';
import { argumentParts, isCredentialName, publicSecrets, secretParts } from '../config/sensitive.ts';
import { loadEditor } from './edit-text.ts';
import type { Format } from './text-editor.ts';

/** Keys below which every value counts as secret unless it is known to be harmless. */
const PRIVATE = /^(?:env|envs|environment|headers|http_headers|oauth|auth|secrets|inputs)$/i;

export async function maskedText(text: string, format: Format, file: string): Promise<string> {
  if (format === 'json') return maskSource(text);
  const editor = await loadEditor(format);
  const secrets = [...new Set(secretsIn('', editor.parse(text, file), false))].sort((a, b) => b.length - a.length);
  const spellings = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1)]);
  const masked = spellings.reduce((rest, secret) => rest.replaceAll(secret, stars), text);
  // A comment may hold the old value of a secret.
  return masked.replace(/(^|\s)#.*$/gm, (comment) => comment.replace(/[^\s#]/g, '*'));
}

function stars(secret: string): string {
  return secret.replace(/[^\r\n]/g, '*');
}

/** Returns the secret parts of all texts in the data. */
function secretsIn(name: string, value: unknown, isPrivate: boolean): string[] {
  if (typeof value === 'string') {
    return isPrivate || isCredentialName(name) ? secretParts(name, value) : publicSecrets(value);
  }
  if (Array.isArray(value)) {
    if (value.every((item) => typeof item === 'string')) return isPrivate ? value : argumentParts(value).flat();
    return value.flatMap((item) => secretsIn(name, item, isPrivate));
  }
  if (!isRecord(value)) return [];
  return Object.entries(value).flatMap(([key, item]) => secretsIn(key, item, isPrivate || PRIVATE.test(key)));
}
