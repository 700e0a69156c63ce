/** Bearer tokens: finds the configured token of a request, with a comparison whose time does not reveal how much matched. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Token } from '../config/config.ts';
import { sameJson } from '../config/json-data.ts';
import type { AccessTokens, TokenCheck } from './access-tokens.ts';
import { digestOf, findBySecret } from './secret-digest.ts';

/** An authorized client: the token's entry without its secret, or the rights of an access token. */
export interface Principal extends Omit<Token, 'token'> {
  /** The name under which limits count (default: `name`); the OAuth clients of one user share their limits. */
  payer?: string;
}

/** Returns the name under which the limits of a client count; undefined for clients without a token. */
export function payerOf(principal: Pick<Principal, 'name' | 'payer'> | undefined): string | undefined {
  return principal?.payer ?? principal?.name;
}

export interface Authenticator {
  /** False if no token and no OAuth is configured; then every client on loopback is admitted. */
  readonly required: boolean;
  /** Returns the principal of a token of the config in an `Authorization` header, or undefined. */
  principal(header: string | undefined): Principal | undefined;
  /**
   * Checks the access token in an `Authorization` header that `principal` does not know. Returns undefined without OAuth
   * or without a Bearer token, and a promise only if the check needs one.
   */
  accessToken(header: string | undefined, isBraked: () => boolean): TokenCheck | Promise<TokenCheck> | undefined;
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

export interface AuthenticatorOptions {
  /** Tokens that are unchanged since then keep their principals, and with them their sessions. */
  before?: Pick<Authenticator, 'same'> | undefined;
  /** Absent without OAuth. */
  accessTokens?: AccessTokens | undefined;
}

export function createAuthenticator(
  tokens: (Principal & { secret: string })[],
  { before, accessTokens }: AuthenticatorOptions = {},
): Authenticator {
  const known = knownTokens(tokens, before);
  const required = known.length > 0 || accessTokens !== undefined;
  return {
    required,
    knows(principal) {
      if (principal === undefined) return !required;
      return known.some((token) => token.principal === principal) || accessTokens?.knows(principal) === true;
    },
    same: (principal, hashed) =>
      known.find((token) => timingSafeEqual(token.digest, hashed) && sameJson(token.principal, principal))?.principal,
    fingerprint(principal) {
      if (principal === undefined) return '';
      const token = known.find((one) => one.principal === principal);
      if (token === undefined) return accessTokens?.fingerprint(principal) ?? '';
      return createHash('sha256').update(token.digest).update(JSON.stringify(token.principal)).digest('base64url');
    },
    principal(header) {
      const given = bearerOf(header);
      if (given === undefined) return undefined;
      return findBySecret(known, given)?.principal;
    },
    accessToken(header, isBraked) {
      const given = accessTokens && bearerOf(header);
      return given === undefined ? undefined : accessTokens?.check(given, isBraked);
    },
  };
}

function bearerOf(header: string | undefined): string | undefined {
  return header === undefined ? undefined : /^Bearer +(\S+) *$/i.exec(header)?.[1];
}

/**
 * Returns the tokens with their digests. A separate function, so that an authenticator's closure does not retain its
 * predecessors.
 */
function knownTokens(tokens: (Principal & { secret: string })[], before: Pick<Authenticator, 'same'> | undefined) {
  return tokens.map(({ secret, ...principal }) => {
    const hashed = digestOf(secret);
    return { digest: hashed, principal: before?.same(principal, hashed) ?? principal };
  });
}

/** True if a token may use a profile; a profile that the token does not name is treated as missing. */
export function mayUseProfile(principal: Pick<Principal, 'profiles'>, profile: string): boolean {
  return principal.profiles === undefined || principal.profiles.includes(profile);
}
