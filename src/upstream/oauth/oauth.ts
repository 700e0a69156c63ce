/** Sign-in to servers with OAuth: one store of tokens per user, one authorization per server. */
import type { Log } from '../../observe/log.ts';
import { type Authorization, type ServerAccess, staticAuthorization } from '../http/authorization.ts';
import { createHeaderPrograms } from '../http/header-program.ts';
import { createOAuthAuthorization, type OAuthAuthorization, type OAuthDeps } from './oauth-authorization.ts';
import { loginCommand } from './oauth-errors.ts';
import { readOAuthSettings } from './oauth-settings.ts';
import { createSignInWatch, type SignInWatch } from './sign-in-watch.ts';
import { createTokenFile, type TokenFile } from './token-file.ts';

export { fetchClientDocument } from './client-document-fetch.ts';
export { createIssuerFetch } from './issuer-fetch.ts';
export type { PendingSignIn } from './sign-in.ts';

export interface OAuth {
  readonly tokens: TokenFile;
  /** Returns the credentials of a server; configured ones win over a sign-in. */
  authorization(server: ServerAccess): Authorization;
  /** Returns the sign-in of a server, whatever its configured headers are. */
  signInOf(server: ServerAccess): OAuthAuthorization;
  /**
   * Returns the command that signs in to a server that has OAuth settings, or had a sign-in, and now has none. It asks
   * nobody, so a server that was never contacted has none.
   */
  neededCommand(server: ServerAccess): string | undefined;
  /** Calls the listener with the name of each server that the user has signed in to after it was refused. */
  onSignIn: SignInWatch['onSignIn'];
  stop(): void;
}

export interface OAuthOptions {
  /** The file with the tokens. */
  file: string;
  log: Pick<Log, 'warn' | 'debug'>;
  /** The options with which commands find the config. */
  options?: readonly string[];
}

export function createOAuth({ file, log, options = [] }: OAuthOptions): OAuth {
  const tokens = createTokenFile(file, log);
  const watch = createSignInWatch();
  const deps: OAuthDeps = { tokens, log, options, renewals: new Map(), timers: new Map(), watch };
  const helped = createHeaderPrograms();
  const signInOf = (server: ServerAccess) => createOAuthAuthorization(server, deps);
  return {
    tokens,
    signInOf,
    authorization(server) {
      const { helper, headers, name } = server;
      if (helper !== undefined) return helped({ ...server, helper });
      return hasCredentials(server) ? staticAuthorization(headers, name) : signInOf(server);
    },
    neededCommand(server) {
      const { clientId, grant } = readOAuthSettings(server.oauth ?? {}, server.name);
      if (hasCredentials(server) || server.helper !== undefined || grant === 'client_credentials') return undefined;
      const signIn = tokens.find(server.url, clientId);
      const isKnown = server.oauth !== undefined || signIn !== undefined;
      return isKnown && signIn?.tokens === undefined ? loginCommand(server.name, options) : undefined;
    },
    onSignIn: watch.onSignIn,
    stop() {
      watch.stop();
      for (const timer of deps.timers.values()) clearTimeout(timer);
      deps.timers.clear();
    },
  };
}

function hasCredentials({ headers }: ServerAccess): boolean {
  return Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
}
