/** The credentials of one server with sign-in: the access token of this user, renewed when it expires or is refused. */
import type { OutgoingHttpHeaders } from 'node:http';
import { McpxError, type SignInData } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { type Authorization, type AuthRefusal, type ServerAccess, staticAuthorization } from '../http/authorization.ts';
import { type Challenge, parseChallenge } from './challenge.ts';
import type { DeviceSignIn } from './device-sign-in.ts';
import { createGuardedFetch, type GuardedFetch } from './guarded-fetch.ts';
import { createNetworkGuard, type NetworkGuard } from './network-guard.ts';
import { describeOAuthError, loginCommand, type NamedServer, signInNeeded } from './oauth-errors.ts';
import { type OAuthSettings, readOAuthSettings } from './oauth-settings.ts';
import { isMachine, RenewalSchedule, type Renewals } from './renewal-schedule.ts';
import type { PendingSignIn, SignInRequest } from './sign-in.ts';
import type { SignInWatch } from './sign-in-watch.ts';
import { createStoredSignIn, type StoredSignIn } from './stored-sign-in.ts';
import type { SignIn, StoredTokens, TokenFile } from './token-file.ts';

export interface OAuthDeps extends Renewals {
  tokens: TokenFile;
  log: Pick<Log, 'warn' | 'debug'>;
  /** The options with which commands find the config. */
  options: readonly string[];
  watch: Pick<SignInWatch, 'wait'>;
}

/** Milliseconds before the expiry at which a token counts as expired: a request takes time. */
const LEEWAY = 10_000;

export interface OAuthAuthorization extends Authorization {
  /** Begins a sign-in in the browser, with the scopes that the server asked for last. */
  beginSignIn(): Promise<PendingSignIn>;
  /** Begins a sign-in with a code that the user enters on another device. */
  beginDeviceSignIn(signal: AbortSignal): Promise<DeviceSignIn>;
  /** Deletes the tokens and revokes them; returns the error if they could not be revoked. */
  signOut(): Promise<'none' | 'revoked' | Error>;
}

export function createOAuthAuthorization(server: ServerAccess, deps: OAuthDeps): OAuthAuthorization {
  return new UserAuthorization(server, deps);
}

class UserAuthorization implements OAuthAuthorization {
  readonly #server: ServerAccess;
  readonly #deps: OAuthDeps;
  readonly #named: NamedServer;
  readonly #settings: OAuthSettings;
  /** The configured headers, which are sent with and without a token. */
  readonly #fixed: Authorization;
  readonly #plain: OutgoingHttpHeaders;
  readonly #guard: NetworkGuard;
  readonly #fetch: GuardedFetch;
  readonly #stored: StoredSignIn;
  readonly #schedule: RenewalSchedule;
  /** The headers with the last access token, so that a request creates no object. */
  #merged: { access: string; headers: OutgoingHttpHeaders } | undefined;
  /** The challenge, the access token and the failed renewal of the last refused request. */
  #challenge: Challenge = {};
  #refusedToken: string | undefined;
  #failure: McpxError | undefined;

