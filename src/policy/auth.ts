/** Bearer tokens: which configured token a request carries, compared without leaking how much of it was right. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Token } from '../config/config.ts';
import { sameJson } from '../config/json.ts';

/** Somebody who may use the gateway: the token's entry with its secret resolved. */
export interface Principal extends Omit<Token, 'token'> {}

export interface Authenticator {
  /** False when no token is configured: then everyone on loopback is admitted. */
  readonly required: boolean;
  /** The principal of an `Authorization` header, or undefined. */
  principal(header: string | undefined): Principal | undefined;
  /** Whether a principal is still admitted; `undefined` is where no token is required. */
  knows(principal: Principal | undefined): boolean;
  /** The principal that stands for the same token with the same secret. */
  same(principal: Principal, digest: Buffer): Principal | undefined;
  /** Another one for another token, secret or right; the same after a restart. Empty for nobody in particular. */
  fingerprint(principal: Principal | undefined): string;
}

/** Tokens that are as they were `before` keep their principals, and with them their sessions. */
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
      // Every token is compared, so that the time does not tell which one came close.
      return known.filter((token) => timingSafeEqual(token.digest, hashed))[0]?.principal;
    },
  };
}

/** A function of its own, so that an authenticator does not hold the one before it, and that one the one before. */
function knownTokens(tokens: (Principal & { secret: string })[], before: Pick<Authenticator, 'same'> | undefined) {
  return tokens.map(({ secret, ...principal }) => {
    const hashed = digest(secret);
    return { digest: hashed, principal: before?.same(principal, hashed) ?? principal };
  });
}

/** A profile that a token does not name is as good as missing. */
export function mayUseProfile(principal: Pick<Principal, 'profiles'>, profile: string): boolean {
  return principal.profiles === undefined || principal.profiles.includes(profile);
}

function digest(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}
