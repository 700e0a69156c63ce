/** The credentials of one server with sign-in: the access token of this user, renewed when it expires or is refused. */
import type { OutgoingHttpHeaders } from 'node:http';
import { McpxError, type SignInData } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { type Authorization, type AuthRefusal, type ServerAccess, staticAuthorization } from '../http/authorization.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { DeviceSignIn } from './device-sign-in.ts';
import { createGuardedFetch } from './guarded-fetch.ts';
import { createNetworkGuard } from './network-guard.ts';
import { describeOAuthError, loginCommand, signInNeeded } from './oauth-errors.ts';
import { type OAuthSettings, readOAuthSettings } from './oauth-settings.ts';
import { probeChallenge } from './probe-challenge.ts';
import type { PendingSignIn } from './sign-in.ts';
import type { SignInWatch } from './sign-in-watch.ts';
import { keyOf, type SignIn, type StoredTokens, type TokenFile } from './token-file.ts';

export interface OAuthDeps {
  tokens: TokenFile;
  log: Pick<Log, 'warn' | 'debug'>;
  /** The renewals under way in this process, by the key of the sign-in. */
  renewals: Map<string, Promise<SignIn>>;
  /** The timers that renew tokens ahead of their expiry, by the key of the sign-in. */
  timers: Map<string, NodeJS.Timeout>;
  watch: Pick<SignInWatch, 'wait'>;
}

/** Milliseconds before the expiry at which a token counts as expired: a request takes time. */
const LEEWAY = 10_000;
/** Milliseconds before the expiry at which a used token is renewed, so that no call waits for it. */
const AHEAD = 60_000;
/** Milliseconds for which the content of the file is taken as unchanged. */
const FRESH = 1000;
/** The longest delay of a timer in Node. */
const MAX_DELAY = 2 ** 31 - 1;

export interface OAuthAuthorization extends Authorization {
  /** Begins a sign-in in the browser, with the scopes that the server asked for last. */
  beginSignIn(): Promise<PendingSignIn>;
  /** Begins a sign-in with a code that the user enters on another device. */
  beginDeviceSignIn(signal: AbortSignal): Promise<DeviceSignIn>;
  /** Deletes the tokens and revokes them; returns the error if they could not be revoked. */
  signOut(): Promise<'none' | 'revoked' | Error>;
}

