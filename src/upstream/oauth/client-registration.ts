/** Decides how mcpx identifies itself to an authorization server: configured id, metadata document, else registration. */
import * as oauth from 'oauth4webapi';
import { McpxError } from '../../errors.ts';
import type { Discovered } from './discovery.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import { describeOAuthError, type NamedServer } from './oauth-errors.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { bodyOf } from './response-body.ts';
import type { SignIn, StoredClient } from './token-file.ts';

export interface IdentifyRequest extends NamedServer {
  discovered: Discovered;
  settings: OAuthSettings;
  redirectUri: string;
  /** A client that mcpx registered before. */
  registered?: StoredClient | undefined;
  scope?: string | undefined;
  fetch: GuardedFetch;
}

export async function identifyClient(request: IdentifyRequest): Promise<StoredClient> {
  const { settings, discovered, redirectUri, registered, scope } = request;
  const configured = configuredClient(settings, discovered.server);
  if (configured !== undefined) return configured;
  const { clientMetadataUrl } = settings;
  if (clientMetadataUrl !== undefined && discovered.server.client_id_metadata_document_supported === true)
    return { id: clientMetadataUrl, auth: 'none' };
  if (registered?.registered === true && registered.redirectUri === redirectUri && isWithin(scope, registered.scope))
    return registered;
  return register(request);
}

/** True if a client that was registered for some scopes may request these; without scopes it may request any. */
function isWithin(scope: string | undefined, registered: string | undefined): boolean {
  if (registered === undefined || scope === undefined) return true;
  const known = registered.split(' ');
  return scope.split(' ').every((one) => known.includes(one));
}

/** Returns the client of the config; undefined if it has no client id. */
export function configuredClient(
  { clientId: id, clientSecret: secret, privateKey }: OAuthSettings,
  server: oauth.AuthorizationServer,
): StoredClient | undefined {
  if (id === undefined) return undefined;
  if (privateKey !== undefined) return { id, auth: 'private_key_jwt' };
  return secret === undefined ? { id, auth: 'none' } : { id, secret, auth: secretMethod(server) };
}

/**
 * Throws if the client of the config was used at another authorization server before: a server that names a new one must not
 * get the client's secret for it. A configured issuer decides which one is right.
 */
export function checkIssuer(
  { clientId, issuer }: OAuthSettings,
  { server, earlier, name }: { server: oauth.AuthorizationServer; earlier: SignIn | undefined; name: string },
): void {
  if (clientId === undefined || issuer !== undefined) return;
  if (earlier === undefined || earlier.issuer === server.issuer) return;
  const message = `server "${name}" names another authorization server now: "${server.issuer}" instead of "${earlier.issuer}"`;
  const hint = `if that is right, set "issuer" beside "clientId" in "oauth" of server "${name}"; else tell its operator`;
  throw new McpxError('auth', message, { hint });
}

/** `client_secret_basic` is the default of RFC 8414. */
function secretMethod({ token_endpoint_auth_methods_supported: methods }: oauth.AuthorizationServer) {
  const post = methods?.includes('client_secret_post') === true && !methods.includes('client_secret_basic');
  return post ? 'client_secret_post' : 'client_secret_basic';
}

async function register({
  name,
  login,
  discovered,
  redirectUri,
  scope,
  fetch,
}: IdentifyRequest): Promise<StoredClient> {
  const { server } = discovered;
  if (server.registration_endpoint === undefined) {
    const message = `the authorization server of "${name}" does not register clients`;
    const hint = `register a client there with the redirect URI http://127.0.0.1/callback, and set "oauth": {"clientId": "…"} of server "${name}"`;
    throw new McpxError('auth', message, { hint });
  }
  const methods = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic'];
  const method = (['none', 'client_secret_basic', 'client_secret_post'] as const).find((one) => methods.includes(one));
  const grants = ['authorization_code', 'refresh_token', DEVICE_GRANT];
  const supported = server.grant_types_supported ?? grants.slice(0, 2);
  const metadata = {
    client_name: 'mcpx',
    redirect_uris: [redirectUri],
    grant_types: grants.filter((grant) => supported.includes(grant)),
    response_types: ['code'],
    application_type: 'native',
    token_endpoint_auth_method: method ?? 'none',
    ...(scope !== undefined && { scope }),
  };
  try {
    const response = await oauth.dynamicClientRegistrationRequest(server, metadata, requestOptions(fetch));
    const client = await oauth.processDynamicClientRegistrationResponse(await withSecretExpiry(response));
    const secret = typeof client.client_secret === 'string' ? { secret: client.client_secret } : {};
    const auth = authMethod(client.token_endpoint_auth_method, method ?? 'none');
    const scopes = scope === undefined ? {} : { scope };
    return { id: client.client_id, ...secret, auth, registered: true, redirectUri, ...scopes };
  } catch (error) {
    if (discovered.isAssumed) throw withoutOAuth(name, error);
    throw describeOAuthError(error, { name, login }, 'the registration at the authorization server');
  }
}

