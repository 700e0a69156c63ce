/** Requests to the token endpoint: refresh, client credentials, revocation. */
import * as oauth from 'oauth4webapi';
import { clientAuthentication, requestOptions } from './client-registration.ts';
import type { Discovered } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { tokenResponse } from './response-body.ts';
import type { SignIn, StoredClient, StoredTokens } from './token-file.ts';

export interface TokenRequest {
  signIn: SignIn;
  settings: OAuthSettings;
  fetch: GuardedFetch;
}

/** Exchanges the refresh token; the answer may have a new one, and then the old one must not be used again. */
export async function refreshTokens({ signIn, settings, fetch }: TokenRequest): Promise<StoredTokens> {
  const server = serverOf(signIn);
  const client = { client_id: signIn.client.id };
  const authentication = await clientAuthentication(signIn.client, settings.privateKey);
  const refresh = signIn.tokens?.refresh ?? '';
  const options = { ...requestOptions(fetch), additionalParameters: { resource: signIn.resource } };
  const response = await oauth.refreshTokenGrantRequest(server, client, authentication, refresh, options);
  const answer = await oauth.processRefreshTokenResponse(server, client, await tokenResponse(response));
  return { refresh, ...storedTokens(answer, signIn.tokens?.scope) };
}

/** Gets a token for mcpx itself, without a user. */
export async function clientCredentials(request: {
  discovered: Discovered;
  client: StoredClient;
  settings: OAuthSettings;
  fetch: GuardedFetch;
}): Promise<StoredTokens> {
  const { discovered, client, settings, fetch } = request;
  const { server, resource } = discovered;
  const authentication = await clientAuthentication(client, settings.privateKey);
  const scope = settings.scopes?.join(' ');
  const parameters = { resource, ...(scope !== undefined && { scope }) };
  const known = { client_id: client.id };
  const options = requestOptions(fetch);
  const response = await oauth.clientCredentialsGrantRequest(server, known, authentication, parameters, options);
  const answer = await oauth.processClientCredentialsResponse(server, known, await tokenResponse(response));
  return storedTokens(answer, scope);
}

/** Revokes the refresh token, or the access token if there is no other (RFC 7009). */
export async function revokeTokens({ signIn, settings, fetch }: TokenRequest): Promise<void> {
  const token = signIn.tokens?.refresh ?? signIn.tokens?.access;
  if (token === undefined || signIn.revocationEndpoint === undefined) return;
  const authentication = await clientAuthentication(signIn.client, settings.privateKey);
  const client = { client_id: signIn.client.id };
  const response = await oauth.revocationRequest(
    serverOf(signIn),
    client,
    authentication,
    token,
    requestOptions(fetch),
  );
  await oauth.processRevocationResponse(response);
}

/** Seconds of the longest life of a token, so that its end is a valid date: ten years. */
const MAX_SECONDS = 10 * 365 * 86_400;

/** Returns the tokens of an answer as they are stored; a server that names no scope granted the requested one. */
export function storedTokens(answer: oauth.TokenEndpointResponse, requested: string | undefined): StoredTokens {
  const { access_token: access, refresh_token: refresh, expires_in: seconds, scope = requested } = answer;
  if (answer.token_type.toLowerCase() !== 'bearer') throw new Error('the access token is not a Bearer token');
  if (!/^[\x21-\x7e]+$/.test(access)) throw new Error('the access token has characters that no header can hold');
  return {
    access,
    ...(refresh !== undefined && { refresh }),
    ...(seconds !== undefined && { expiresAt: Date.now() + Math.min(seconds, MAX_SECONDS) * 1000 }),
    ...(scope !== undefined && { scope }),
  };
}

function serverOf({ issuer, tokenEndpoint, revocationEndpoint }: SignIn): oauth.AuthorizationServer {
  return {
    issuer,
    token_endpoint: tokenEndpoint,
    ...(revocationEndpoint !== undefined && { revocation_endpoint: revocationEndpoint }),
  };
}
