/** Verifies the signature and the header of a JWT access token with the keys of the issuer. */
import { type CryptoKey, errors, type JWTVerifyOptions, jwtVerify } from 'jose';
import type { TokenRefusal } from '../../policy/access-tokens.ts';
import { createIssuerKeys, type IssuerKeys, type IssuerKeysOptions, type KeySet } from './issuer-keys.ts';
import { expiredToken, refuseToken, unavailable } from './token-claims.ts';

interface JwtRules {
  issuer: string;
  /** Asymmetric algorithms only. */
  algorithms: string[];
  /** Milliseconds. */
  tolerance: number;
  keys: IssuerKeys;
  /** Returns the time in epoch ms. */
  now(): number;
}

type Verified = { claims: Record<string, unknown> } | { refused: TokenRefusal };

export type JwtOptions = Omit<JwtRules, 'keys'> & Omit<IssuerKeysOptions, 'now'> & { monotonic?: () => number };

/** Creates the verification of the tokens of one issuer. Its keys are fetched for the first token. */
export function createJwtVerification({ monotonic, ...options }: JwtOptions): (token: string) => Promise<Verified> {
  const keys = createIssuerKeys({ ...options, ...(monotonic && { now: monotonic }) });
  return (token) => verifyJwt(token, { ...options, keys });
}

async function verifyJwt(token: string, rules: JwtRules): Promise<Verified> {
  if (!/^[\w-]+\.[\w-]+\.[\w-]*$/.test(token)) return refuseToken('the token is not a JWT', OPAQUE);
  let keys: KeySet;
  try {
    keys = await rules.keys.current();
  } catch (error) {
    return unavailable(error);
  }
  const first = await verifyWith(keys, token, rules);
  if (!('error' in first)) return first;
  if (!(first.error instanceof errors.JWKSNoMatchingKey)) return refusalOf(first.error);
  try {
    const newer = await rules.keys.newer(keys);
    const second = newer === undefined ? first : await verifyWith(newer, token, rules);
    return 'error' in second ? refusalOf(second.error) : second;
  } catch (error) {
    return unavailable(error);
  }
}

const OPAQUE = 'sign in again; if the issuer gives out opaque tokens, set "http.auth.oauth.introspection"';

async function verifyWith(keys: KeySet, token: string, rules: JwtRules): Promise<Verified | { error: unknown }> {
  const { issuer, algorithms, tolerance, now } = rules;
  const options = {
    issuer,
    algorithms,
    clockTolerance: tolerance / 1000,
    requiredClaims: ['exp'],
    currentDate: new Date(now()),
  };
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keys, options);
    return acceptType(protectedHeader.typ, payload);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) return { error };
    return verifyWithEach(error, token, options);
  }
}

/** Tries each key of a set for a token that does not name one. */
async function verifyWithEach(
  candidates: AsyncIterable<CryptoKey>,
  token: string,
  options: JWTVerifyOptions,
): Promise<Verified | { error: unknown }> {
  let failure: unknown;
  for await (const key of candidates) {
    try {
      const { payload, protectedHeader } = await jwtVerify(token, key, options);
      return acceptType(protectedHeader.typ, payload);
    } catch (error) {
      failure = error;
      if (!(error instanceof errors.JWSSignatureVerificationFailed)) break;
    }
  }
  return { error: failure };
}

/** The types of access tokens: that of RFC 9068, and the general one, which most issuers use. */
const TYPES = ['at+jwt', 'application/at+jwt', 'jwt', undefined];
/** Claims that only id tokens have, and values of `typ` that Keycloak writes into other tokens. */
const OF_ID_TOKENS = ['at_hash', 'c_hash', 's_hash'];
const OTHER_KINDS = ['id', 'refresh', 'offline', 'logout'];

/** Refuses tokens of the same issuer that are not access tokens. https://www.rfc-editor.org/rfc/rfc8725#section-3.11 */
function acceptType(typ: string | undefined, claims: Record<string, unknown>): Verified {
  const isOther = OTHER_KINDS.includes(String(claims.typ).toLowerCase()) || OF_ID_TOKENS.some((name) => name in claims);
  if (isOther || !TYPES.includes(typ?.toLowerCase()))
    return refuseToken(
      'the token is not an access token',
      'send the access token, not the id token or the refresh token',
    );
  return { claims };
}

function refusalOf(error: unknown): { refused: TokenRefusal } {
  if (error instanceof errors.JWTExpired) return expiredToken();
  if (error instanceof errors.JWTClaimValidationFailed) return refuseClaim(error.claim);
  if (error instanceof errors.JOSEAlgNotAllowed)
    return refuseToken(
      'the token is signed in a way that is not accepted',
      '"http.auth.oauth.algorithms" has the accepted ones',
    );
  if (error instanceof errors.JWKSNoMatchingKey)
    return refuseToken('the token is signed with a key that the issuer does not have', SIGN_IN);
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return refuseToken('the signature of the token is not valid', SIGN_IN);
  return refuseToken('the token is not a JWT that can be checked', SIGN_IN);
}

const SIGN_IN = 'sign in again';

function refuseClaim(claim: string): { refused: TokenRefusal } {
  if (claim === 'iss')
    return refuseToken('the token is from another issuer', '"http.auth.oauth.issuer" is the accepted one');
  if (claim === 'exp') return refuseToken('the token has no expiry', SIGN_IN);
  if (claim === 'nbf')
    return refuseToken('the token is from the future', 'compare the clocks of the issuer and of this gateway');
  return refuseToken('the claims of the token are not valid', SIGN_IN);
}
