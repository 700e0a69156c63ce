/** Rotation of refresh tokens: pure decisions about the pairs of one grant. https://www.rfc-editor.org/rfc/rfc9700#section-4.14 */
import { createHash, randomBytes } from 'node:crypto';
import type { TokenPair } from './grant-file.ts';

/** Milliseconds in which a refresh token may be sent again: programs that share it may renew at the same time. */
const LEEWAY = 10_000;
/** Maximum number of pairs of one grant, spent ones included, which are needed to notice their reuse. */
const MAX_PAIRS = 16;
/** Milliseconds by which a time in the future is accepted; a token from beyond was issued before the clock was set back. */
const CLOCK_TOLERANCE = 5 * 60_000;

/** The tokens as the client gets them. */
export interface IssuedTokens {
  access: string;
  refresh: string;
}

/** Returns a new pair of tokens, and the same pair in the form in which it is stored. */
export function issuePair(now: number, lifetime: number, from?: string): { issued: IssuedTokens; pair: TokenPair } {
  const issued = { access: randomToken('mcpx_at_'), refresh: randomToken('mcpx_rt_') };
  const hashes = { access: hashOf(issued.access), refresh: hashOf(issued.refresh) };
  const pair = { ...hashes, issued: now, accessExpires: now + lifetime, ...(from !== undefined && { from }) };
  return { issued, pair };
}

/** Returns a random token of 256 bits. The prefix lets scanners of repositories find a leaked one. */
export function randomToken(prefix: string): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

/** Tokens are random, so a hash without salt cannot be reversed. */
export function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url');
}

/** True if an access token is neither expired nor issued in the future. */
export function isCurrent({ issued, accessExpires }: TokenPair, now: number): boolean {
  return now < accessExpires && issued <= now + CLOCK_TOLERANCE;
}

/**
 * True if the refresh token of a pair may be exchanged. A token that was exchanged before is accepted only if the client
 * has never used the tokens that it got, because the response may have been lost, or at almost the same time.
 */
export function mayExchange(pair: TokenPair, pairs: readonly TokenPair[], now: number): boolean {
  if (pair.spent === undefined || Math.abs(now - pair.spent) < LEEWAY) return true;
  const next = pairs.filter(({ from }) => from === pair.refresh);
  return next.length > 0 && next.every(({ used, spent }) => used === undefined && spent === undefined);
}

/** Returns the pairs after the exchange of one: it is spent, and the next one is added. */
export function exchanged(pairs: readonly TokenPair[], old: TokenPair, next: TokenPair, now: number): TokenPair[] {
  const spent = pairs.map((one) => (one.refresh === old.refresh ? { ...one, used: true as const, spent: now } : one));
  return [...spent, next].slice(-MAX_PAIRS);
}
