/** Signs a user in to one server: discovery, client, authorization code with PKCE, tokens. */
import * as oauth from 'oauth4webapi';
import { McpxError } from '../../errors.ts';
import { type CallbackServer, openCallbackServer } from './callback-server.ts';
import type { Challenge } from './challenge.ts';
import { checkIssuer, clientAuthentication, identifyClient, requestOptions } from './client-registration.ts';
import { type Discovered, discover } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { NetworkGuard } from './network-guard.ts';
import { describeOAuthError, type NamedServer, signInNeeded } from './oauth-errors.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { tokenResponse } from './response-body.ts';
import type { SignIn, StoredClient, StoredTokens, TokenFile } from './token-file.ts';
import { storedTokens } from './token-requests.ts';

export interface SignInRequest extends NamedServer {
  url: string;
  settings: OAuthSettings;
  /** The challenge of the server, if it has refused a request. */
  challenge: Challenge;
  tokens: Pick<TokenFile, 'find' | 'put' | 'doubt'>;
  fetch: GuardedFetch;
  /** Checks the pages that the user is sent to. */
  guard: Pick<NetworkGuard, 'checkUrl'>;
}

export interface PendingSignIn {
  /** The page on which the user signs in. */
  readonly url: string;
  /** Resolves when the user has signed in and the tokens are stored. */
  readonly done: Promise<SignIn>;
  /** Completes the sign-in with the URL to which the browser was sent, for browsers on another machine. */
  paste(redirected: string): void;
  /** Stops waiting; `done` rejects. */
  cancel(): void;
}

/** Milliseconds that a user has for the sign-in. */
const PATIENCE = 10 * 60_000;

/** Begins a sign-in in the browser. */
export async function beginSignIn(request: SignInRequest): Promise<PendingSignIn> {
  const discovered = await discover(request);
  const endpoint = checkFlow(discovered, request);
  const state = oauth.generateRandomState();
  const verifier = oauth.generateRandomCodeVerifier();
  const { settings, tokens, url, name, login, fetch } = request;
  const earlier = tokens.find(url, settings.clientId);
  checkIssuer(settings, { server: discovered.server, earlier, name });
  const registered = registeredAt(discovered, earlier);
  const known = registered?.redirectUri === undefined ? undefined : Number(new URL(registered.redirectUri).port);
  const { callbackPort } = settings;
  const callback = await openCallbackServer({ port: callbackPort ?? known, exact: callbackPort !== undefined, state });
  try {
    const { redirectUri } = callback;
    const scope = scopeOf(request, discovered);
    const client = await identifyClient({ name, login, discovered, settings, redirectUri, registered, scope, fetch });
    if (client === registered) await tokens.doubt(url, client);
    const page = await authorizationUrl({ endpoint, discovered, client, redirectUri, scope, state, verifier });
    return pending({ request, discovered, client, callback, scope, state, verifier }, page);
  } catch (error) {
    callback.close();
    throw error;
  }
}

/**
 * Returns the client of an earlier sign-in at the same authorization server, unless that server may have forgotten it: then
 * it shows an error to the user, and mcpx would wait for ever.
 */
export function registeredAt({ server }: Discovered, earlier: SignIn | undefined): StoredClient | undefined {
  return earlier?.issuer === server.issuer && earlier.client.doubtful !== true ? earlier.client : undefined;
}

interface Flow {
  request: SignInRequest;
  discovered: Discovered;
  client: StoredClient;
  callback: CallbackServer;
  scope: string | undefined;
  state: string;
  verifier: string;
}

function pending(flow: Flow, page: string): PendingSignIn {
  const { callback, request } = flow;
  const { name } = request;
  let resolvePasted: (parameters: URLSearchParams) => void = () => {};
  let stop: (error: Error) => void = () => {};
  const pasted = new Promise<URLSearchParams>((resolve, reject) => {
    resolvePasted = resolve;
    stop = reject;
  });
  const timer = setTimeout(() => stop(signInNeeded(request, 'was not signed in to in time')), PATIENCE);
  const done = Promise.race([callback.parameters, pasted])
    .then((parameters) => complete(flow, parameters))
    .finally(() => {
      clearTimeout(timer);
      callback.close();
    });
  // The caller may cancel before it waits for the result.
  done.catch(() => {});
  return {
    url: page,
    done,
    paste: (redirected) => resolvePasted(pastedParameters(redirected, flow)),
    cancel: () => stop(new McpxError('cancelled', `the sign-in to server "${name}" was cancelled`)),
  };
}

