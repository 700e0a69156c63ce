/** The HTTP listener: routes, guards, start and stop. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { FrontKind, Settings } from '../config/config.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import { type Authenticator, mayUseProfile, type Principal } from '../policy/auth.ts';
import { INTERNAL_ERROR, INVALID_REQUEST } from '../wire/message.ts';
import type { Gateway } from './gateway.ts';
import { refusal, refuseOpenBind, urlOf } from './guard.ts';
import { serveMcp } from './mcp.ts';
import { sendJson, sendRpcError } from './reply.ts';

export interface HttpOptions {
  gateway: Gateway;
  settings: Settings['http'];
  auth: Authenticator;
  log: Log;
}

export interface HttpListener {
  readonly url: string;
  /** Stops listening and lets answers under way finish, for at most 3 s. */
  close(): Promise<void>;
}

/** Something that arrived, after the guards. */
interface Visit {
  request: IncomingMessage;
  response: ServerResponse;
  url: URL;
  principal: Principal | undefined;
}

interface Route {
  method: string;
  path: RegExp;
  serve(visit: Visit, options: HttpOptions, profile: string | undefined): void | Promise<void>;
}

const ROUTES: Route[] = [
  {
    method: 'GET',
    path: /^\/api\/status$/,
    serve: (visit, { gateway }) => sendJson(visit.response, 200, gateway.status(visit.principal)),
  },
  {
    method: 'POST',
    path: /^\/mcp(?:\/([^/]+))?$/,
    serve: (visit, options, profile) => openMcp(visit, options, { profile }),
  },
  {
    method: 'POST',
    path: /^\/api\/([^/]+)\/mcp$/,
    serve: (visit, options, profile) => openMcp(visit, options, { profile, front: 'aggregate' }),
  },
];

/** ms; a request that is slower than this to arrive is cut. */
const HEADERS_TIMEOUT = 10_000;
const REQUEST_TIMEOUT = 30_000;
const MAX_HEADERS = 16 * 1024;
/** ms that answers under way may take after a stop. */
const DRAIN = 3000;

export async function listenHttp(options: HttpOptions): Promise<HttpListener> {
  const { host, port } = options.settings;
  refuseOpenBind(host, options.auth.required);
  const server = createServer({
    maxHeaderSize: MAX_HEADERS,
    headersTimeout: HEADERS_TIMEOUT,
    requestTimeout: REQUEST_TIMEOUT,
  });
  server.on('request', (request, response) => void visit(request, response, options));
  await bind(server, host, port);
  const bound = server.address() as AddressInfo;
  return { url: urlOf(host, bound.port), close: () => stop(server) };
}

async function visit(request: IncomingMessage, response: ServerResponse, options: HttpOptions): Promise<void> {
  try {
    await dispatch(request, response, options);
  } catch (error) {
    options.log.error(`${request.method} ${request.url} failed: ${messageOf(error)}`);
    sendRpcError(response, 500, { code: INTERNAL_ERROR, message: 'Internal error' });
  }
}

async function dispatch(request: IncomingMessage, response: ServerResponse, options: HttpOptions): Promise<void> {
  const { settings, auth } = options;
  const refused = refusal(request, { host: settings.host, hosts: settings.hosts, origins: settings.cors.origins });
  if (refused !== undefined) return sendRpcError(response, 403, { code: INVALID_REQUEST, message: refused });

  const principal = auth.principal(request.headers.authorization);
  if (auth.required && principal === undefined) {
    return sendRpcError(
      response,
      401,
      { code: INVALID_REQUEST, message: 'Unauthorized' },
      { 'WWW-Authenticate': 'Bearer' },
    );
  }
  const url = new URL(request.url ?? '/', 'http://mcpx.invalid');
  const routes = ROUTES.filter((route) => route.path.test(url.pathname));
  const route = routes.find(({ method }) => method === request.method);
  if (routes.length === 0) return sendJson(response, 404, { error: `no such route: ${url.pathname}` });
  if (route === undefined) {
    const Allow = routes.map(({ method }) => method).join(', ');
    return sendJson(response, 405, { error: `${request.method} is not allowed here` }, { Allow });
  }
  await route.serve({ request, response, url, principal }, options, route.path.exec(url.pathname)?.[1]);
}

/** Which profile and front a URL means, then MCP. */
function openMcp(
  { request, response, url, principal }: Visit,
  { gateway, settings }: HttpOptions,
  asked: { profile: string | undefined; front?: FrontKind },
): void | Promise<void> {
  const profile = asked.profile === undefined ? gateway.mainProfile : decode(asked.profile);
  const hidden = profile === undefined || (principal !== undefined && !mayUseProfile(principal, profile));
  const state = hidden ? 'unknown' : gateway.profileState(profile);
  const fail = (status: number, message: string) => sendRpcError(response, status, { code: INVALID_REQUEST, message });
  if (profile === undefined || state === 'unknown') return fail(404, `no profile is called "${profile ?? ''}"`);
  if (state === 'disabled') return fail(403, `the profile "${profile}" is disabled`);
  if (!/^application\/json\b/i.test(request.headers['content-type'] ?? ''))
    return fail(415, 'the Content-Type must be application/json');

  const wanted = url.searchParams.get('front');
  if (wanted !== null && wanted !== 'compact' && wanted !== 'aggregate')
    return fail(400, '"front" must be compact or aggregate');
  const front = wanted ?? asked.front;
  return serveMcp(
    { request, response, profile, ...(front && { front }), ...(principal && { principal }) },
    { gateway, maxBody: settings.maxBody },
  );
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function bind(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => reject(bindError(error, host, port)));
    server.listen({ host, port }, resolve);
  });
}

function bindError(error: NodeJS.ErrnoException, host: string, port: number): McpxError {
  const why =
    error.code === 'EADDRINUSE'
      ? `port ${port} on ${host} is taken`
      : `cannot listen on ${host}:${port}: ${error.message}`;
  const hint = error.code === 'EADDRINUSE' ? `add --port ${port + 1}, or --port 0 to take any free one` : undefined;
  return new McpxError('failed', why, { hint, cause: error });
}

async function stop(server: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), DRAIN);
  await closed;
  clearTimeout(timer);
}
