/** Rotation of refresh tokens: pure decisions about the pairs of one grant. https://www.rfc-editor.org/rfc/rfc9700#section-4.14 */
import { createHash, createHmac, randomBytes } from 'node:crypto';
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
  /** The end of the access token in ms since 1970. */
  accessExpires: number;
}

/** New tokens, and the form in which they are stored. */
interface NewPair {
  issued: IssuedTokens;
  pair: TokenPair;
}

/** Returns the tokens for an authorization code. */
export function firstPair(now: number, lifetime: number): NewPair {
  return pairOf(randomToken(ACCESS), randomToken(REFRESH), { issued: now, accessExpires: now + lifetime });
}

/**
 * Returns the tokens for a refresh token: always the same ones, without the key as good as random. So a copy of the
 * refresh token leads to no tokens of its own, and of two clients that share one, the second renewal is noticed.
 */
export function nextPair(refresh: string, key: Buffer, now: number, lifetime: number): NewPair {
  const derived = (prefix: string) =>
    `${prefix}${createHmac('sha256', key).update(`${prefix} ${refresh}`).digest('base64url')}`;
  const times = { issued: now, accessExpires: now + lifetime, from: hashOf(refresh) };
  return pairOf(derived(ACCESS), derived(REFRESH), times);
}

const ACCESS = 'mcpx_at_';
const REFRESH = 'mcpx_rt_';

function pairOf(access: string, refresh: string, times: Pick<TokenPair, 'issued' | 'accessExpires' | 'from'>): NewPair {
  const { accessExpires } = times;
  return {
    issued: { access, refresh, accessExpires },
    pair: { access: hashOf(access), refresh: hashOf(refresh), ...times },
  };
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

/** Returns the pairs after the exchange of one: it is spent, and the next one is added, or valid for longer. */
export function exchanged(pairs: readonly TokenPair[], old: TokenPair, next: TokenPair, now: number): TokenPair[] {
  const { issued, accessExpires } = next;
  const spent = pairs.map((one) => {
    // The first exchange counts: a token that comes again and again is not accepted for longer.
    if (one.refresh === old.refresh) return { ...one, used: true as const, spent: one.spent ?? now };
    return one.refresh === next.refresh ? { ...one, issued, accessExpires } : one;
  });
  const isKnown = pairs.some(({ refresh }) => refresh === next.refresh);
  return isKnown ? spent : [...spent, next].slice(-MAX_PAIRS);
}
