/** Renews the tokens of a sign-in: once per machine at a time, because a rotated refresh token may be used only once. */
import type { Log } from '../../observe/log.ts';
import { checkIssuer, configuredClient } from './client-registration.ts';
import { discover } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import {
  describeOAuthError,
  endsGrantOnly,
  endsSignIn,
  type NamedServer,
  oauthErrorCode,
  signInNeeded,
} from './oauth-errors.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { store } from './sign-in.ts';
import type { SignIn, TokenFile } from './token-file.ts';
import { clientCredentials, refreshTokens } from './token-requests.ts';

export interface RenewRequest extends NamedServer {
  url: string;
  settings: OAuthSettings;
  tokens: TokenFile;
  fetch: GuardedFetch;
  log: Pick<Log, 'warn'>;
  /** The access token that was refused or has expired; any other one in the file is newer. */
  stale: string | undefined;
}

/** Returns a sign-in with other tokens than the stale ones. Throws McpxError with the command that signs in again. */
export async function renewTokens(request: RenewRequest, signIn: SignIn): Promise<SignIn> {
  const { tokens } = request;
  return tokens.exclusive(signIn, async () => {
    // Another process may have renewed them while this one waited for the lock.
    const current = findAgain(request) ?? signIn;
    if (current.tokens === undefined) throw signInNeeded(request);
    if (current.tokens.access !== request.stale) return current;
    if (current.tokens.refresh === undefined)
      throw signInNeeded(request, 'needs a new sign-in: the old one has expired');
    return refresh(request, current);
  });
}

async function refresh(request: RenewRequest, current: SignIn): Promise<SignIn> {
  const { name, settings, tokens, fetch, log } = request;
  try {
    const renewed = { ...current, tokens: await refreshTokens({ signIn: current, settings, fetch }) };
    await tokens.put(renewed);
    return renewed;
  } catch (error) {
    const { refresh = '' } = current.tokens ?? {};
    const sent = [refresh, current.client.secret ?? ''];
    if (!endsSignIn(error)) throw describeOAuthError(error, request, 'the renewal of the sign-in', sent);
    const code = oauthErrorCode(error);
    const ended = `the authorization server refused to renew it: ${code}`;
    const { tokens: _, ...rest } = current;
    const client = endsGrantOnly(error) ? rest.client : { ...rest.client, doubtful: true };
    await tokens.put({ ...rest, client, ended });
    log.warn(`the sign-in to server "${name}" has ended (${ended}); run ${request.login}`);
    throw signInNeeded(request, `needs a new sign-in: ${ended}`);
  }
}

/** Gets a token for mcpx itself (`client_credentials`), unless another process has just stored one. */
export async function obtainToken(request: RenewRequest): Promise<SignIn> {
  const { name, url, settings, tokens, fetch } = request;
  try {
    const discovered = await discover({ url, name, challenge: {}, settings, fetch });
    checkIssuer(settings, { server: discovered.server, earlier: findAgain(request), name });
    const client = configuredClient(settings, discovered.server) ?? { id: '', auth: 'none' as const };
    const { server, resource } = discovered;
    const key = { issuer: server.issuer, resource, client, tokenEndpoint: server.token_endpoint ?? '' };
    return await tokens.exclusive(key, async () => {
      const current = findAgain(request);
      if (current?.tokens !== undefined && current.tokens.access !== request.stale) return current;
      const received = await clientCredentials({ discovered, client, settings, fetch });
      return store({ tokens }, discovered, client, received);
    });
  } catch (error) {
    throw describeOAuthError(error, request, 'the sign-in with client credentials');
  }
}

function findAgain({ tokens, url, settings }: RenewRequest): SignIn | undefined {
  return tokens.find(url, settings.clientId);
}
