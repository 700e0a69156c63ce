/** The table of HTTP routes, and which profile and front a URL means. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FrontKind, Settings } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Authenticator, Principal } from '../policy/auth.ts';
import { serveAdd, serveChange, serveReload, serveRemove } from './admin.ts';
import type { EventStream } from './events.ts';
import type { Administration, Gateway } from './gateway.ts';
import { serveMessages, serveSse } from './legacy-sse.ts';
import { serveEvents, serveMetrics } from './live.ts';
import { serveDelete, serveGet, servePost } from './mcp.ts';
import { describeApi } from './openapi.ts';
import { sendPage } from './page.ts';
import { disabledProfile, type Reason, unknownProfile } from './refuse.ts';
import { sendJson } from './reply.ts';
import {
  serveCall,
  serveHealth,
  servePrompts,
  serveReady,
  serveResources,
  serveServers,
  serveTokens,
  serveTools,
} from './rest.ts';
import type { Trace } from './trace.ts';
import type { Unauthorized } from './unauthorized.ts';
import { type McpDeps, type McpVisit, profileState, refusePosted } from './visit.ts';

/** Something that arrived, after the guards. */
export interface Visit {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  principal: Principal | undefined;
  /** What stands in the places of the path that have names, decoded. */
  parts: ReadonlyMap<string, string>;
  trace: Trace;
}

/** What routes need of the listener. */
export interface Served {
  gateway: Gateway;
  settings: Settings['http'];
  auth: Authenticator;
  log: Log;
  mcp: McpDeps;
  /** Absent where there is nothing that could be changed. */
  admin?: Administration;
  /** Open streams of `/api/events`. */
  live: Map<EventStream, Principal | undefined>;
  unauthorized: Unauthorized;
  /** Aborted by a stop. */
  stopping: AbortSignal;
}

export type Serve = (visit: Visit, served: Served) => void | Promise<void>;

export interface Route {
  /** As people write it; a part in braces is one segment. */
  path: string;
  methods: Record<string, Serve>;
  /** Answers anybody, before every check. */
  open?: true;
  /** Needs no token, because it says nothing of this gateway. */
  anonymous?: true;
  /** Which setting offers it, where not all do. */
  offered?: (settings: Settings['http']) => boolean;
}

type ServeMcp = (visit: McpVisit, deps: McpDeps) => void | Promise<void>;

const mcp = (front?: FrontKind): Route['methods'] => ({
  POST: openMcp(servePost, front),
  GET: openMcp(serveGet, front),
  DELETE: openMcp(serveDelete, front),
});
const legacySse = (settings: Settings['http']) => settings.legacySse;

export const ROUTES: readonly Route[] = [
  { path: '/mcp', methods: mcp() },
  { path: '/mcp/{profile}', methods: mcp() },
  { path: '/sse', methods: { GET: openMcp(serveSse) }, offered: legacySse },
  { path: '/sse/{profile}', methods: { GET: openMcp(serveSse) }, offered: legacySse },
  {
    path: '/messages',
    methods: {
      POST: ({ request, response, query, principal }, { mcp }) =>
        serveMessages({ request, response, ...(principal && { principal }), id: query.get('sessionId') }, mcp),
    },
    offered: legacySse,
  },
  {
    path: '/api/status',
    methods: { GET: ({ response, principal }, { gateway }) => sendJson(response, 200, gateway.status(principal)) },
  },
  {
    path: '/',
    methods: { GET: ({ response }, { auth }) => sendPage(response, auth) },
    anonymous: true,
    offered: ({ statusPage }) => statusPage,
  },
  { path: '/api/events', methods: { GET: serveEvents } },
  { path: '/api/openapi.json', methods: { GET: ({ response }) => sendJson(response, 200, describeApi(ROUTES)) } },
  { path: '/api/reload', methods: { POST: serveReload } },
  { path: '/api/servers', methods: { POST: serveAdd } },
  { path: '/api/servers/{name}', methods: { PATCH: serveChange, DELETE: serveRemove } },
  { path: '/api/{profile}/mcp', methods: mcp('aggregate') },
  { path: '/api/{profile}/servers', methods: { GET: serveServers } },
  { path: '/api/{profile}/tools', methods: { GET: serveTools } },
  { path: '/api/{profile}/tokens', methods: { GET: serveTokens } },
  { path: '/api/{profile}/resources', methods: { GET: serveResources } },
  { path: '/api/{profile}/prompts', methods: { GET: servePrompts } },
  { path: '/api/{profile}/tools/{server}/{tool}', methods: { POST: serveCall } },
  { path: '/healthz', methods: { GET: serveHealth, HEAD: serveHealth }, open: true },
  { path: '/readyz', methods: { GET: serveReady, HEAD: serveReady }, open: true },
  { path: '/metrics', methods: { GET: serveMetrics }, offered: ({ metrics }) => metrics },
];

interface Found {
  route: Route;
  parts: ReadonlyMap<string, string>;
}

/** Those without a name in their path, which most requests are for. */
const PLAIN: ReadonlyMap<string, Found> = new Map(
  ROUTES.filter(({ path }) => !path.includes('{')).map((route) => [route.path, { route, parts: new Map() }]),
);
const ROWS = ROUTES.map((route) => ({ route, segments: route.path.split('/') }));

/** The route of a path. Rows without a name in them come before those with one in the same place. */
export function findRoute(asked: string, settings: Settings['http']): Found | undefined {
  // People write `/mcp/` and mean `/mcp`.
  const path = asked.length > 1 && asked.endsWith('/') ? asked.slice(0, -1) : asked;
  const plain = PLAIN.get(path);
  if (plain !== undefined && (plain.route.offered?.(settings) ?? true)) return plain;
  const given = path.split('/');
  for (const { route, segments } of ROWS) {
    const parts = segments.length === given.length ? partsOf(segments, given) : undefined;
    if (parts !== undefined && (route.offered?.(settings) ?? true)) return { route, parts };
  }
  return undefined;
}

function partsOf(segments: string[], given: string[]): Map<string, string> | undefined {
  const parts = new Map<string, string>();
  for (const [index, segment] of segments.entries()) {
    const value = given[index] ?? '';
    if (segment.startsWith('{') && value !== '') parts.set(segment.slice(1, -1), decode(value));
    else if (segment !== value) return undefined;
  }
  return parts;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

/** Which profile and front a URL means, then MCP. */
function openMcp(serve: ServeMcp, own?: FrontKind): Serve {
  return (visit, { gateway, mcp }) => {
    const { request, response, query, principal, parts } = visit;
    const no = (status: number, why: Reason) => refusePosted(visit, mcp, status, why);
    const profile = parts.get('profile') ?? gateway.mainProfile;
    const state = profile === undefined ? 'unknown' : profileState(profile, visit, gateway);
    if (profile === undefined || state === 'unknown')
      return no(404, unknownProfile(profile ?? '', gateway.profileWord()));
    if (state === 'disabled') return no(403, disabledProfile(profile, gateway.profileWord(profile)));
    const wanted = query.get('front');
    if (wanted !== null && wanted !== 'compact' && wanted !== 'aggregate')
      return no(400, { message: '"front" must be compact or aggregate', hint: 'leave it out, or correct it' });
    const front = wanted ?? own;
    return serve({ request, response, profile, front, principal }, mcp);
  };
}