/** Returns the error for a server that has neither metadata nor the endpoints that it would then have. */
function withoutOAuth(name: string, cause: unknown): McpxError {
  const message = `server "${name}" has no OAuth: it names no authorization server`;
  const hint = `if it takes a token, set "headers" of server "${name}" in the config, such as {"Authorization": "Bearer \${TOKEN}"}`;
  return new McpxError('auth', message, { hint, cause });
}

/** Some servers leave out the expiry of the secret, which RFC 7591 requires; 0 means that it does not expire. */
async function withSecretExpiry(response: Response): Promise<Response> {
  const body = await bodyOf(response);
  if (body?.client_secret === undefined || 'client_secret_expires_at' in body) return response;
  const completed = JSON.stringify({ ...body, client_secret_expires_at: 0 });
  return new Response(completed, { status: response.status, headers: response.headers });
}

/** The device grant of RFC 8628. */
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

function authMethod(given: unknown, requested: StoredClient['auth']): StoredClient['auth'] {
  return given === 'none' || given === 'client_secret_basic' || given === 'client_secret_post' ? given : requested;
}

/** Returns how the client proves its identity at the token endpoint. */
export async function clientAuthentication(client: StoredClient, privateKey?: string): Promise<oauth.ClientAuth> {
  const { auth, secret = '' } = client;
  if (auth === 'client_secret_basic') return basic(secret);
  if (auth === 'client_secret_post') return oauth.ClientSecretPost(secret);
  if (auth === 'private_key_jwt') return oauth.PrivateKeyJwt(await importKey(privateKey ?? ''));
  return oauth.None();
}

/**
 * Like `ClientSecretBasic` of the library, which also encodes characters that need no encoding, such as `-`: servers that
 * do not decode the value, as RFC 6749 demands, would refuse the client.
 */
function basic(secret: string): oauth.ClientAuth {
  return (_server, { client_id: id }, _body, headers) => {
    const credentials = Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`);
    headers.set('authorization', `Basic ${credentials.toString('base64')}`);
  };
}

/** Imports a PKCS #8 key in PEM; the algorithm follows the kind of key. */
async function importKey(pem: string): Promise<oauth.CryptoKey> {
  const { createPrivateKey } = await import('node:crypto');
  try {
    const key = createPrivateKey(pem);
    const der = key.export({ type: 'pkcs8', format: 'der' });
    const algorithm =
      key.asymmetricKeyType === 'ec'
        ? { name: 'ECDSA', namedCurve: CURVES[key.asymmetricKeyDetails?.namedCurve ?? ''] ?? 'P-256' }
        : key.asymmetricKeyType === 'ed25519'
          ? { name: 'Ed25519' }
          : { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    return await crypto.subtle.importKey('pkcs8', der, algorithm, false, ['sign']);
  } catch {
    throw new McpxError('config', '"oauth.privateKey" is not a private key in PEM', {
      hint: 'use "${file:/path/to/key.pem}" with an EC, Ed25519 or RSA key',
    });
  }
}

const CURVES: Record<string, string> = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' };

/** Options of every request to the authorization server. The guarded fetch decides which plain http URLs are allowed. */
export function requestOptions(fetch: GuardedFetch) {
  return {
    [oauth.customFetch]: fetch as unknown as typeof globalThis.fetch,
    [oauth.allowInsecureRequests]: true,
  };
}
