/** Access tokens of an authorization server of the user: JWTs with its keys, or opaque tokens by introspection. */
import { createHash } from 'node:crypto';
import { BoundedMap } from '../../bounded-map.ts';
import type { GatewayOAuth } from '../../config/gateway-oauth.ts';
import type { Log } from '../../observe/log.ts';
import { type AccessTokens, createPrincipals, type TokenCheck, type TokenRefusal } from '../../policy/access-tokens.ts';
import { rightsOf } from '../../policy/token-rules.ts';
import { createIntrospection, type Introspect } from './introspection.ts';
import type { IssuerFetch } from './issuer-metadata.ts';
import { createAudience } from './token-audience.ts';
import { readClaims, refuseToken } from './token-claims.ts';

export interface IssuerTokensOptions {
  /** The settings with expanded placeholders. */
  oauth: GatewayOAuth & { issuer: string };
  /** The port of the listener. */
  port(): number;
  /** The profile at `/mcp`. */
  main: string | undefined;
  /** Creates the fetch for a URL of the config. */
  fetchFor(url: string): IssuerFetch;
  log: Pick<Log, 'warn' | 'debug'>;
  /** Return the time in epoch ms, and a monotonic time. */
  now?: () => number;
  monotonic?: () => number;
}

/** Maximum number of checked tokens that are kept. */
const MAX_CHECKED = 10_000;
/** Maximum number of characters of a token. */
const MAX_TOKEN = 8192;
/** Milliseconds after which a JWT is verified again, because its key may have been withdrawn. */
const JWT_CACHE = 5 * 60_000;
/** Maximum milliseconds for which a token that the issuer does not know is not asked about again. */
const INACTIVE_CACHE = 10_000;

export function createIssuerTokens(options: IssuerTokensOptions): AccessTokens {
  const { oauth, log, now = Date.now } = options;
  const principals = createPrincipals();
  const checked = new BoundedMap<string, { check: TokenCheck; until: number }>(MAX_CHECKED);
  const checking = new Map<string, Promise<TokenCheck>>();
  const verifier = createVerifier(options);
  const report = createReport(log);
  const audienceOf = createAudience({ ...oauth, port: options.port, main: options.main });

  const verify = async (token: string): Promise<{ check: TokenCheck; until: number }> => {
    const verified = await verifier.verify(token);
    if ('refused' in verified) return { check: verified, until: now() + verifier.keepRefused(verified.refused) };
    const rules = { audienceOf, tolerance: oauth.clockTolerance, now: now() };
    const claims = readClaims(verified.claims, rules);
    if ('refused' in claims) return { check: claims, until: 0 };
    const { subject, client, expires } = claims;
    const until = Math.min(expires + oauth.clockTolerance, now() + verifier.keep);
    const rights = rightsOf(oauth, { ...claims, claims: verified.claims });
    if ('refused' in rights) return { check: rights, until };
    return { check: { principal: principals.of({ issuer: oauth.issuer, subject, client, rights }) }, until };
  };
  const start = (key: string, token: string): Promise<TokenCheck> => {
    const pending = verify(token)
      .then(({ check, until }) => {
        if (until > now()) checked.set(key, { check, until });
        if ('refused' in check) report(check.refused);
        return check;
      })
      .finally(() => checking.delete(key));
    checking.set(key, pending);
    return pending;
  };
  return {
    ...principals,
    check(token, isBraked) {
      if (token.length > MAX_TOKEN) return TOO_LONG;
      const key = createHash('sha256').update(token).digest('base64');
      const known = checked.get(key);
      if (known !== undefined && known.until > now()) return known.check;
      if (verifier.asksIssuer && isBraked()) return BRAKED;
      return checking.get(key) ?? start(key, token);
    },
  };
}

const TOO_LONG = refuseToken(`the token is longer than ${MAX_TOKEN} characters`, 'request a token with fewer claims');
const BRAKED = refuseToken('too many wrong tokens', 'try again in a minute');

function createVerifier({ oauth, fetchFor, monotonic, now = Date.now }: IssuerTokensOptions) {
  const { issuer, jwksUri, algorithms, clockTolerance: tolerance, introspection } = oauth;
  const { endpoint, clientId, clientSecret, cache } = introspection;
  if (clientId !== null) {
    const fetch = fetchFor(endpoint ?? issuer);
    const verify = createIntrospection({ issuer, endpoint, clientId, clientSecret: clientSecret ?? undefined, fetch });
    const keepRefused = ({ status }: TokenRefusal) => (status === 401 ? Math.min(cache, INACTIVE_CACHE) : 0);
    return { verify, keep: cache, keepRefused, asksIssuer: true };
  }
  const fetch = fetchFor(jwksUri ?? issuer);
  // The library is loaded for the first token.
  let loading: Promise<Introspect> | undefined;
  const verify = async (token: string) => {
    loading ??= import('./jwt-verification.ts').then(({ createJwtVerification }) =>
      createJwtVerification({ issuer, jwksUri, algorithms, tolerance, fetch, now, ...(monotonic && { monotonic }) }),
    );
    return (await loading)(token);
  };
  return { verify, keep: JWT_CACHE, keepRefused: () => 0, asksIssuer: false };
}

/** Milliseconds in which a reason is logged once. */
const REPORT_INTERVAL = 60_000;
const MAX_REASONS = 32;

/** Creates the log of refusals: each reason once a minute, because strangers can send any number of tokens. */
function createReport(log: IssuerTokensOptions['log']): (refused: TokenRefusal) => void {
  const said = new BoundedMap<string, number>(MAX_REASONS);
  return ({ message, hint, cause = message, isGuess, status }) => {
    if (!isGuess && status !== 503) return;
    const time = performance.now();
    if (time - (said.get(message) ?? Number.NEGATIVE_INFINITY) < REPORT_INTERVAL) return;
    said.set(message, time);
    log.warn(
      status === 503
        ? `access tokens cannot be checked: ${cause}`
        : `an access token was refused: ${message} (${hint})`,
    );
  };
}
