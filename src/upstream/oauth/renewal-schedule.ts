/** Decides when the tokens of a server are renewed: once at a time in this process, and ahead of their expiry. */
import { messageOf } from '../../errors.ts';
import { LONGEST_TIMER } from '../../event-loop.ts';
import type { Log } from '../../observe/log.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import type { StoredSignIn } from './stored-sign-in.ts';
import { keyOf, type SignIn } from './token-file.ts';
import type { RenewRequest } from './token-renewal.ts';

/** Milliseconds before the expiry at which a used token is renewed, so that no call waits for it; at most half of its time. */
const AHEAD = 60_000;

/** The renewals of all servers. */
export interface Renewals {
  /** The renewals under way in this process, by the key of the sign-in. */
  renewals: Map<string, Promise<SignIn>>;
  /** The timers that renew tokens ahead of their expiry, by the key of the sign-in. */
  timers: Map<string, NodeJS.Timeout>;
}

export interface RenewalScheduleDeps extends Renewals {
  request: Omit<RenewRequest, 'stale'>;
  stored: StoredSignIn;
  log: Pick<Log, 'debug'>;
}

export class RenewalSchedule {
  readonly #deps: RenewalScheduleDeps;

  constructor(deps: RenewalScheduleDeps) {
    this.#deps = deps;
  }

  /** Renews the tokens, or waits for the renewal under way; the lock of the file does the same between processes. */
  renew(signIn: SignIn | undefined): Promise<SignIn> {
    const { request, renewals, stored } = this.#deps;
    const key = signIn === undefined ? JSON.stringify([request.url, request.settings.clientId]) : keyOf(signIn);
    const running = renewals.get(key);
    if (running !== undefined) return running;
    const work = this.#renewNow(signIn).finally(() => {
      renewals.delete(key);
      stored.forget();
    });
    renewals.set(key, work);
    return work;
  }

  /** Sets the timer of a sign-in that is in use, unless it has one. */
  renewAhead(signIn: SignIn): void {
    const { timers } = this.#deps;
    const { expiresAt, refresh } = signIn.tokens ?? {};
    const key = keyOf(signIn);
    if (expiresAt === undefined || refresh === undefined || timers.has(key)) return;
    const left = expiresAt - Date.now();
    const delay = Math.min(Math.max(left - AHEAD, left / 2), LONGEST_TIMER);
    const timer = setTimeout(() => {
      timers.delete(key);
      this.#renewIfUnchanged(signIn);
    }, delay);
    timers.set(key, timer.unref());
  }

  /** Another process may have renewed the tokens meanwhile, or the user may have signed out. */
  #renewIfUnchanged(signIn: SignIn): void {
    const { request, stored, log } = this.#deps;
    const current = stored.read();
    if (current === undefined || current.tokens?.access !== signIn.tokens?.access) return;
    this.renew(current).catch((error) => log.debug(`server "${request.name}": ${messageOf(error)}`));
  }

  async #renewNow(signIn: SignIn | undefined): Promise<SignIn> {
    const { obtainToken, renewTokens } = await import('./token-renewal.ts');
    const request = { ...this.#deps.request, stale: signIn?.tokens?.access };
    return isMachine(request.settings) || signIn === undefined ? obtainToken(request) : renewTokens(request, signIn);
  }
}

/** Returns true if mcpx signs in by itself, without a user. */
export function isMachine({ grant }: OAuthSettings): boolean {
  return grant === 'client_credentials';
}
