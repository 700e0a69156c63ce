/** Reads the claims of a checked access token, and refuses those that the gateway must not accept. */
import { toMcpxError } from '../../errors.ts';
import type { TokenRefusal } from '../../policy/access-tokens.ts';
import type { Audience } from './token-audience.ts';

export interface ReadClaims {
  subject: string;
  client: string;
  scopes: string[];
  /** Undefined for the whole gateway. */
  audience: string[] | undefined;
  /** Expiry in epoch ms. */
  expires: number;
}

export interface ClaimRules {
  audienceOf: Audience;
  /** Milliseconds. */
  tolerance: number;
  /** The current time in epoch ms. */
  now: number;
}

const RENEW = 'renew the token or sign in again';

/** Maximum number of characters of the subject and the client. */
const MAX_NAME = 1000;

export function readClaims(
  claims: Record<string, unknown>,
  { audienceOf, tolerance, now }: ClaimRules,
): ReadClaims | { refused: TokenRefusal } {
  const { exp, nbf, iat, aud, cnf } = claims;
  if (typeof exp !== 'number' || !Number.isFinite(exp)) return refuseToken('the token has no expiry', RENEW);
  if (exp * 1000 + tolerance <= now) return expiredToken();
  if ([nbf, iat].some((time) => time !== undefined && !(Number(time) * 1000 - tolerance <= now)))
    return refuseToken('the token is from the future', 'compare the clocks of the issuer and of this gateway');
  if (cnf !== undefined)
    return refuseToken('the token is bound to a key of its client', 'request a plain Bearer token');
  const audience = audienceOf(aud);
  if (audience === undefined)
    return refuseToken(`the token is for ${namesOf(aud)} and not for this gateway`, OTHER_AUDIENCE);
  const client = textOf(claims.client_id) ?? textOf(claims.azp) ?? '';
  const subject = textOf(claims.sub) ?? client;
  if (subject === '')
    return refuseToken('the token has no subject', 'the issuer has to put "sub" or "client_id" into it');
  const scopes = scopesOf(claims.scope ?? claims.scp);
  return { subject, client, scopes, audience: audience === 'all' ? undefined : audience, expires: exp * 1000 };
}

const OTHER_AUDIENCE =
  'request it with the "resource" of the metadata of this gateway; an audience of another form belongs into "http.auth.oauth.audience"';

export function refuseToken(message: string, hint: string): { refused: TokenRefusal } {
  return { refused: { status: 401, message, hint, isGuess: true } };
}

/** Clients notice by a 401 that a token has expired, so it is no guess. */
export function expiredToken(): { refused: TokenRefusal } {
  return { refused: { status: 401, message: 'the token has expired', hint: RENEW } };
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' && value.length <= MAX_NAME ? value : undefined;
}

/** Returns the scopes of a text with spaces, or of a list, which some issuers send. */
function scopesOf(value: unknown): string[] {
  if (typeof value === 'string') return value.split(' ').filter((scope) => scope !== '');
  return Array.isArray(value) ? value.filter((scope) => typeof scope === 'string') : [];
}

function namesOf(aud: unknown): string {
  const names = [aud].flat().filter((one) => typeof one === 'string' && one !== '');
  if (names.length === 0) return 'no audience';
  return names
    .slice(0, 3)
    .map((name) => `"${String(name).slice(0, 100)}"`)
    .join(', ');
}

/** Returns the refusal while the issuer cannot be asked. */
export function unavailable(error: unknown): { refused: TokenRefusal } {
  const { message, hint } = toMcpxError(error);
  return {
    refused: {
      status: 503,
      message: UNAVAILABLE,
      hint: 'try again in a few seconds',
      cause: hint ? `${message} (${hint})` : message,
    },
  };
}

const UNAVAILABLE = 'the token cannot be checked now, because the issuer does not answer as it should';