function pastedParameters(text: string, { request: { name }, state }: Flow): URLSearchParams {
  const found = URL.canParse(text.trim()) ? new URL(text.trim()).searchParams : undefined;
  const hint = 'copy the whole address that begins with http://127.0.0.1, also if the page could not be shown';
  if (found === undefined || !(found.has('code') || found.has('error')))
    throw new McpxError('usage', `this is not the address of the last page of the sign-in to "${name}"`, { hint });
  if (found.get('state') !== state)
    throw new McpxError('usage', `the address is of another sign-in to "${name}"`, { hint: 'open the page above' });
  return found;
}

/** Returns the authorization endpoint. Throws if the authorization server cannot do what MCP demands of it. */
function checkFlow({ server }: Discovered, { name, guard }: Pick<SignInRequest, 'name' | 'guard'>): URL {
  const refuse = (what: string) => {
    const hint = `tell its operator, or set "headers" of server "${name}" with a token in the config`;
    return new McpxError('auth', `the authorization server of "${name}" ${what}`, { hint });
  };
  if (server.authorization_endpoint === undefined) throw refuse('has no authorization endpoint');
  if (server.code_challenge_methods_supported?.includes('S256') !== true)
    throw refuse('does not support PKCE with S256, without which a code could be stolen');
  const endpoint = new URL(server.authorization_endpoint);
  guard.checkUrl(endpoint);
  return endpoint;
}

/** Returns the scopes of the config, else those that the server asked for, else all that the resource supports. */
export function scopeOf({ settings, challenge }: SignInRequest, { server, scopes }: Discovered): string | undefined {
  const wanted = settings.scopes ?? challenge.scope?.split(' ') ?? scopes;
  // Without this scope, some servers issue no refresh token.
  const offline = server.scopes_supported?.includes('offline_access') === true ? ['offline_access'] : [];
  const all = [...new Set([...(wanted ?? []), ...offline])];
  return all.length === 0 ? undefined : all.join(' ');
}

async function authorizationUrl(parts: {
  endpoint: URL;
  discovered: Discovered;
  client: StoredClient;
  redirectUri: string;
  scope: string | undefined;
  state: string;
  verifier: string;
}): Promise<string> {
  const { endpoint, discovered, client, redirectUri, scope, state, verifier } = parts;
  const url = new URL(endpoint);
  const parameters = {
    response_type: 'code',
    client_id: client.id,
    redirect_uri: redirectUri,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    resource: discovered.resource,
    ...(scope !== undefined && { scope }),
    // OpenID Connect ignores `offline_access` without the consent of the user.
    ...(scope?.split(' ').includes('offline_access') === true && { prompt: 'consent' }),
  };
  for (const [key, value] of Object.entries(parameters)) url.searchParams.set(key, value);
  return url.href;
}

async function complete(flow: Flow, parameters: URLSearchParams): Promise<SignIn> {
  const { discovered, client, callback, state, verifier, request } = flow;
  const { server, resource } = discovered;
  const { settings, fetch } = request;
  const known = { client_id: client.id };
  try {
    const valid = oauth.validateAuthResponse(server, known, parameters, state);
    const authentication = await clientAuthentication(client, settings.privateKey);
    const options = { ...requestOptions(fetch), additionalParameters: { resource } };
    const response = await oauth.authorizationCodeGrantRequest(
      ...([server, known, authentication, valid, callback.redirectUri, verifier, options] as const),
    );
    const answer = await oauth.processAuthorizationCodeResponse(server, known, await tokenResponse(response));
    return await store(request, discovered, client, storedTokens(answer, flow.scope));
  } catch (error) {
    const sent = [parameters.get('code') ?? '', verifier, client.secret ?? ''];
    throw describeOAuthError(error, request, 'the sign-in', sent);
  }
}

/** Stores the tokens of a completed sign-in. */
export async function store(
  { tokens }: Pick<SignInRequest, 'tokens'>,
  { server, resource }: Discovered,
  client: StoredClient,
  received: StoredTokens,
): Promise<SignIn> {
  const signIn: SignIn = {
    issuer: server.issuer,
    resource,
    client,
    tokenEndpoint: server.token_endpoint ?? '',
    ...(server.revocation_endpoint !== undefined && { revocationEndpoint: server.revocation_endpoint }),
    tokens: received,
  };
  await tokens.put(signIn);
  return signIn;
}
