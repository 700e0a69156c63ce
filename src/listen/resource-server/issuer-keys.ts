/** The public keys of the issuer (JWKS): fetched when they are needed, and again for a key that is not known. */
import { createLocalJWKSet, type JSONWebKeySet } from 'jose';
import { McpxError } from '../../errors.ts';
import { type IssuerFetch, readIssuerMetadata, readJson } from './issuer-metadata.ts';

export type KeySet = ReturnType<typeof createLocalJWKSet>;

export interface IssuerKeys {
  /** Returns the keys; rejects with McpxError if there are none. */
  current(): Promise<KeySet>;
  /** Returns newer keys than `known` for a token whose key is missing there; undefined if they were fetched just now. */
  newer(known: KeySet): Promise<KeySet | undefined>;
}

export interface IssuerKeysOptions {
  issuer: string;
  /** The URL of the keys; null for the one in the metadata. */
  jwksUri: string | null;
  fetch: IssuerFetch;
  /** Returns a monotonic time in milliseconds. */
  now?: () => number;
}

/** Milliseconds after which the keys are fetched again, while the old ones are in use. */
const REFRESH_AFTER = 10 * 60_000;
/** Milliseconds after which keys that could not be fetched again are no longer used. */
const MAX_AGE = 60 * 60_000;
/** Milliseconds between two requests for keys that no token could do without: a stranger can send any key id. */
const MIN_INTERVAL = 30_000;
/** Milliseconds between two attempts while there are no keys. */
const RETRY_INTERVAL = 5000;

export function createIssuerKeys({
  issuer,
  jwksUri,
  fetch,
  now = () => performance.now(),
}: IssuerKeysOptions): IssuerKeys {
  let known: { keys: KeySet; at: number } | undefined;
  let attempted = Number.NEGATIVE_INFINITY;
  let failure: unknown;
  let fetching: Promise<KeySet> | undefined;

  const load = async (): Promise<KeySet> => {
    const url = jwksUri ?? (await readIssuerMetadata(issuer, fetch)).jwks_uri;
    if (typeof url !== 'string' || !URL.canParse(url)) throw unusable(issuer, 'its metadata has no "jwks_uri"');
    const found = await readJson(url, fetch);
    if (typeof found === 'string') throw unusable(issuer, found);
    try {
      return createLocalJWKSet(found as unknown as JSONWebKeySet);
    } catch {
      throw unusable(issuer, `"${url}" is not a set of keys`);
    }
  };
  const refresh = (): Promise<KeySet> => {
    fetching ??= load()
      .then(
        (keys) => {
          known = { keys, at: now() };
          return keys;
        },
        (error: unknown) => {
          failure = error;
          throw error;
        },
      )
      .finally(() => {
        attempted = now();
        fetching = undefined;
      });
    return fetching;
  };
  return {
    async current() {
      const age = known === undefined ? Number.POSITIVE_INFINITY : now() - known.at;
      if (known !== undefined && age <= REFRESH_AFTER) return known.keys;
      const isEarly = now() - attempted < (known === undefined ? RETRY_INTERVAL : MIN_INTERVAL);
      if (known !== undefined && age <= MAX_AGE) {
        if (!isEarly) refresh().catch(() => undefined);
        return known.keys;
      }
      if (isEarly && fetching === undefined) throw failure;
      return refresh();
    },
    async newer(before) {
      if (known !== undefined && known.keys !== before) return known.keys;
      if (fetching !== undefined) return fetching;
      return now() - attempted < MIN_INTERVAL ? undefined : refresh();
    },
  };
}

function unusable(issuer: string, why: string): McpxError {
  const hint = 'set "http.auth.oauth.jwksUri" to the address of its keys';
  return new McpxError('auth', `the keys of the issuer "${issuer}" cannot be read: ${why}`, { hint });
}
