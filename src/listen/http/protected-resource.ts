/** The gateway as a protected resource of OAuth: metadata (RFC 9728), challenges, and the addresses under which it may be. */
import type { IncomingMessage } from 'node:http';
import type { Settings } from '../../config/config.ts';
import type { GatewayOAuth } from '../../config/gateway-oauth.ts';
import type { TokenRefusal } from '../../policy/access-tokens.ts';
import type { Gateway } from '../app-api.ts';
import { sendJson } from './http-response.ts';
import type { Serve } from './route.ts';

/** The beginning of the paths of the metadata; the path of the resource follows. */
export const RESOURCE_METADATA = '/.well-known/oauth-protected-resource';

export function hasOAuth({ auth }: Pick<Settings['http'], 'auth'>): boolean {
  return auth.oauth.mode !== 'off';
}

/** Returns the settings with the host of the public URL as a further name for Host. */
export function withOwnHost(settings: Settings['http']): Settings['http'] {
  const { mode, url } = settings.auth.oauth;
  if (mode === 'off' || url === null) return settings;
  return { ...settings, hosts: [...settings.hosts, new URL(url).host] };
}

/** Returns the URL under which the client reaches the gateway; the Host of a request is checked before. */
export function gatewayUrl({ url }: Pick<GatewayOAuth, 'url'>, request: Pick<IncomingMessage, 'headers'>): string {
  return url ?? `http://${request.headers.host ?? ''}`;
}

/** Returns the authorization servers that issue access tokens for the gateway. */
function authorizationServers({ mode, issuer }: GatewayOAuth, gateway: string): string[] {
  return mode === 'issuer' && issuer !== null ? [issuer] : [gateway];
}

interface Endpoint {
  path: string;
  /** The profile in the path; undefined for the main profile. */
  profile?: string | undefined;
}

const ENDPOINTS = /^(?:\/(?:mcp|sse)(?:\/([^/]+))?|\/api\/([^/]+)\/mcp)\/?$/;

/** Returns the MCP endpoint of a path, whether or not its profile exists. */
export function endpointOf(path: string): Endpoint | undefined {
  const found = ENDPOINTS.exec(path);
  if (found === null) return undefined;
  const profile = found[1] ?? found[2];
  return { path: path.replace(/\/$/, ''), ...(profile && { profile: decoded(profile) }) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Returns the scope that allows a profile; undefined if no scope does. */
export function profileScope({ profileScope, mode }: GatewayOAuth, profile: string): string | undefined {
  const written = profileScope ?? (mode === 'builtin' ? '{profile}' : undefined);
  // A scope is ASCII without spaces and quotes. https://www.rfc-editor.org/rfc/rfc6749#section-3.3
  return written?.replaceAll('{profile}', () => encodeURIComponent(profile));
}

/** Returns the scopes that a client needs for an endpoint. They do not depend on whether the profile exists. */
function scopesFor(oauth: GatewayOAuth, endpoint: Endpoint | undefined, main: string | undefined): string[] {
  const profile = endpoint === undefined ? undefined : (endpoint.profile ?? main);
  const own = profile === undefined ? undefined : profileScope(oauth, profile);
  return [...new Set([...oauth.requiredScopes, ...(own === undefined ? [] : [own])])];
}

/** Serves the metadata of an endpoint, or of the whole gateway. */
export const serveResourceMetadata: Serve = ({ request, response }, { settings, gateway }) => {
  const { oauth } = settings.auth;
  const [path = ''] = (request.url ?? '').split('?', 1);
  const endpoint = endpointOf(withoutOwnPath(path, oauth).slice(RESOURCE_METADATA.length));
  const url = gatewayUrl(oauth, request);
  const scopes = scopesFor(oauth, endpoint, gateway.mainProfile);
  sendJson(response, 200, {
    resource: `${url}${endpoint?.path ?? ''}`,
    authorization_servers: authorizationServers(oauth, url),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
    resource_name: 'mcpx',
  });
};

const WELL_KNOWN =
  /^(\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration))(\/.*)?$/;

/**
 * Returns the path of a document without the path of the gateway's URL, which comes after the well-known name if the gateway
 * is below a path of its proxy. https://www.rfc-editor.org/rfc/rfc9728#section-3.1, https://www.rfc-editor.org/rfc/rfc8414#section-3.1
 */
export function withoutOwnPath(path: string, { url }: Pick<GatewayOAuth, 'url'>): string {
  const [, document = '', rest = ''] = WELL_KNOWN.exec(path) ?? [];
  const own = url === null || document === '' ? '' : new URL(url).pathname.replace(/\/$/, '');
  return own !== '' && `${rest}/`.startsWith(`${own}/`) ? document + rest.slice(own.length) : path;
}

export interface Challenged {
  request: Pick<IncomingMessage, 'headers' | 'url'>;
  settings: Pick<Settings['http'], 'auth'>;
  gateway: Pick<Gateway, 'mainProfile'>;
}

/** Returns the value of `WWW-Authenticate`. https://www.rfc-editor.org/rfc/rfc9728#section-5.1 */
export function challengeOf({ request, settings, gateway }: Challenged, refused?: TokenRefusal): string {
  const { oauth } = settings.auth;
  const [path = ''] = (request.url ?? '').split('?', 1);
  const endpoint = endpointOf(path);
  // An error of missing scopes would make clients sign in again.
  const error = refused && {
    error: refused.isFinal ? undefined : ERRORS[refused.status],
    error_description: refused.message,
  };
  const known = hasOAuth(settings) && {
    resource_metadata: `${gatewayUrl(oauth, request)}${RESOURCE_METADATA}${endpoint?.path ?? ''}`,
    scope: refused?.scope ?? scopesFor(oauth, endpoint, gateway.mainProfile).join(' '),
  };
  const parameters = Object.entries({ ...error, ...known }).filter(([, value]) => value);
  return ['Bearer', parameters.map(([key, value]) => `${key}="${quotable(String(value))}"`).join(', ')]
    .join(' ')
    .trim();
}

const ERRORS = { 401: 'invalid_token', 403: 'insufficient_scope', 503: undefined } as const;

function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
}
