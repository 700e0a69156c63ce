/** What a client carries from one request to the next for a server: it must come back unchanged, from the same client, with the same request, in time. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Origin } from './rounds.ts';
import { createSecretKey, type SecretKey } from './secret-key.ts';

export interface Seal {
  close(state: string, origin: Origin): string;
  /** What was sealed; undefined where somebody else sealed it, or for somebody else, or too long ago. */
  open(sealed: string, origin: Origin): string | undefined;
}

/** ms that a client has for its answer; people are asked, so that it is long. */
const LIFETIME = 10 * 60_000;
const PURPOSE = 'mcpx requestState';

/** The key must not depend on anything that a client knows, such as its token. */
export function createSeal(secret: SecretKey = createSecretKey()): Seal {
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
      // As text: the same bytes may be written in several ways.
      const given = Buffer.from(signature);
      const right = Buffer.from(sign(payload, origin));
      if (more !== undefined || given.length !== right.length || !timingSafeEqual(given, right)) return undefined;
      const [until, state] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [number, string];
      return Date.now() < until ? state : undefined;
    },
  };
}
