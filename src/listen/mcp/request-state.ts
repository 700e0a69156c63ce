/** Signs the `requestState` of servers: it is valid unchanged, for the same client and request, until it expires. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Origin } from './held-calls.ts';
import { createSecretKey, type SecretKey } from './secret-key.ts';

export interface RequestStateCodec {
  close(state: string, origin: Origin): string;
  /**
   * Returns the signed state; undefined if the signature is invalid, it belongs to another client or request, or it has
   * expired.
   */
  open(sealed: string, origin: Origin): string | undefined;
}

/** Milliseconds until a state expires; long enough for a person to answer. */
const LIFETIME = 10 * 60_000;
const PURPOSE = 'mcpx requestState';

/** The key must not depend on data that a client knows, such as its token. */
export function createRequestStateCodec(secret: SecretKey = createSecretKey()): RequestStateCodec {
  let key: Buffer | undefined;
  const sign = (payload: string, { principal, profile, words }: Origin) => {
    key ??= secret.derive(PURPOSE);
    return createHmac('sha256', key)
      .update(JSON.stringify([principal?.name ?? null, profile, words, payload]))
      .digest('base64url');
  };
  return {
    close(state, origin) {
      const payload = Buffer.from(JSON.stringify([Date.now() + LIFETIME, state])).toString('base64url');
      return `${payload}.${sign(payload, origin)}`;
    },
    open(sealed, origin) {
      const [payload = '', signature = '', more] = sealed.split('.');
      // The signatures are compared as text, because the same bytes have several base64 spellings.
      const given = Buffer.from(signature);
      const right = Buffer.from(sign(payload, origin));
      if (more !== undefined || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      const [until, state] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [number, string];
      return Date.now() < until ? state : undefined;
    },
  };
}
