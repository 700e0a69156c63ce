/** Responses for wrong URLs: they name the MCP endpoint, a setting that is off, or the missing OAuth support. */
import type { ServerResponse } from 'node:http';
import type { Settings } from '../../config/config.ts';
import type { GatewayOAuth } from '../../config/gateway-oauth.ts';
import type { Authenticator } from '../../policy/auth.ts';
import { requestIdOf } from './access-log.ts';
import { type Reason, rejectRequest, sendError } from './error-response.ts';
import { sendJson } from './http-response.ts';

/** The hint for an MCP client with a wrong URL. */
export const ENDPOINT = 'the MCP endpoint is at /mcp: end the URL of the client with /mcp, or /mcp/<profile>';

/** The hint on how to send a token and where to get it. */
export const SEND_TOKEN =
  'send the header "Authorization: Bearer <token>" with a token of "http.auth.tokens" in the config of the gateway, or the value of its MCPX_TOKEN';

/** The hint for a client without a token, if OAuth is on. */
export const SIGN_IN =
  'sign in with the authorization server that the header WWW-Authenticate leads to, or send a token of "http.auth.tokens"';

/**
 * The paths of https://www.rfc-editor.org/rfc/rfc9728 and https://www.rfc-editor.org/rfc/rfc8414, at the root or below
 * a path; without metadata, clients try the paths of the last line.
 */
const OAUTH = [
  /\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:\/|$)/,
  /^\/(?:register|authorize|token)\/?$/,
];

/** Returns true for paths that a client requests to find an authorization server after a 401. */
export function isOauthPath(path: string): boolean {
  return OAUTH.some((known) => known.test(path));
}

const ROUTES_LISTED = 'GET /api/openapi.json lists the routes, GET /api/status the profiles and servers';
const LEGACY_SSE = /^\/(?:sse(?:\/[^/]+)?|messages)\/?$/;

interface Asked {
  settings: Pick<Settings['http'], 'legacySse' | 'auth'>;
  auth: Pick<Authenticator, 'required'>;
}

/** Sends 404 for an unknown route. */
export function sendNotFound(response: ServerResponse, path: string, { settings, auth }: Asked): void {
  const { legacySse } = settings;
  if (auth.required && isOauthPath(path)) sendNoOauth(response, path, settings.auth.oauth);
  else if (LEGACY_SSE.test(path) && !legacySse) rejectRequest(response, 404, NO_LEGACY_SSE);
  else sendError(response, 404, { message: `no such route: ${path}`, hint: `${ENDPOINT}; ${ROUTES_LISTED}` });
}

const NO_LEGACY_SSE: Reason = {
  message: 'the transport HTTP+SSE of 2024-11-05 is off here: use Streamable HTTP at /mcp, or switch it on',
  hint: 'set "http": { "legacySse": true } in the config of the gateway, or change the URL of the client to /mcp',
};

/**
 * Sends an OAuth error, whose description clients show to the user. https://www.rfc-editor.org/rfc/rfc6749#section-5.2
 */
function sendNoOauth(response: ServerResponse, path: string, { mode, issuer }: GatewayOAuth): void {
  const hint = mode === 'issuer' ? `the authorization server of this gateway is "${issuer}"` : SEND_TOKEN;
  const description =
    mode === 'off'
      ? `this gateway takes a token: ${SEND_TOKEN}; it has no OAuth`
      : `there is no authorization server at this address: ${hint}`;
  const own = { code: 'auth', hint, requestId: requestIdOf(response) };
  const status = path.includes('/.well-known/') ? 404 : 400;
  sendJson(response, status, { error: 'invalid_request', error_description: description, ...own });
}

/** Returns true for an MCP client that requests `/`, which is the status page. */
export function isLostClient(method: string, accept: string | undefined): boolean {
  return method === 'GET' && accept !== undefined && /text\/event-stream/.test(accept) && !/text\/html/.test(accept);
}
