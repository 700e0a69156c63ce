/** Signs JSON values that a client carries and sends back unchanged. */
import { createHmac, timingSafeEqual } from 'node:crypto';

export interface SignedValues<Value> {
  /** Returns the value as text with a signature. The context is signed too, and is not part of the text. */
  seal(value: Value, context?: unknown): string;
  /** Returns the value; undefined if the signature is not the one for this text, this context and this key. */
  open(text: string, context?: unknown): Value | undefined;
}

/** `key` is called at the first use. It must not depend on data that a client knows, such as its token. */
export function createSignedValues<Value>(key: () => Buffer): SignedValues<Value> {
  let known: Buffer | undefined;
  const sign = (payload: string, context: unknown) => {
    known ??= key();
    return createHmac('sha256', known)
      .update(JSON.stringify([context ?? null, payload]))
      .digest('base64url');
  };
  return {
    seal(value, context) {
      const payload = Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${payload}.${sign(payload, context)}`;
    },
    open(text, context) {
      const [payload = '', signature = '', more] = text.split('.');
      // The signatures are compared as text, because the same bytes have several base64 spellings.
      const given = Buffer.from(signature);
      const right = Buffer.from(sign(payload, context));
      if (more !== undefined || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      return JSON.parse(Buffer.from(payload, 'base64url').toString()) as Value;
    },
  };
}
