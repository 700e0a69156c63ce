/** The table of HTTP routes, and the profile and front that a URL selects. */
import type { FrontKind, Settings } from '../../config/config.ts';
import { serveAdd, serveChange, serveReload, serveRemove } from '../api/admin-routes.ts';
import { serveEvents, serveMetrics } from '../api/live-events.ts';
import { describeApi } from '../api/openapi.ts';
import {
  serveCall,
  serveHealth,
  servePrompts,
  serveReady,
  serveResources,
  serveServers,
  serveTokens,
  serveTools,
} from '../api/rest.ts';
import { OAUTH_ROUTES } from '../authorization-server/oauth-routes.ts';
import { serveMessages, serveSse } from '../mcp/legacy-sse.ts';
import { serveDelete, serveGet, servePost } from '../mcp/mcp.ts';
import { type McpDeps, type McpRequest, profileState, rejectPost } from '../mcp/mcp-request.ts';
import { sendPage } from '../page/page.ts';
import { disabledProfile, type Reason, unknownProfile } from './error-response.ts';
import { sendJson } from './http-response.ts';
import { hasOAuth, RESOURCE_METADATA, serveResourceMetadata, withoutOwnPath } from './protected-resource.ts';
import type { Route, Serve } from './route.ts';

type ServeMcp = (exchange: McpRequest, deps: McpDeps) => void | Promise<void>;

const mcp = (front?: FrontKind): Route['methods'] => ({
  POST: openMcp(servePost, front),
  GET: openMcp(serveGet, front),
  DELETE: openMcp(serveDelete, front),
});
const metadata = (path: string): Route => ({
  path: `${RESOURCE_METADATA}${path}`,
  methods: { GET: serveResourceMetadata },
  ...{ anonymous: true, anyOrigin: true, offered: hasOAuth },
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
  ...['', '/mcp', '/mcp/{profile}', '/api/{profile}/mcp', '/sse', '/sse/{profile}'].map(metadata),
  ...OAUTH_ROUTES,
  { path: '/metrics', methods: { GET: serveMetrics }, offered: ({ metrics }) => metrics },
];

interface Found {
  route: Route;
  parts: ReadonlyMap<string, string>;
}

/** Routes without path parameters, which serve most requests. */
const PLAIN: ReadonlyMap<string, Found> = new Map(
  ROUTES.filter(({ path }) => !path.includes('{')).map((route) => [route.path, { route, parts: new Map() }]),
);
const ROWS = ROUTES.map((route) => ({ route, segments: route.path.split('/') }));

/**
 * Returns the route of a path. Routes with a literal segment are listed before those with a parameter in the same
 * place.
 */
export function findRoute(asked: string, settings: Settings['http']): Found | undefined {
  // A trailing slash is ignored: `/mcp/` is `/mcp`.
  const path = asked.length > 1 && asked.endsWith('/') ? asked.slice(0, -1) : asked;
  const plain = PLAIN.get(path);
  if (plain !== undefined && (plain.route.offered?.(settings) ?? true)) return plain;
  const given = withoutOwnPath(path, settings.auth.oauth).split('/');
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

/** Resolves the profile and front of a URL, then serves MCP. */
function openMcp(serve: ServeMcp, own?: FrontKind): Serve {
  return (exchange, { gateway, mcp }) => {
    const { request, response, query, principal, parts } = exchange;
    const no = (status: number, why: Reason) => rejectPost(exchange, mcp, status, why);
    const profile = parts.get('profile') ?? gateway.mainProfile;
    const state = profile === undefined ? 'unknown' : profileState(profile, exchange, gateway);
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
