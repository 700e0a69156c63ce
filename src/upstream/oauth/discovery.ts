/** Finds the authorization server of an MCP server: protected-resource metadata (RFC 9728), then RFC 8414 or OpenID. */
import type { AuthorizationServer } from 'oauth4webapi';
import { McpxError } from '../../errors.ts';
import { authorizationMetadataUrls, readJsonObject } from '../../mcp/authorization-metadata.ts';
import type { Challenge } from './challenge.ts';
import type { GuardedFetch } from './guarded-fetch.ts';
import type { OAuthSettings } from './oauth-settings.ts';
import { contains } from './token-file.ts';

export interface Discovered {
  /** The resource indicator (RFC 8707) for which tokens are requested. */
  resource: string;
  server: AuthorizationServer;
  /** The scopes that the resource supports. */
  scopes?: string[] | undefined;
  /** True if there is no metadata at all, and the endpoints are those of MCP of 2025-03-26. */
  isAssumed?: boolean;
}

export interface DiscoveryRequest {
  url: string;
  /** The name of the MCP server, for messages. */
  name: string;
  challenge: Challenge;
  settings: Pick<OAuthSettings, 'issuer'>;
  fetch: GuardedFetch;
}

export async function discover(request: DiscoveryRequest): Promise<Discovered> {
  const { url, settings } = request;
  const metadata = await readResource(request);
  const resource = metadata?.resource ?? withoutQuery(url);
  const issuers = metadata?.authorization_servers ?? [];
  if (settings.issuer !== undefined && issuers.length > 0 && !issuers.includes(settings.issuer))
    throw wrong(request, `does not name the configured issuer "${settings.issuer}"`);
  const issuer = settings.issuer ?? issuers[0];
  const known =
    issuer === undefined ? await ownAuthorizationServer(request) : await readAuthorizationServer(issuer, request);
  const server = known ?? assumedServer(new URL(url));
  checkEndpoints(server, request);
  return { resource, server, scopes: metadata?.scopes_supported, isAssumed: known === undefined };
}

interface ResourceMetadata {
  resource: string;
  authorization_servers?: string[];
  scopes_supported?: string[];
}

/** Returns the metadata at the URL of the challenge, else at the well-known URLs; undefined if there is none. */
async function readResource(request: DiscoveryRequest): Promise<ResourceMetadata | undefined> {
  const { url, challenge, fetch } = request;
  const named = challenge.resourceMetadata;
  if (named !== undefined && !URL.canParse(named)) throw wrong(request, 'names metadata at a URL that is not valid');
  const candidates = named === undefined ? wellKnown(new URL(url), 'oauth-protected-resource') : [named];
  for (const candidate of candidates) {
    const found = await readJson(candidate, fetch);
    if (typeof found !== 'string') return checkResource(found, request);
    if (named !== undefined) throw wrong(request, `names metadata that cannot be read: ${found}`);
  }
  return undefined;
}

function checkResource(found: Record<string, unknown>, request: DiscoveryRequest): ResourceMetadata {
  const { resource } = found;
  if (typeof resource !== 'string' || !contains(resource, request.url))
    throw wrong(request, `has metadata of another resource: "${String(resource).slice(0, 200)}"`);
  const { authorization_servers, scopes_supported } = withTextLists(found);
  return { resource, authorization_servers, scopes_supported } as ResourceMetadata;
}

/** Returns metadata without the lists that are no lists of texts: those are as good as absent. */
function withTextLists(found: Record<string, unknown>): Record<string, unknown> {
  const isValid = ([key, value]: [string, unknown]) =>
    !LISTS.has(key) || (Array.isArray(value) && value.every((one) => typeof one === 'string'));
  return Object.fromEntries(Object.entries(found).filter(isValid));
}

const LISTS = new Set([
  ...['authorization_servers', 'scopes_supported', 'grant_types_supported'],
  ...['token_endpoint_auth_methods_supported', 'code_challenge_methods_supported'],
]);

/** Reads the metadata of an issuer. Its own `issuer` must be the same, or another server could pose as it (RFC 8414, 3.3). */
async function readAuthorizationServer(issuer: string, request: DiscoveryRequest): Promise<AuthorizationServer> {
  if (!/^https?:$/.test(URL.canParse(issuer) ? new URL(issuer).protocol : ''))
    throw wrong(request, `names an authorization server that is not an https URL: "${issuer}"`);
  const found = await readServerMetadata(new URL(issuer), request);
  if (typeof found === 'string')
    throw wrong(request, `names the authorization server "${issuer}", which has no metadata: ${found}`);
  if (found.issuer !== issuer)
    throw wrong(request, `names the authorization server "${issuer}", which says that it is "${found.issuer}"`);
  return found;
}

/** Returns the metadata of an issuer, or the reasons for which there is none. */
async function readServerMetadata(issuer: URL, { fetch }: DiscoveryRequest): Promise<AuthorizationServer | string> {
  const failures: string[] = [];
  for (const candidate of authorizationMetadataUrls(issuer)) {
    const found = await readJson(candidate, fetch);
    if (typeof found === 'string') failures.push(found);
    else if (typeof found.issuer === 'string') return withTextLists(found) as unknown as AuthorizationServer;
    else failures.push(`"${candidate}" names no issuer`);
  }
  return failures.join('; ');
}

/** MCP of 2025-03-26 knows no resource metadata: the MCP server is its own authorization server. */
async function ownAuthorizationServer(request: DiscoveryRequest): Promise<AuthorizationServer | undefined> {
  const { origin } = new URL(request.url);
  const found = await readServerMetadata(new URL(origin), request);
  if (typeof found === 'string') return undefined;
  if (!URL.canParse(found.issuer) || new URL(found.issuer).origin !== origin)
    throw wrong(request, `has metadata of the authorization server "${found.issuer}"`);
  return found;
}

/** Returns an authorization server with the default endpoints of MCP of 2025-03-26. */
function assumedServer({ origin }: URL): AuthorizationServer {
  return {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  };
}

const ENDPOINTS = [
  ...(['authorization_endpoint', 'token_endpoint', 'registration_endpoint'] as const),
  ...(['device_authorization_endpoint', 'revocation_endpoint'] as const),
];

function checkEndpoints(server: AuthorizationServer, request: DiscoveryRequest): void {
  for (const key of ENDPOINTS) {
    const endpoint = server[key];
    if (endpoint !== undefined && !(typeof endpoint === 'string' && URL.canParse(endpoint)))
      throw wrong(request, `has an authorization server whose "${key}" is not a URL`);
  }
  if (server.token_endpoint === undefined) throw wrong(request, 'has an authorization server without a token endpoint');
}

/** Returns the well-known URLs of a resource: with its path, then at the root. */
function wellKnown({ origin, pathname }: URL, kind: string): string[] {
  const path = pathname.replace(/\/$/, '');
  const root = `${origin}/.well-known/${kind}`;
  return path === '' ? [root] : [`${root}${path}`, root];
}

/** Returns the JSON object at a URL, or the reason for which there is none. Throws if the URL must not be contacted. */
async function readJson(url: string, fetch: GuardedFetch): Promise<Record<string, unknown> | string> {
  return readJsonObject(url, await fetch(url, { headers: { accept: 'application/json' } }));
}

function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return pathname === '/' ? origin : `${origin}${pathname}`;
}

function wrong({ name }: Pick<DiscoveryRequest, 'name'>, what: string): McpxError {
  const hint = 'tell the operator of the server, or set "headers" with a token in the config';
  return new McpxError('auth', `sign-in to server "${name}" is not possible: it ${what}`, { hint });
}
