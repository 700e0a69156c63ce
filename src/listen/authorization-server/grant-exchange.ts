/** The exchange of a code or a refresh token for new tokens: pure decisions about one grant. */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Grant } from './grant-file.ts';
import { OAuthProblem } from './oauth-problem.ts';
import { exchanged, firstPair, hashOf, type IssuedTokens, mayExchange, nextPair } from './token-pairs.ts';

export interface CodeExchange {
  clientId: string;
  redirectUri: string | undefined;
  verifier: string;
  resource: string | undefined;
}

export interface Renewal {
  clientId: string;
  scopes: string[] | undefined;
  resource: string | undefined;
}

/** The rules of the server for every exchange. */
export interface ExchangeRules {
  /** Lifetimes in ms. */
  lifetimes(): { access: number; refresh: number };
  /** False if the token or password of the grant was removed or changed. */
  isCovered(grant: Grant): boolean;
  /** Returns the scope of a profile. */
  scopeOf(profile: string): string;
  /** The key from which renewed tokens are made. */
  tokenKey(): Buffer;
  /** Returns ms since 1970. */
  now(): number;
}

/** The result of an exchange: tokens, or a refusal that may end the grant. */
export type Step = { tokens: IssuedTokens; grant: Grant } | { refused: OAuthProblem; ends?: string };

/** Milliseconds by which a code may come from the future, see `isCurrent`. */
const CLOCK_TOLERANCE = 5 * 60_000;
const CREDENTIAL_GONE = 'its token or password was removed or changed';

/** Returns the tokens for an authorization code. A code that comes twice may be stolen, so it ends its grant. */
export function exchangeCode(grant: Grant, asked: CodeExchange, rules: ExchangeRules): Step {
  const { code } = grant;
  const now = rules.now();
  if (code.spent) return { refused: usedTwice('the authorization code'), ends: 'its code came twice' };
  const refused = codeProblem(grant, asked, now);
  if (refused !== undefined) return { refused };
  if (!rules.isCovered(grant)) return { refused: unknownGrant(), ends: CREDENTIAL_GONE };
  const { access, refresh } = rules.lifetimes();
  const { issued, pair } = firstPair(now, access);
  const spent = { ...code, spent: true as const };
  return { tokens: issued, grant: { ...grant, code: spent, pairs: [pair], expires: now + refresh } };
}

/** Returns the tokens for a refresh token. */
export function exchangeRefresh(grant: Grant, token: string, asked: Renewal, rules: ExchangeRules): Step {
  const now = rules.now();
  const hash = hashOf(token);
  const pair = grant.pairs.find(({ refresh }) => refresh === hash);
  const isOwn = grant.client.id === asked.clientId && now < grant.expires;
  if (pair === undefined || !isOwn) return { refused: unknownGrant() };
  if (!mayExchange(pair, grant.pairs, now))
    return { refused: usedTwice('the refresh token'), ends: 'an old refresh token came again' };
  if (!rules.isCovered(grant)) return { refused: unknownGrant(), ends: CREDENTIAL_GONE };
  const scopes = grant.profiles.map(rules.scopeOf);
  if (asked.scopes?.some((scope) => !scopes.includes(scope)))
    return { refused: new OAuthProblem('invalid_scope', 'the scope has more than the user granted') };
  if (asked.resource !== undefined && asked.resource !== grant.resource)
    return { refused: new OAuthProblem('invalid_target', 'the resource differs from that of the grant') };
  const { access, refresh } = rules.lifetimes();
  const { issued, pair: next } = nextPair(token, rules.tokenKey(), now, access);
  const pairs = exchanged(grant.pairs, pair, next, now);
  return { tokens: issued, grant: { ...grant, pairs, renewed: now, expires: now + refresh } };
}

function codeProblem({ code, client, resource }: Grant, asked: CodeExchange, now: number): OAuthProblem | undefined {
  const isTimely = now < code.expires && code.issued <= now + CLOCK_TOLERANCE;
  // PKCE protects the code; OAuth 2.1 has no redirect URI here, but one that is sent must be right.
  const isOwn = client.id === asked.clientId && (asked.redirectUri ?? code.redirectUri) === code.redirectUri;
  if (!isTimely || !isOwn || !isVerified(code.challenge, asked.verifier)) return unknownCode();
  if (asked.resource !== undefined && asked.resource !== resource)
    return new OAuthProblem('invalid_target', 'the resource differs from that of the authorization request');
  return undefined;
}

/** https://www.rfc-editor.org/rfc/rfc7636#section-4.6 */
function isVerified(challenge: string, verifier: string): boolean {
  if (!/^[A-Za-z0-9._~-]{43,128}$/.test(verifier)) return false;
  const made = Buffer.from(createHash('sha256').update(verifier).digest('base64url'));
  const expected = Buffer.from(challenge);
  return made.length === expected.length && timingSafeEqual(made, expected);
}

export const unknownCode = () =>
  new OAuthProblem('invalid_grant', 'the authorization code is not valid for this client, redirect URI and verifier');
export const unknownGrant = () =>
  new OAuthProblem('invalid_grant', 'the token is not valid, has expired or was revoked: sign in again');
const usedTwice = (what: string) =>
  new OAuthProblem('invalid_grant', `${what} was used twice, so all tokens of this sign-in were revoked`);
