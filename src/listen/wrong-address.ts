/** Answers to clients that were given a wrong address: where the MCP endpoint is, which setting is off, and that tokens are not had by OAuth. */
import type { ServerResponse } from 'node:http';
import type { Settings } from '../config/config.ts';
import type { Authenticator } from '../policy/auth.ts';
import { type Reason, refuse, sendError } from './refuse.ts';
import { sendJson } from './reply.ts';
import { requestIdOf } from './trace.ts';

/** Where a client of MCP has to go. */
export const ENDPOINT = 'the MCP endpoint is at /mcp: end the URL of the client with /mcp, or /mcp/<profile>';

/** How a token is sent, and where it comes from. */
export const SEND_TOKEN =
  'send the header "Authorization: Bearer <token>" with a token of "http.auth.tokens" in the config of the gateway, or the value of its MCPX_TOKEN';

/** https://www.rfc-editor.org/rfc/rfc9728 and https://www.rfc-editor.org/rfc/rfc8414, at the root or below a path; without metadata clients try the paths of the last line. */
const OAUTH = [
  /\/\.well-known\/(?:oauth-protected-resource|oauth-authorization-server|openid-configuration)(?:\/|$)/,
  /^\/(?:register|authorize|token)\/?$/,
];

/** Paths that a client asks for which was refused without a token and looks for an authorization server. */
export function isOauthPath(path: string): boolean {
  return OAUTH.some((known) => known.test(path));
}

const ROUTES_LISTED = 'GET /api/openapi.json lists the routes, GET /api/status the profiles and servers';
const LEGACY_SSE = /^\/(?:sse(?:\/[^/]+)?|messages)\/?$/;

interface Asked {
  settings: Pick<Settings['http'], 'legacySse'>;
  auth: Pick<Authenticator, 'required'>;
}

/** There is no such route. */
export function sendMissing(response: ServerResponse, path: string, { settings, auth }: Asked): void {
  const { legacySse } = settings;
  if (auth.required && isOauthPath(path)) sendNoOauth(response, path);
  else if (LEGACY_SSE.test(path) && !legacySse) refuse(response, 404, NO_LEGACY_SSE);
  else sendError(response, 404, { message: `no such route: ${path}`, hint: `${ENDPOINT}; ${ROUTES_LISTED}` });
}

const NO_LEGACY_SSE: Reason = {
  message: 'the transport HTTP+SSE of 2024-11-05 is off here: use Streamable HTTP at /mcp, or switch it on',
  hint: 'set "http": { "legacySse": true } in the config of the gateway, or change the URL of the client to /mcp',
};

/** In the form of https://www.rfc-editor.org/rfc/rfc6749#section-5.2, whose description clients show to people. */
function sendNoOauth(response: ServerResponse, path: string): void {
  const description = `this gateway takes a token: ${SEND_TOKEN}; it has no OAuth`;
  const own = { code: 'auth', hint: SEND_TOKEN, requestId: requestIdOf(response) };
  const status = path.includes('/.well-known/') ? 404 : 400;
  sendJson(response, status, { error: 'invalid_request', error_description: description, ...own });
}

/** A client of MCP at `/`, which is the status page of people. */
export function isLostClient(method: string, accept: string | undefined): boolean {
  return method === 'GET' && accept !== undefined && /text\/event-stream/.test(accept) && !/text\/html/.test(accept);
}