export function createOAuthAuthorization(server: ServerAccess, deps: OAuthDeps): OAuthAuthorization {
  const { name, url, headers: configured, oauth = {} } = server;
  const { tokens, log } = deps;
  const settings = readOAuthSettings(oauth, name);
  const fixed = staticAuthorization(configured, name);
  const plain = fixed.headers() as OutgoingHttpHeaders;
  const guard = createNetworkGuard(url, name);
  const fetch = createGuardedFetch({ guard, name });
  let merged: { access: string; headers: OutgoingHttpHeaders } | undefined;
  let challenge: Challenge = {};
  let failure: McpxError | undefined;
  /** The access token of the last refused request. */
  let refusedToken: string | undefined;

  const lookUp = () => tokens.find(url, settings.clientId);
  let seen: SignIn | undefined;
  let seenAt = Number.NEGATIVE_INFINITY;
  /** Looks at the file at most once per second, because each request asks. */
  const find = (): SignIn | undefined => {
    const now = performance.now();
    if (now - seenAt >= FRESH) [seen, seenAt] = [lookUp(), now];
    return seen;
  };
  const forget = () => {
    seenAt = Number.NEGATIVE_INFINITY;
  };
  const withToken = ({ access }: StoredTokens): OutgoingHttpHeaders => {
    merged = merged?.access === access ? merged : { access, headers: { ...plain, authorization: `Bearer ${access}` } };
    return merged.headers;
  };

  /** One renewal at a time in this process; the lock of the file does the same between processes. */
  const renewed = (signIn: SignIn | undefined): Promise<SignIn> => {
    const key = signIn === undefined ? JSON.stringify([url, settings.clientId]) : keyOf(signIn);
    const running = deps.renewals.get(key);
    if (running !== undefined) return running;
    const work = renewNow(signIn).finally(() => {
      deps.renewals.delete(key);
      forget();
    });
    deps.renewals.set(key, work);
    return work;
  };
  const renewNow = async (signIn: SignIn | undefined): Promise<SignIn> => {
    const { obtainToken, renewTokens } = await import('./token-renewal.ts');
    const request = { name, url, settings, tokens, fetch, log, stale: signIn?.tokens?.access };
    return isMachine(settings) || signIn === undefined ? obtainToken(request) : renewTokens(request, signIn);
  };

  const ahead = (signIn: SignIn) => {
    const { expiresAt, refresh } = signIn.tokens ?? {};
    const key = keyOf(signIn);
    if (expiresAt === undefined || refresh === undefined || deps.timers.has(key)) return;
    const delay = Math.min(Math.max(0, expiresAt - AHEAD - Date.now()), MAX_DELAY);
    const timer = setTimeout(() => {
      deps.timers.delete(key);
      const current = lookUp();
      // Another process may have renewed it, or the user may have signed out.
      if (current?.tokens?.access !== signIn.tokens?.access || current === undefined) return;
      renewed(current).catch((error) => log.debug(`server "${name}": ${(error as Error).message}`));
    }, delay);
    deps.timers.set(key, timer.unref());
  };

  const headersNow = (): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders> => {
    const signIn = find();
    const held = signIn?.tokens;
    if (held === undefined && !isMachine(settings)) return plain;
    if (held !== undefined && !isExpired(held)) {
      if (signIn !== undefined) ahead(signIn);
      return withToken(held);
    }
    if (held !== undefined && held.refresh === undefined && !isMachine(settings)) return withToken(held);
    return renewed(signIn).then(
      (fresh) => withToken(fresh.tokens as StoredTokens),
      (error) => {
        waitForSignIn(held?.access);
        throw error;
      },
    );
  };

  const refused = async ({ status, challenge: header, sent }: AuthRefusal): Promise<boolean> => {
    challenge = parseChallenge(header);
    refusedToken = String(sent.authorization ?? '').replace('Bearer ', '') || undefined;
    failure = undefined;
    forget();
    const signIn = find();
    const held = signIn?.tokens;
    // The user has signed in since, perhaps with more scopes.
    if (held !== undefined && sent.authorization !== `Bearer ${held.access}`) return true;
    if (status !== 401) return false;
    if (held?.refresh === undefined && !isMachine(settings)) return false;
    try {
      await renewed(signIn);
      return true;
    } catch (error) {
      if (!(error instanceof McpxError)) throw error;
      failure = error;
      return false;
    }
  };

  return {
    headers: headersNow,
    refused,
    error(status) {
      if (status === 401) waitForSignIn(refusedToken);
      if (failure !== undefined) return failure;
      if (status === 401) return signInError(find());
      if (challenge.error === 'insufficient_scope') return scopeError();
      return fixed.error(status);
    },
    secrets: () => {
      const { access, refresh } = find()?.tokens ?? {};
      return [access, refresh].filter((one) => one !== undefined);
    },
    async beginSignIn() {
      const { beginSignIn } = await import('./sign-in.ts');
      return beginSignIn(await signInRequest());
    },
    async beginDeviceSignIn(signal) {
      const { beginDeviceSignIn } = await import('./device-sign-in.ts');
      return beginDeviceSignIn(await signInRequest(), signal);
    },
    async signOut() {
      const signIn = lookUp();
      forget();
      if (signIn === undefined) return 'none';
      const { revokeTokens } = await import('./token-requests.ts');
      await tokens.remove(signIn);
      return revokeTokens({ signIn, settings, fetch }).then(
        () => 'revoked' as const,
        (error: unknown) => describeOAuthError(error, name, 'the revocation'),
      );
    },
  };

  /** The challenge names the metadata and the scopes, so a server that has not refused a request yet is asked. */
  async function signInRequest() {
    if (Object.keys(challenge).length === 0) challenge = await probeChallenge(server, fixed);
    const scope = neededScope();
    const all = scope === '' ? {} : { scope };
    return { name, url, settings, challenge: { ...challenge, ...all }, tokens, fetch, guard };
  }

  function waitForSignIn(refused: string | undefined): void {
    deps.watch.wait({ name, url, refused, current: () => lookUp()?.tokens?.access });
  }

  function signInError(signIn: SignIn | undefined): McpxError {
    if (signIn?.ended !== undefined) return signInNeeded(name, `needs a new sign-in: ${signIn.ended}`);
    return signInNeeded(name, signIn?.tokens === undefined ? undefined : 'no longer accepts the sign-in');
  }

  /** Returns the scopes that the server asked for; after a sign-in with too few scopes, those that it had are kept. */
  function neededScope(): string {
    const { scope = '', error } = challenge;
    const held = error === 'insufficient_scope' ? (lookUp()?.tokens?.scope ?? '') : '';
    return [...new Set(`${held} ${scope}`.split(' '))].filter((one) => one !== '').join(' ');
  }

  function scopeError(): McpxError {
    const { scope } = challenge;
    const needed = scope === undefined ? undefined : neededScope();
    const hint = `${loginCommand(name)}${needed === undefined ? '' : ` --scope "${needed}"`}`;
    const message = `server "${name}" needs more permissions${scope === undefined ? '' : ` (${scope})`}`;
    return new McpxError('auth', message, { hint, data: { signIn: name, scope: needed } satisfies SignInData });
  }
}

function isMachine({ grant }: OAuthSettings): boolean {
  return grant === 'client_credentials';
}

function isExpired({ expiresAt }: StoredTokens): boolean {
  return expiresAt !== undefined && expiresAt - LEEWAY <= Date.now();
}
