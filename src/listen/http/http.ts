/** The HTTP listener: checks, dispatch, start and stop. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from '../../config/config.ts';
import { messageOf } from '../../errors.ts';
import { canOpen, handleLimit } from '../../file-handles.ts';
import type { Log } from '../../observe/log.ts';
import type { Authenticator } from '../../policy/auth.ts';
import { INTERNAL_ERROR } from '../../wire/message.ts';
import type { Administration, Gateway } from '../app-api.ts';
import type { AuthorizationServer } from '../authorization-server/authorization-server.ts';
import type { McpDeps } from '../mcp/mcp-request.ts';
import type { SecretKey } from '../mcp/secret-key.ts';
import type { SessionEntry } from '../mcp/sessions.ts';
import { shareWithAccept } from './accept.ts';
import { createTracer } from './access-log.ts';
import { type Admitted, type Arrival, admit, greet } from './admit.ts';
import { bind } from './bind.ts';
import { answerClientError } from './client-errors.ts';
import { boundConnections, connectionBound } from './connection-limit.ts';
import { rejectRequest, sendError } from './error-response.ts';
import { clientAddress, originForm, refuseOpenBind, refuseWithoutTls, urlOf } from './guard.ts';
import { closeIdle } from './keep-alive.ts';
import { createMcpDeps, limitsOf } from './mcp-deps.ts';
import { createOpenRequests } from './open-requests.ts';
import { withOwnHost } from './protected-resource.ts';
import type { Route, Serve, Served } from './route.ts';
import { findRoute } from './routes.ts';
import { createSlowReaders } from './slow-readers.ts';
import { createUnauthorized } from './unauthorized.ts';
import { ENDPOINT, isLostClient, isOauthPath, sendNotFound } from './unknown-routes.ts';

export interface HttpOptions {
  gateway: Gateway;
  settings: Settings['http'];
  auth: Authenticator;
  log: Log;
  /** The key that signs session ids and request state (default: random, known to this process only). */
  secretKey?: SecretKey;
  /** The folder that records deleted sessions (default: none). */
  endedFolder?: string | undefined;
  /** The built-in authorization server, whose routes the settings enable. */
  authorizationServer?: AuthorizationServer | undefined;
  /** Handler of changes at run time, for admin tokens. */
  admin?: Administration;
  /** Milliseconds in which a request must have arrived (default 30 s, its headers 10 s). */
  arrival?: number;
  /** Maximum number of connections (default: depends on the limit of open files). */
  connections?: number;
}

export interface HttpListener {
  readonly url: string;
  /** Applies new settings and tokens from the next request on; ends sessions whose token or profile was removed. */
  update(settings: Settings['http'], auth: Authenticator): void;
  /** Stops listening and lets responses in progress finish, for at most 3 s. */
  close(): Promise<void>;
}

/** Milliseconds for the headers and for the whole request; a slower request is rejected. */
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
/** Milliseconds between two checks for slow requests. */
const CHECK_INTERVAL = 5000;
const MAX_HEADERS = 16 * 1024;
/** File handles that must remain free when a connection is admitted. */
const SPARE_HANDLES = 4;
/** Milliseconds that responses in progress may take after a stop. */
const DRAIN = 3000;

export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const { gateway, settings, log } = options;
  const { host, port } = settings;
  refuseOpenBind(host, options.auth.required);
  refuseWithoutTls(settings);
  const server = createHttpServer(options);
  const limits = { ...settings };
  const mcp = createMcpDeps(options, limits, () => served.auth);
  const { sessions } = mcp;
  const stopping = new AbortController();
  const unauthorized = createUnauthorized({ log });
  const served: Served = {
    ...options,
    settings: withOwnHost(settings),
    mcp,
    live: new Map(),
    unauthorized,
    stopping: stopping.signal,
  };
  const release = receiveRequests(server, served, options);
  await bind(server, host, port).catch((error) => {
    sessions.close('');
    release();
    throw error;
  });
  server.on('error', (error) => log.error(`the listener failed: ${messageOf(error)}`));
  const bound = server.address() as AddressInfo;
  const expel = (reason: string) => {
    const { auth } = served;
    const mayStay = ({ principal, profile }: Pick<SessionEntry, 'principal' | 'profile'>) =>
      auth.knows(principal) && gateway.profileState(profile) === 'enabled';
    sessions.expel(mayStay, reason);
    for (const [stream, principal] of served.live) if (!auth.knows(principal)) stream.end();
  };
  const forget = options.authorizationServer?.onChange(() => expel('the access to this gateway was revoked'));
  return {
    url: urlOf(host, bound.port),
    update(settings, auth) {
      Object.assign(served, { settings: withOwnHost({ ...settings, host, port }), auth });
      Object.assign(limits, settings);
      Object.assign(mcp, limitsOf(settings));
      expel('the configuration changed: this token or profile is gone');
    },
    close() {
      forget?.();
      stopping.abort();
      for (const stream of served.live.keys()) stream.end();
      return stop(server, sessions).finally(() => {
        mcp.heldCalls.close();
        release();
      });
    },
  };
}

