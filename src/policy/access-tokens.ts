/** Access tokens of OAuth clients: the result of a check, and the principals to which tokens belong. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../bounded-map.ts';
import type { TokenRights } from '../config/config.ts';
import { OAUTH_NAME } from '../config/gateway-oauth.ts';
import type { Principal } from './auth.ts';

/** A source of principals beside the tokens of the config. */
export interface AccessTokens {
  /**
   * Checks a token that is not one of the config. It returns a promise only if the check needs the network or work that
   * takes long, and it never throws or rejects. `isBraked` returns true for a sender of many wrong tokens, for which no
   * other server is asked.
   */
  check(token: string, isBraked: () => boolean): TokenCheck | Promise<TokenCheck>;
  /** True if a principal came from this source and may still have valid tokens. */
  knows(principal: Principal): boolean;
  /** See `Authenticator.fingerprint`; empty for a principal of another source. */
  fingerprint(principal: Principal): string;
}

export type TokenCheck = { principal: Principal } | { refused: TokenRefusal };

export interface TokenRefusal {
  /** 401: the token is not valid. 403: it is valid but does not suffice. 503: it cannot be checked now. */
  status: 401 | 403 | 503;
  /** The reason, for clients and logs; it contains nothing secret. */
  message: string;
  hint: string;
  /** The reason for the log only, if it says more than clients should know. */
  cause?: string;
  /** The scopes that a sufficient token has, separated by spaces; for 403. */
  scope?: string;
  /** True if no other scope would help. */
  isFinal?: boolean;
  /** True for a token that nobody issued for this gateway; such tokens count as guesses of their sender. */
  isGuess?: boolean;
}

/** The holder of an access token. It stays the same when the client renews the token. */
export interface TokenHolder {
  issuer: string;
  subject: string;
  /** The id of the client; empty if the issuer does not say it. */
  client: string;
  rights: TokenRights;
}

export interface Principals extends Pick<AccessTokens, 'knows' | 'fingerprint'> {
  /** Returns the principal of a holder: the same object for an equal holder, so that sessions stay. */
  of(holder: TokenHolder): Principal;
}

/** Maximum number of principals; a dropped one loses its sessions, which its clients can resume. */
const MAX_PRINCIPALS = 10_000;

export function createPrincipals(most = MAX_PRINCIPALS): Principals {
  const known = new BoundedMap<string, Principal>(most);
  const fingerprints = new WeakMap<Principal, string>();
  return {
    of(holder) {
      const key = fingerprintOf(holder);
      const principal = known.get(key) ?? { name: nameOf(holder, key), payer: payerName(holder), ...holder.rights };
      known.set(key, principal);
      fingerprints.set(principal, key);
      return principal;
    },
    knows(principal) {
      const key = fingerprints.get(principal);
      return key !== undefined && known.get(key) === principal;
    },
    fingerprint: (principal) => fingerprints.get(principal) ?? '',
  };
}

function fingerprintOf({ issuer, subject, client, rights }: TokenHolder): string {
  const { profiles, servers, tools, resources, prompts, admin } = rights;
  const text = JSON.stringify([issuer, subject, client, profiles, servers, tools, resources, prompts, admin]);
  return createHash('sha256').update(text).digest('base64url');
}

/** Maximum characters of the subject and of the client in a name. */
const MAX_PART = 100;

/**
 * Returns the name of a principal, such as `oauth:ada@example.com/claude-web#Zk3vQ1xw`. Stored results and shared connections
 * belong to a name, so its end depends on the issuer and on the rights.
 */
function nameOf({ subject, client }: TokenHolder, fingerprint: string): string {
  const from = client === '' || client === subject ? '' : `/${plain(client)}`;
  return `${OAUTH_NAME}${plain(subject)}${from}#${fingerprint.slice(0, 8)}`;
}

/** Returns the name under which limits count: a user cannot multiply them by other clients or fewer scopes. */
function payerName({ issuer, subject }: TokenHolder): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([issuer, subject]))
    .digest('base64url');
  return `${OAUTH_NAME}${plain(subject)}#${digest.slice(0, 8)}`;
}

/** Replaces characters that would confuse a log line. */
function plain(text: string): string {
  return text.slice(0, MAX_PART).replace(/[^\p{L}\p{N}\p{P}\p{S}]/gu, '_');
}