  constructor(server: ServerAccess, deps: OAuthDeps) {
    const { name, url, headers, oauth = {} } = server;
    const { tokens, log, renewals, timers } = deps;
    this.#server = server;
    this.#deps = deps;
    this.#settings = readOAuthSettings(oauth, name);
    this.#fixed = staticAuthorization(headers, name);
    this.#plain = this.#fixed.headers() as OutgoingHttpHeaders;
    this.#guard = createNetworkGuard(url, name);
    this.#fetch = createGuardedFetch({ guard: this.#guard, name });
    this.#stored = createStoredSignIn(tokens, { url, clientId: this.#settings.clientId });
    this.#named = { name, login: loginCommand(name, deps.options) };
    const request = { ...this.#named, url, settings: this.#settings, tokens, fetch: this.#fetch, log };
    this.#schedule = new RenewalSchedule({ request, stored: this.#stored, renewals, timers, log });
  }

  headers(): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders> {
    const signIn = this.#stored.recent();
    const held = signIn?.tokens;
    const canRenew = held?.refresh !== undefined || isMachine(this.#settings);
    if (held === undefined && !canRenew) return this.#plain;
    if (signIn !== undefined && held !== undefined && !isExpired(held)) {
      this.#schedule.renewAhead(signIn);
      return this.#withToken(held);
    }
    if (held !== undefined && !canRenew) return this.#withToken(held);
    return this.#schedule.renew(signIn).then(
      (fresh) => this.#withToken(fresh.tokens as StoredTokens),
      (error) => {
        this.#waitForSignIn(held?.access);
        throw error;
      },
    );
  }

  async refused({ status, challenge, sent }: AuthRefusal): Promise<boolean> {
    this.#challenge = parseChallenge(challenge);
    this.#refusedToken = String(sent.authorization ?? '').replace('Bearer ', '') || undefined;
    this.#failure = undefined;
    this.#stored.forget();
    const signIn = this.#stored.recent();
    const held = signIn?.tokens;
    // The user has signed in since, perhaps with more scopes.
    if (held !== undefined && sent.authorization !== `Bearer ${held.access}`) return true;
    if (status !== 401) return false;
    if (held?.refresh === undefined && !isMachine(this.#settings)) return false;
    try {
      await this.#schedule.renew(signIn);
      return true;
    } catch (error) {
      if (!(error instanceof McpxError)) throw error;
      this.#failure = error;
      return false;
    }
  }

  error(status: number): McpxError {
    if (status === 401) this.#waitForSignIn(this.#refusedToken);
    if (this.#failure !== undefined) return this.#failure;
    if (status === 401) return signInError(this.#named, this.#stored.recent());
    if (this.#challenge.error === 'insufficient_scope') return this.#scopeError();
    return this.#fixed.error(status);
  }

  secrets(): readonly string[] {
    const { access, refresh } = this.#stored.recent()?.tokens ?? {};
    return [access, refresh].filter((one) => one !== undefined);
  }

  async beginSignIn(): Promise<PendingSignIn> {
    const { beginSignIn } = await import('./sign-in.ts');
    return beginSignIn(await this.#signInRequest());
  }

  async beginDeviceSignIn(signal: AbortSignal): Promise<DeviceSignIn> {
    const { beginDeviceSignIn } = await import('./device-sign-in.ts');
    return beginDeviceSignIn(await this.#signInRequest(), signal);
  }

  async signOut(): Promise<'none' | 'revoked' | Error> {
    const signIn = this.#stored.read();
    this.#stored.forget();
    if (signIn === undefined) return 'none';
    const { revokeTokens } = await import('./token-requests.ts');
    await this.#deps.tokens.remove(signIn);
    return revokeTokens({ signIn, settings: this.#settings, fetch: this.#fetch }).then(
      () => 'revoked' as const,
      (error: unknown) => describeOAuthError(error, this.#named, 'the revocation'),
    );
  }

  #withToken({ access }: StoredTokens): OutgoingHttpHeaders {
    if (this.#merged?.access !== access)
      this.#merged = { access, headers: { ...this.#plain, authorization: `Bearer ${access}` } };
    return this.#merged.headers;
  }

  /** The challenge names the metadata and the scopes, so a server that has not refused a request yet is asked. */
  async #signInRequest(): Promise<SignInRequest> {
    const { url } = this.#server;
    if (Object.keys(this.#challenge).length === 0) {
      const { probeChallenge } = await import('./probe-challenge.ts');
      this.#challenge = await probeChallenge(this.#server, this.#fixed);
    }
    const scope = this.#neededScope();
    const challenge = { ...this.#challenge, ...(scope !== '' && { scope }) };
    const [settings, fetch, guard] = [this.#settings, this.#fetch, this.#guard];
    return { ...this.#named, url, settings, challenge, tokens: this.#deps.tokens, fetch, guard };
  }

  #waitForSignIn(refused: string | undefined): void {
    const { name, url } = this.#server;
    this.#deps.watch.wait({ name, url, refused, current: () => this.#stored.read()?.tokens?.access });
  }

  /** Returns the scopes that the server asked for; after a sign-in with too few scopes, those that it had are kept. */
  #neededScope(): string {
    const { scope = '', error } = this.#challenge;
    const held = error === 'insufficient_scope' ? (this.#stored.read()?.tokens?.scope ?? '') : '';
    return [...new Set(`${held} ${scope}`.split(' '))].filter((one) => one !== '').join(' ');
  }

  #scopeError(): McpxError {
    const { name } = this.#server;
    const { scope } = this.#challenge;
    const needed = scope === undefined ? undefined : this.#neededScope();
    const hint = `${this.#named.login}${needed === undefined ? '' : ` --scope "${needed}"`}`;
    const message = `server "${name}" needs more permissions${scope === undefined ? '' : ` (${scope})`}`;
    return new McpxError('auth', message, { hint, data: { signIn: name, scope: needed } satisfies SignInData });
  }
}

function signInError(named: NamedServer, signIn: SignIn | undefined): McpxError {
  if (signIn?.ended !== undefined) return signInNeeded(named, `needs a new sign-in: ${signIn.ended}`);
  return signInNeeded(named, signIn?.tokens === undefined ? undefined : 'no longer accepts the sign-in');
}

function isExpired({ expiresAt }: StoredTokens): boolean {
  return expiresAt !== undefined && expiresAt - LEEWAY <= Date.now();
}
