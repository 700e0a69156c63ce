/** The HTTP listener: guards, dispatch, start and stop. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { canOpen, handleLimit } from '../handles.ts';
import type { Log } from '../observe/log.ts';
import type { Authenticator, Principal } from '../policy/auth.ts';
import { createRate, NO_RATE } from '../policy/limits.ts';
import { createShares } from '../policy/shares.ts';
import { INTERNAL_ERROR } from '../wire/message.ts';
import { shareWithAccept } from './accept.ts';
import { bind } from './bind.ts';
import { boundConnections, type Connections, connectionBound, TOO_MANY } from './connections.ts';
import { crossOrigin } from './cors.ts';
import { createEndedSessions } from './ended-sessions.ts';
import { createParking } from './events.ts';
import type { Administration, Gateway } from './gateway.ts';
import { clientAddress, malformedHost, originForm, refusal, refuseOpenBind, urlOf } from './guard.ts';
import { closeIdle } from './idle.ts';
import { answerMalformed } from './malformed.ts';
import { refuse, sendError } from './refuse.ts';
import { createRounds } from './rounds.ts';
import { findRoute, type Serve, type Served } from './routes.ts';
import { createSeal } from './seal.ts';
import type { SecretKey } from './secret-key.ts';
import { createSessionIds } from './session-id.ts';
import { createSessions, type Member } from './sessions.ts';
import { createTracer, type Trace } from './trace.ts';
import { createUnauthorized } from './unauthorized.ts';
import { createUnderWay } from './under-way.ts';
import { createUnread } from './unread.ts';
import { isTimely, type McpDeps } from './visit.ts';
import { ENDPOINT, isLostClient, isOauthPath, sendMissing } from './wrong-address.ts';

export interface HttpOptions {
  gateway: Gateway;
  settings: Settings['http'];
  auth: Authenticator;
  log: Log;
  /** Seals what clients carry (default: one that is known to this process only). */
  secretKey?: SecretKey;
  /** Where deleted sessions are written down (default: nowhere). */
  endedFolder?: string | undefined;
  /** Changes at run time, for admin tokens. */
  admin?: Administration;
  /** ms in which a request must have arrived (default 30 s, its headers 10 s). */
  arrival?: number;
  /** Connections at once (default: by the limit of open files). */
  connections?: number;
}

export interface HttpListener {
  readonly url: string;
  /** Takes other settings and tokens, for the next request on; sessions of a token or profile that is gone end. */
  update(settings: Settings['http'], auth: Authenticator): void;
  /** Stops listening and lets answers under way finish, for at most 3 s. */
  close(): Promise<void>;
}

/** ms; a request that is slower than this to arrive is cut. */
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
/** ms between two looks for requests that are too slow. */
const CHECK_INTERVAL = 5000;
const MAX_HEADERS = 16 * 1024;
/** Characters; longer ones have no business here. */
const MAX_URL = 8 * 1024;
/** Handles that are left when one more connection is let in. */
const SPARE_HANDLES = 4;
/** Bytes of bodies that are held at once, and at least so many of the largest. */
const MAX_BODIES = 256 * 1024 * 1024;
const LEAST_BODIES = 4;
/** ms that answers under way may take after a stop. */
const DRAIN = 3000;

export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const { arrival = REQUEST_TIMEOUT } = options;
  const { host, port } = options.settings;
  refuseOpenBind(host, options.auth.required);
  const server = createServer({
    maxHeaderSize: MAX_HEADERS,
    // Two Host headers are a list then, which is refused; without it the first one counts.
    joinDuplicateHeaders: true,
    // A request without one is answered here, with a reason.
    requireHostHeader: false,
    headersTimeout: Math.min(HEADERS_TIMEOUT, arrival),
    requestTimeout: arrival,
    connectionsCheckingInterval: Math.min(CHECK_INTERVAL, arrival / 2),
  });
  const { gateway, settings, log } = options;
  const parking = createParking();
  const limits = { ...settings };
  const identity = identify(options, () => served.auth);
  const sessions: McpDeps['sessions'] = createSessions(limits, {
    swept: parking.sweep,
    ended: (one) => one.kind === 'streamable' && one.claims && identity.ended.add(one.claims),
  });
  const rounds = createRounds();
  const seal = createSeal(options.secretKey);
  const stopping = new AbortController();
  const bodies = createShares(Math.max(MAX_BODIES, LEAST_BODIES * settings.maxBody));
  const mcp: McpDeps = { gateway, ...limitsOf(settings), ...identity, bodies, sessions, parking, rounds, seal, log };
  const unauthorized = createUnauthorized({ log });
  const served: Served = { ...options, mcp, live: new Map(), unauthorized, stopping: stopping.signal };
  const underWay = createUnderWay(createUnread({ log }));
  const tracer = createTracer({
    ...{ log, emit: gateway.emit, underWay },
    from: (request) => clientAddress(request, served.settings.trustProxy),
  });
  answerMalformed(server, tracer);
  const endIdle = closeIdle(server, { since: tracer.idleSince });
  const connections = boundConnections(server, {
    ...{ most: options.connections ?? connectionBound(handleLimit()), idleSince: tracer.idleSince, log },
    hasHandles: () => canOpen(SPARE_HANDLES),
  });
  const take = shareWithAccept(server, (arrival: Arrival) => visit(arrival, served));
  const receive = (request: IncomingMessage, response: ServerResponse) => {
    if (!request.url?.startsWith('/')) request.url = originForm(request);
    take({ request, response, trace: tracer.begin(request, response), connections });
  };
  server.on('request', receive);
  server.on('checkContinue', receive);
  await bind(server, host, port).catch((error) => {
    sessions.close('');
    endIdle();
    throw error;
  });
  server.on('error', (error) => log.error(`the listener failed: ${messageOf(error)}`));
  const bound = server.address() as AddressInfo;
  return {
    url: urlOf(host, bound.port),
    update(settings, auth) {
      Object.assign(served, { settings: { ...settings, host, port }, auth });
      Object.assign(limits, settings);
      Object.assign(mcp, limitsOf(settings));
      const mayStay = ({ principal, profile }: Pick<Member, 'principal' | 'profile'>) =>
        auth.knows(principal) && gateway.profileState(profile) === 'enabled';
      sessions.expel(mayStay, 'the configuration changed: this token or profile is gone');
      for (const [stream, principal] of served.live) if (!auth.knows(principal)) stream.end();
    },
    close() {
      stopping.abort();
      for (const stream of served.live.keys()) stream.end();
      return stop(server, sessions).finally(() => {
        rounds.close();
        underWay.close();
        endIdle();
      });
    },
  };
}