function createHttpServer({ arrival = REQUEST_TIMEOUT }: HttpOptions): Server {
  return createServer({
    maxHeaderSize: MAX_HEADERS,
    // Two Host headers are joined to a list, which is rejected; without this the first one would count.
    joinDuplicateHeaders: true,
    // A request without Host gets an error with a reason from mcpx instead of Node's.
    requireHostHeader: false,
    headersTimeout: Math.min(HEADERS_TIMEOUT, arrival),
    requestTimeout: arrival,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL, arrival / 2),
  });
}

/** Admits connections and serves their requests. Returns the function that releases what this needs after the stop. */
function receiveRequests(server: Server, served: Served, { gateway, log, connections: most }: HttpOptions): () => void {
  const underWay = createOpenRequests(createSlowReaders({ log }));
  const tracer = createTracer({
    ...{ log, emit: gateway.emit, underWay },
    from: (request) => clientAddress(request, served.settings.trustProxy),
  });
  answerClientError(server, tracer);
  const endIdle = closeIdle(server, { since: tracer.idleSince });
  const connections = boundConnections(server, {
    ...{ most: most ?? connectionBound(handleLimit()), idleSince: tracer.idleSince, log },
    hasHandles: () => canOpen(SPARE_HANDLES),
  });
  const take = shareWithAccept(server, (arrival: Arrival) => exchange(arrival, served));
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/')) request.url = originForm(request);
    take({ request, response, trace: tracer.begin(request, response), connections });
  };
  server.on('request', receive);
  server.on('checkContinue', receive);
  return () => {
    underWay.close();
    endIdle();
  };
}

function exchange(arrival: Arrival, served: Served): void {
  try {
    const answering = dispatch(arrival, served);
    if (answering instanceof Promise) answering.catch((error) => failed(error, arrival, served));
  } catch (error) {
    failed(error, arrival, served);
  }
}

function failed(error: unknown, { request, response, trace }: Arrival, { log }: Served): void {
  // A client that disconnects before its request is complete is not an error.
  if (request.destroyed && !request.complete) log.debug(`${request.method} was cut off by the client`);
  else {
    log.error(`${request.method} ${trace.route} failed: ${messageOf(error)}`, { request: trace.request });
    rejectRequest(response, 500, { message: 'Internal error', rpc: INTERNAL_ERROR });
  }
}

const NO_QUERY = new URLSearchParams();
/** The rules for paths without a route. */
type Rules = Pick<Route, 'open' | 'anonymous' | 'anyOrigin'>;
const NO_ROUTE: Readonly<Rules> = {};
const ANONYMOUS: Readonly<Rules> = { anonymous: true };

function dispatch(arrival: Arrival, served: Served): ReturnType<Serve> {
  const { request, trace } = arrival;
  const { url = '/' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const found = findRoute(path, served.settings);
  trace.route = found?.route.path ?? trace.route;
  const route = found?.route ?? (served.auth.required && isOauthPath(path) ? ANONYMOUS : NO_ROUTE);
  const admitted = route.open ? greet(arrival) : admit(arrival, served, route);
  if (!(admitted instanceof Promise)) return serveAdmitted(admitted, arrival, served, found);
  return admitted.then((principal) => serveAdmitted(principal, arrival, served, found));
}

/** Serves a request that has passed the checks. */
function serveAdmitted(
  principal: Admitted,
  { request, response, trace }: Arrival,
  served: Served,
  found: ReturnType<typeof findRoute>,
): ReturnType<Serve> {
  if (principal === 'refused') return;
  const { url = '/', method = '' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const isLost = path === '/' && isLostClient(method, request.headers.accept);
  if (found === undefined || isLost) return sendNotFound(response, path, served);
  const { route, parts } = found;
  const serve = Object.hasOwn(route.methods, method) ? route.methods[method] : undefined;
  if (serve === undefined) {
    const Allow = Object.keys(route.methods).join(', ');
    const hint = path === '/' ? ENDPOINT : `use ${Allow}`;
    return sendError(response, 405, { message: `${method} is not allowed here`, hint }, { Allow });
  }
  const query = mark < 0 ? NO_QUERY : new URLSearchParams(url.slice(mark + 1));
  return serve({ request, response, query, principal, parts, trace }, served);
}

/**
 * Ends idle sessions at once and the others when their calls are answered; after `DRAIN` all connections are closed.
 */
async function stop(server: Server, sessions: McpDeps['sessions']): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  const release = () => {
    sessions.release(STOPPING);
    server.closeIdleConnections();
  };
  release();
  const timer = setInterval(release, 20);
  const bound = setTimeout(() => {
    sessions.close(STOPPING);
    // The last output gets 50 ms to be sent.
    setTimeout(() => server.closeAllConnections(), 50);
  }, DRAIN);
  await closed;
  clearInterval(timer);
  clearTimeout(bound);
  sessions.close(STOPPING);
}

const STOPPING = 'mcpx is stopping';
