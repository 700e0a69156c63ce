/** Checks an authorization request. https://www.ietf.org/archive/id/draft-ietf-oauth-v2-1-13.html#section-4.1.1 */
import { type ClientDocuments, type DocumentRequest, isDocumentUrl } from './client-documents.ts';
import type { Registrations } from './dynamic-registration.ts';
import { type Parameters, required } from './oauth-exchange.ts';
import { OAuthProblem } from './oauth-problem.ts';
import { isRegisteredUri } from './redirect-uris.ts';
import { requestedResource } from './requested-resource.ts';

/** A client that may ask, and the redirect URI to which even errors may be sent. */
export interface AskingClient {
  id: string;
  name: string;
  /** The host of the document about the client; absent if the client registered itself. */
  documentHost?: string;
  redirectUri: string;
  state: string | undefined;
}

/** A valid request, on which the user decides. */
export interface AuthorizationRequest {
  client: AskingClient;
  challenge: string;
  resource: string;
  /** The profile in the resource; null for the gateway as a whole. */
  profile: string | null;
  /** The scopes that may be profiles; empty for the profile of the resource. */
  scopes: string[];
}

export interface ClientLookup {
  documents: ClientDocuments;
  registrations: Pick<Registrations, 'find'>;
}

/** Scopes of OpenID Connect, which some clients always send. */
const NO_PROFILES = new Set(['openid', 'profile', 'email', 'offline_access']);
const MAX_STATE = 2048;
const MAX_SCOPES = 50;

/** Finds the client and checks the redirect URI; throws if nothing may be sent to that URI. */
export async function findAskingClient(
  parameters: Parameters,
  { documents, registrations }: ClientLookup,
  from: DocumentRequest,
): Promise<AskingClient> {
  const id = required(parameters, 'client_id');
  const isUrl = isDocumentUrl(id);
  const client = isUrl ? await documents.find(id, from) : registrations.find(id);
  if (client === undefined)
    throw new OAuthProblem(
      'invalid_client',
      'this client is not registered here: remove the server there and add it again',
    );
  const { name, redirectUris } = client;
  const [only] = redirectUris.length === 1 ? redirectUris : [];
  const redirectUri = parameters.get('redirect_uri') ?? only;
  if (redirectUri === undefined || !isRegisteredUri(redirectUris, redirectUri))
    throw new OAuthProblem('invalid_redirect_uri', 'the redirect URI is not one of this client');
  const documentHost = isUrl ? { documentHost: new URL(id).host } : {};
  return { id, name, ...documentHost, redirectUri, state: stateOf(parameters) };
}

function stateOf(parameters: Parameters): string | undefined {
  const state = parameters.get('state');
  if (state !== undefined && state.length > MAX_STATE)
    throw new OAuthProblem('invalid_request', `the state has more than ${MAX_STATE} characters`);
  return state;
}

/** Checks the rest of the request; its errors go to the redirect URI. */
export function checkRequest(parameters: Parameters, client: AskingClient, base: string): AuthorizationRequest {
  refuseUnsupported(parameters);
  if (required(parameters, 'response_type') !== 'code')
    throw new OAuthProblem('unsupported_response_type', 'only the response type "code" is supported');
  const challenge = required(parameters, 'code_challenge');
  if (parameters.get('code_challenge_method') !== 'S256')
    throw new OAuthProblem('invalid_request', 'the code_challenge_method must be S256');
  if (!/^[A-Za-z0-9_-]{43}$/.test(challenge))
    throw new OAuthProblem('invalid_request', 'the code_challenge must be a SHA-256 in base64url');
  const resource = requestedResource(parameters.get('resource') ?? `${base}/mcp`, base);
  if (resource === undefined)
    throw new OAuthProblem('invalid_target', `the resource must be a URL of this gateway, such as ${base}/mcp`);
  const scopes = scopesIn(parameters).filter((scope) => !NO_PROFILES.has(scope));
  return { client, challenge, resource: resource.url, profile: resource.profile ?? null, scopes };
}

/** Returns the scopes of a request, each once. */
export function scopesIn(parameters: Parameters): string[] {
  const scopes = [...new Set((parameters.get('scope') ?? '').split(' ').filter((scope) => scope !== ''))];
  const isValid =
    scopes.length <= MAX_SCOPES && scopes.every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]{1,300}$/.test(scope));
  if (!isValid) throw new OAuthProblem('invalid_scope', 'the scope is not a list of scopes, separated by spaces');
  return scopes;
}

function refuseUnsupported(parameters: Parameters): void {
  if (parameters.has('request')) throw new OAuthProblem('request_not_supported', 'request objects are not supported');
  if (parameters.has('request_uri'))
    throw new OAuthProblem('request_uri_not_supported', 'request objects are not supported');
  if ((parameters.get('response_mode') ?? 'query') !== 'query')
    throw new OAuthProblem('invalid_request', 'only the response mode "query" is supported');
  if (parameters.get('prompt')?.split(' ').includes('none'))
    throw new OAuthProblem('login_required', 'the user has to agree on a page');
}
