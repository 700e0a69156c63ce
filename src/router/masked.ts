/** Arguments without what looks like a credential, for answers that repeat them. */
import { isCredentialName, maskValue } from '../config/redact.ts';
import { isRecord } from '../wire/message.ts';

/** A copy, with the name of a credential in its place; `key` is what the value itself is called. */
export function withoutSecrets(value: unknown, key = ''): unknown {
  if (key !== '' && isCredentialName(key)) return `<${key}>`;
  if (typeof value === 'string') return maskValue('', value);
  if (Array.isArray(value)) return value.map((item) => withoutSecrets(item));
  if (!isRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutSecrets(inner, name)]));
}