/** How sessions are told from each other, also those of other processes. */
function identify(
  { secretKey, endedFolder: folder, log }: HttpOptions,
  auth: () => Authenticator,
): Pick<McpDeps, 'ids' | 'ended' | 'resuming' | 'fingerprint'> {
  const fingerprint = (principal: Principal | undefined) => auth().fingerprint(principal);
  return {
    ids: createSessionIds(secretKey),
    ended: createEndedSessions({ folder, log }),
    resuming: new Map(),
    fingerprint,
  };
}

/** What is bounded anew when settings change. */
function limitsOf({ maxBody, rate }: Settings['http']): Pick<McpDeps, 'maxBody' | 'rate'> {
  return { maxBody, rate: rate === null ? NO_RATE : createRate({ rate }) };
}

interface Arrival {
  request: IncomingMessage;
  response: ServerResponse;
  trace: Trace;
  connections: Connections;
}

function visit(arrival: Arrival, served: Served): void {
  try {
    const answering = dispatch(arrival, served);
    if (answering instanceof Promise) answering.catch((error) => failed(error, arrival, served));
  } catch (error) {
    failed(error, arrival, served);
  }
}

function failed(error: unknown, { request, response, trace }: Arrival, { log }: Served): void {
  // A client that leaves in the middle of its request is no failure of ours.
  if (request.destroyed && !request.complete) log.debug(`${request.method} was cut off by the client`);
  else {
    log.error(`${request.method} ${trace.route} failed: ${messageOf(error)}`, { request: trace.request });
    refuse(response, 500, { message: 'Internal error', rpc: INTERNAL_ERROR });
  }
}

const NO_QUERY = new URLSearchParams();

function dispatch(arrival: Arrival, served: Served): ReturnType<Serve> {
  const { request, response, trace } = arrival;
  const { url = '/', method = '' } = request;
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const found = findRoute(path, served.settings);
  trace.route = found?.route.path ?? trace.route;
  const isAnonymous = found === undefined ? served.auth.required && isOauthPath(path) : found.route.anonymous === true;
  const principal = found?.route.open ? greet(arrival) : admit(arrival, served, isAnonymous);
  if (principal === 'refused') return;

  const isLost = path === '/' && isLostClient(method, request.headers.accept);
  if (found === undefined || isLost) return sendMissing(response, path, served);
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

/** On a route that anybody may ask. */
function greet({ request, response }: Arrival): undefined | 'refused' {
  const wrong = malformedHost(request);
  return wrong && no(response, wrong.status, wrong);
}

/** Who asks, after every check; where one fails, the answer is on its way. */
function admit(
  { request, response, trace, connections }: Arrival,
  { settings, auth, stopping, mcp, unauthorized }: Served,
  anonymous: boolean,
): Principal | undefined | 'refused' {
  const { url = '/', method = '' } = request;
  const { host, hosts, trustProxy, cors } = settings;
  const stranger = refusal(request, { host, hosts, trustProxy, origins: cors.origins, open: !auth.required });
  if (stranger !== undefined) return no(response, stranger.status, stranger);
  if (url.length > MAX_URL) return no(response, 414, `the URL is longer than ${MAX_URL} characters`);
  if (crossOrigin(request, response, cors.origins)) return 'refused';
  if (stopping.aborted) return no(response, 503, 'mcpx is stopping', { Connection: 'close' });
  const principal = auth.principal(request.headers.authorization);
  trace.principal = principal?.name;
  if (auth.required && principal === undefined && !anonymous) {
    unauthorized(request, response, trustProxy);
    return 'refused';
  }
  const isTrusted = principal !== undefined || !auth.required;
  if (isTrusted && !connections.accepted(request.socket, principal))
    return no(response, 503, TOO_MANY, { 'Retry-After': '1', Connection: 'close' });
  if (method === 'POST' && !isTimely({ response, principal }, mcp.rate)) return 'refused';
  return principal;
}

function no(...refused: Parameters<typeof refuse>): 'refused' {
  refuse(...refused);
  return 'refused';
}

/** Idle sessions end at once, the others when their calls are answered; after the bound all are cut. */
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
    // What was just written gets a moment to leave.
    setTimeout(() => server.closeAllConnections(), 50);
  }, DRAIN);
  await closed;
  clearInterval(timer);
  clearTimeout(bound);
  sessions.close(STOPPING);
}

const STOPPING = 'mcpx is stopping';
