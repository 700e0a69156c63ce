/** Signs the `requestState` of servers: it is valid unchanged, for the same client and request, until it expires. */
import { createSignedValues } from '../signed-value.ts';
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

export function createRequestStateCodec(secret: SecretKey = createSecretKey()): RequestStateCodec {
  const signed = createSignedValues<[until: number, state: string]>(() => secret.derive(PURPOSE));
  const contextOf = ({ principal, profile, words }: Origin) => [principal?.name ?? null, profile, words];
  return {
    close: (state, origin) => signed.seal([Date.now() + LIFETIME, state], contextOf(origin)),
    open(sealed, origin) {
      const [until = 0, state] = signed.open(sealed, contextOf(origin)) ?? [];
      return Date.now() < until ? state : undefined;
    },
  };
}
