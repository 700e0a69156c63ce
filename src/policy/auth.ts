/** Bearer tokens: finds the configured token of a request, with a comparison whose time does not reveal how much matched. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Token } from '../config/config.ts';
import { sameJson } from '../config/json-data.ts';

/** An authorized client: the token's entry without its secret. */
export interface Principal extends Omit<Token, 'token'> {}

export interface Authenticator {
  /** False if no token is configured; then every client on loopback is admitted. */
  readonly required: boolean;
  /** Returns the principal of an `Authorization` header, or undefined. */
  principal(header: string | undefined): Principal | undefined;
  /** True if a principal is still admitted; undefined is admitted only if no token is required. */
  knows(principal: Principal | undefined): boolean;
  /** Returns the principal with the same settings and the same secret. */
  same(principal: Principal, digest: Buffer): Principal | undefined;
  /**
   * Returns a hash that changes with the token, its secret or its rights, and is the same after a restart. Empty
   * without a principal.
   */
  fingerprint(principal: Principal | undefined): string;
}

/**
 * Creates the authenticator. Tokens that are unchanged since `before` keep their principals, and with them their
 * sessions.
 */
export function createAuthenticator(
  tokens: (Principal & { secret: string })[],
  before?: Pick<Authenticator, 'same'>,
): Authenticator {
  const known = knownTokens(tokens, before);
  return {
    required: known.length > 0,
    knows: (principal) =>
      principal === undefined ? known.length === 0 : known.some((token) => token.principal === principal),
    same: (principal, hashed) =>
      known.find((token) => timingSafeEqual(token.digest, hashed) && sameJson(token.principal, principal))?.principal,
    fingerprint(principal) {
      const token = principal && known.find((one) => one.principal === principal);
      if (token === undefined) return '';
      return createHash('sha256').update(token.digest).update(JSON.stringify(token.principal)).digest('base64url');
    },
    principal(header) {
      const given = header && /^Bearer +(\S+) *$/i.exec(header)?.[1];
      if (!given) return undefined;
      const hashed = digest(given);
      // Every token is compared, so that the time does not reveal which one matched.
      return known.filter((token) => timingSafeEqual(token.digest, hashed))[0]?.principal;
    },
  };
}

/**
 * Returns the tokens with their digests. A separate function, so that an authenticator's closure does not retain its
 * predecessors.
 */
function knownTokens(tokens: (Principal & { secret: string })[], before: Pick<Authenticator, 'same'> | undefined) {
  return tokens.map(({ secret, ...principal }) => {
    const hashed = digest(secret);
    return { digest: hashed, principal: before?.same(principal, hashed) ?? principal };
  });
}

/** True if a token may use a profile; a profile that the token does not name is treated as missing. */
export function mayUseProfile(principal: Pick<Principal, 'profiles'>, profile: string): boolean {
  return principal.profiles === undefined || principal.profiles.includes(profile);
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
