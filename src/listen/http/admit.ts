/** The checks of a request before its route: Host, Origin, length, CORS, token, connections, rate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { TokenCheck } from '../../policy/access-tokens.ts';
import type { Principal } from '../../policy/auth.ts';
import { withinRate } from '../mcp/mcp-request.ts';
import type { RequestTrace } from './access-log.ts';
import { type Connections, TOO_MANY } from './connection-limit.ts';
import { crossOrigin } from './cors.ts';
import { rejectRequest } from './error-response.ts';
import { malformedHost, refusal } from './guard.ts';
import type { Route, Served } from './route.ts';

/** A request and the parts of the listener that belong to its connection. */
export interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  trace: RequestTrace;
  connections: Connections;
}

/** The authenticated client; undefined if none is needed. After 'refused' the error is sent. */
export type Admitted = Principal | undefined | 'refused';

/** Maximum number of characters of a URL. */
const MAX_URL = 8 * 1024;

/** Checks a request on a route that is open to every client. */
export function greet({ request, response }: Arrival): undefined | 'refused' {
  const wrong = malformedHost(request);
  return wrong && no(response, wrong.status, wrong);
}

/** Runs all checks. It returns a promise only if an access token has to be checked by another server. */
export function admit(
  arrival: Arrival,
  served: Served,
  route: Pick<Route, 'anonymous' | 'anyOrigin'>,
): Admitted | Promise<Admitted> {
  const { request, response } = arrival;
  const { settings, auth, stopping, unauthorized } = served;
  const anonymous = route.anonymous === true;
  const { host, hosts, trustProxy, cors } = settings;
  const origins = route.anyOrigin ? 'any' : cors.origins;
  const stranger = refusal(request, { host, hosts, trustProxy, origins, open: !auth.required });
  if (stranger !== undefined) return no(response, stranger.status, stranger);
  const { url = '' } = request;
  if (url.length > MAX_URL) return no(response, 414, `the URL is longer than ${MAX_URL} characters`);
  if (crossOrigin(request, response, origins)) return 'refused';
  if (stopping.aborted) return no(response, 503, 'mcpx is stopping', { Connection: 'close' });
  const principal = auth.principal(request.headers.authorization);
  if (principal !== undefined) return admitAs(principal, arrival, served);
  const checked = auth.accessToken(request.headers.authorization, () => unauthorized.isBraked(request, trustProxy));
  if (checked === undefined) return withoutToken(arrival, served, anonymous);
  if (checked instanceof Promise) return checked.then((result) => admitChecked(result, arrival, served, anonymous));
  return admitChecked(checked, arrival, served, anonymous);
}

function admitChecked(checked: TokenCheck, arrival: Arrival, served: Served, anonymous: boolean): Admitted {
  if ('principal' in checked) return admitAs(checked.principal, arrival, served);
  const { request, response } = arrival;
  if (anonymous) return admitAs(undefined, arrival, served);
  served.log.debug(`an access token was refused: ${checked.refused.message}`);
  // A client that left during the check has no response any more.
  if (!request.destroyed) served.unauthorized.reject({ request, response }, served, checked.refused);
  return 'refused';
}

function withoutToken(arrival: Arrival, served: Served, anonymous: boolean): Admitted {
  if (!served.auth.required || anonymous) return admitAs(undefined, arrival, served);
  served.unauthorized.reject(arrival, served);
  return 'refused';
}

function admitAs(
  principal: Principal | undefined,
  { request, response, trace, connections }: Arrival,
  { auth, mcp }: Served,
): Admitted {
  trace.principal = principal?.name;
  if (request.destroyed) return 'refused';
  const isTrusted = principal !== undefined || !auth.required;
  if (isTrusted && !connections.accepted(request.socket, principal))
    return no(response, 503, TOO_MANY, { 'Retry-After': '1', Connection: 'close' });
  if (request.method === 'POST' && !withinRate({ response, principal }, mcp.rate)) return 'refused';
  return principal;
}

function no(...refused: Parameters<typeof rejectRequest>): 'refused' {
  rejectRequest(...refused);
  return 'refused';
}
