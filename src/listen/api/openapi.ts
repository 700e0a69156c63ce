/** Generates `GET /api/openapi.json`, the OpenAPI description of the HTTP routes. */
import { VERSION } from '../../version.ts';
import type { Route } from '../http/route.ts';

interface Described {
  summary: string;
  /** The name of the request body's schema. */
  body?: string;
  /** The name of the response's schema, and its status if it is not 200. */
  answer?: string;
  status?: number;
  /** Statuses in addition to those that every route of its kind has. */
  failures?: readonly number[];
  query?: Record<string, string>;
  admin?: true;
  /** True if errors are JSON-RPC errors. */
  rpc?: true;
}

const FRONT = { front: 'compact or aggregate, where not the one of the route' };
const MCP = { summary: 'MCP, Streamable HTTP', failures: [400, 404, 406], query: FRONT, rpc: true } as const;
const MCP_POST = { ...MCP, body: 'Message', answer: 'Message' } as const;
const SSE = { summary: 'MCP, the older HTTP+SSE; where it is switched on', failures: [404, 503], rpc: true } as const;
const PAGED = { limit: 'how many, at most 1000', offset: 'how many to leave out' };
const RESOURCE = { summary: 'metadata for OAuth clients (RFC 9728); where OAuth is on', answer: 'Resource' } as const;
const OAUTH = (summary: string) => ({
  summary: `${summary}; where the built-in authorization server is on`,
  failures: [400],
});
const INSIDE = [400, 404];
const CHANGE = [404, 409, 422, 500];

/** One entry for every route and method; a test checks that both lists match. */
export const OPERATIONS: Readonly<Record<string, Described>> = {
  'POST /mcp': MCP_POST,
  'GET /mcp': MCP,
  'DELETE /mcp': MCP,
  'POST /mcp/{profile}': MCP_POST,
  'GET /mcp/{profile}': MCP,
  'DELETE /mcp/{profile}': MCP,
  'POST /api/{profile}/mcp': MCP_POST,
  'GET /api/{profile}/mcp': MCP,
  'DELETE /api/{profile}/mcp': MCP,
  'GET /sse': SSE,
  'GET /sse/{profile}': SSE,
  'POST /messages': {
    ...{ summary: 'messages of a session of HTTP+SSE', query: { sessionId: 'as the stream announced it' } },
    ...{ body: 'Message', status: 202, failures: [400, 404], rpc: true },
  },
  'GET /api/status': { summary: 'profiles, servers, calls and savings', answer: 'Status' },
  'GET /': { summary: 'the status page, for people' },
  'GET /api/events': { summary: 'calls and state changes, as server-sent events', failures: [503] },
  'GET /api/openapi.json': { summary: 'this document' },
  'POST /api/reload': { summary: 'read the config again', answer: 'Changes', failures: CHANGE, admin: true },
  'POST /api/servers': {
    ...{ summary: 'add a server', body: 'NewServer', answer: 'Changes', status: 201, failures: CHANGE, admin: true },
  },
  'PATCH /api/servers/{name}': {
    summary: 'change fields of a server; null removes one',
    ...{ body: 'Entry', answer: 'Changes', failures: CHANGE, admin: true },
  },
  'DELETE /api/servers/{name}': { summary: 'remove a server', answer: 'Changes', failures: CHANGE, admin: true },
  'GET /api/{profile}/servers': {
    ...{ summary: 'the servers of a profile and their states', answer: 'Servers', failures: INSIDE },
  },
  'GET /api/{profile}/tools': {
    summary: 'the tools of a profile',
    query: {
      ...PAGED,
      q: 'search, the best first',
      server: 'of this server only',
      signatures: 'true adds how each is called',
    },
    ...{ answer: 'Tools', failures: INSIDE },
  },
  'GET /api/{profile}/tokens': {
    summary: 'what a client reads before the first question, without the two tools and with them; estimates',
    ...{ answer: 'Reading', failures: INSIDE },
  },
  'GET /api/{profile}/resources': {
    summary: 'the resources and templates of a profile',
    ...{ query: PAGED, answer: 'Resources', failures: INSIDE },
  },
  'GET /api/{profile}/prompts': {
    ...{ summary: 'the prompts of a profile', query: PAGED, answer: 'Prompts', failures: INSIDE },
  },
  'POST /api/{profile}/tools/{server}/{tool}': {
    ...{ summary: 'call a tool with the body as its arguments', body: 'Arguments', answer: 'Result' },
    failures: [404, 422, 424, 499, 500, 502, 504],
  },
  'GET /healthz': { summary: 'liveness probe; needs no token' },
  'HEAD /healthz': { summary: 'liveness probe; needs no token' },
  'GET /readyz': { summary: 'readiness probe; needs no token', failures: [503] },
  'HEAD /readyz': { summary: 'readiness probe; needs no token', failures: [503] },
  'GET /.well-known/oauth-protected-resource': RESOURCE,
  'GET /.well-known/oauth-protected-resource/mcp': RESOURCE,
  'GET /.well-known/oauth-protected-resource/mcp/{profile}': RESOURCE,
  'GET /.well-known/oauth-protected-resource/api/{profile}/mcp': RESOURCE,
  'GET /.well-known/oauth-protected-resource/sse': RESOURCE,
  'GET /.well-known/oauth-protected-resource/sse/{profile}': RESOURCE,
  'GET /.well-known/oauth-authorization-server': OAUTH('metadata'),
  'GET /.well-known/openid-configuration': OAUTH('the same metadata'),
  'GET /authorize': OAUTH('the page on which a user lets a client in'),
  'POST /authorize': OAUTH('the answer of the user'),
  'POST /token': OAUTH('tokens for a code or a refresh token'),
  'POST /register': { ...OAUTH('dynamic registration of a client'), status: 201 },
  'POST /revoke': OAUTH('the end of a token'),
  'GET /metrics': { summary: 'numbers for Prometheus; where it is switched on' },
};

/** The descriptions of the statuses, on all routes. */
const MEANINGS: Readonly<Record<number, string>> = {
  200: 'it worked',
  201: 'it was added',
  202: 'accepted; the response is sent on the stream of the session',
  400: 'the request is malformed',
  401: 'a token is missing or wrong',
  403: 'refused: the Host, the Origin, a disabled profile, a missing right, or a missing confirmation',
  404: 'not found',
  406: 'no format that the client accepts',
  408: 'the request took too long to arrive',
  409: 'it exists already, or there is no config file',
  413: 'the body is too large',
  414: 'the URL is too long',
  415: 'the body is not declared as JSON, or is compressed',
  422: 'the arguments do not fit the tool, or the config would be wrong',
  424: 'the tool itself answered that it failed; the body is its result',
  429: 'too many requests: see Retry-After',
  499: 'the client left',
  500: 'something is wrong inside of mcpx; its log has the request id',
  502: 'the server cannot be started or reached, refuses, or broke the protocol',
  503: 'overloaded, or stopping: see Retry-After',
  504: 'the server did not answer in time',
};

export function describeApi(routes: readonly Route[]): unknown {
  return {
    openapi: '3.1.0',
    info: { title: 'mcpx', version: VERSION, description: 'MCP servers behind one gateway, for scripts.' },
    paths: Object.fromEntries(routes.map((route) => [route.path, pathItem(route)])),
    components: {
      securitySchemes: { token: { type: 'http', scheme: 'bearer' } },
      schemas: SCHEMAS,
    },
  };
}

function pathItem(route: Route): unknown {
  const parameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    ...{ name, in: 'path', required: true, schema: { type: 'string' } },
  }));
  const operations = Object.keys(route.methods).map((method) => {
    const described = OPERATIONS[`${method} ${route.path}`] ?? { summary: '' };
    return [method.toLowerCase(), { operationId: nameOf(method, route.path), ...operation(described, method, route) }];
  });
  return { ...(parameters.length > 0 && { parameters }), ...Object.fromEntries(operations) };
}

/**
 * Returns the operation id, such as `postApiProfileToolsServerTool` for `POST /api/{profile}/tools/{server}/{tool}`.
 */
function nameOf(method: string, path: string): string {
  const words = path.match(/[a-z]+/g) ?? ['page'];
  return method.toLowerCase() + words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

/** Statuses that the listener itself may send before the route is served. */
const GUARDED = [401, 403, 414, 503];
const WITH_BODY = [400, 408, 413, 415];

function failuresOf({ failures = [], body }: Described, method: string, { open }: Route): number[] {
  const own = [...failures, ...(body === undefined ? [] : WITH_BODY)];
  const all = open ? own : [...own, ...GUARDED, ...(method === 'POST' ? [429] : [])];
  return [...new Set(all)].sort((one, other) => one - other);
}

function operation(described: Described, method: string, route: Route) {
  const { summary, body, answer, status = 200, query = {}, admin, rpc } = described;
  const contentOf = (one: number) => {
    if (one === status) return answer;
    return one === 424 ? 'Result' : rpc ? 'RpcError' : 'Error';
  };
  const responses = [status, ...failuresOf(described, method, route)].map((one) => {
    const content = contentOf(one);
    return [String(one), { description: MEANINGS[one] ?? '', ...(content && { content: jsonOf(content) }) }];
  });
  const parameters = Object.entries(query).map(([name, description]) => ({
    ...{ name, in: 'query', description, schema: { type: 'string' } },
  }));
  return {
    summary: admin ? `${summary} (admin tokens only)` : summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body !== undefined && { requestBody: { required: true, content: jsonOf(body) } }),
    responses: Object.fromEntries(responses),
    ...(!route.open && { security: [{ token: [] }, ...(admin ? [] : [{}])] }),
  };
}

function jsonOf(name: string): unknown {
  return { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } };
}

const NAMES = { type: 'array', items: { type: 'string' } };
const TOTAL = { type: 'integer', description: 'how many there are in all' };

/** The schema of a list: each item as its server describes it, with the name of the server. */
function listOf(identity: string): unknown {
  const properties = { server: { type: 'string' }, [identity]: { type: 'string' } };
  return { type: 'array', items: { type: 'object', properties, required: ['server', identity] } };
}

const SCHEMAS = {
  Arguments: { type: 'object', description: 'as the inputSchema of the tool says' },
  Result: {
    type: 'object',
    description: 'the result of the tool as its server sent it',
    properties: { content: { type: 'array' }, structuredContent: {}, isError: { type: 'boolean' } },
  },
  Entry: { type: 'object', description: 'fields of a server, as in the config file' },
  NewServer: {
    type: 'object',
    description: 'a server as in the config file, with its name',
    properties: { name: { type: 'string' }, url: { type: 'string' } },
    required: ['name'],
  },
  Changes: {
    type: 'object',
    properties: { added: NAMES, changed: NAMES, removed: NAMES, restart: NAMES, servers: { type: 'array' } },
  },
  Reading: {
    type: 'object',
    properties: {
      ...{ tools: { type: 'integer' }, without: { type: 'integer' }, with: { type: 'integer' } },
      deferring: {
        type: 'array',
        description: 'clients that show a model little of a tool before it searches, and what they read',
        items: { type: 'object', required: ['client', 'without', 'with'] },
      },
    },
    required: ['tools', 'without', 'with', 'deferring'],
  },
  Status: {
    type: 'object',
    properties: {
      ...{ name: { const: 'mcpx' }, version: { type: 'string' }, uptime: { type: 'number', description: 'seconds' } },
      profiles: { type: 'array', items: { type: 'object', required: ['name', 'enabled', 'servers'] } },
      ...{ calls: { type: 'object' }, savings: { type: 'object' } },
      problems: { type: 'array', items: { type: 'string' } },
    },
    required: ['name', 'version', 'uptime', 'profiles', 'calls', 'savings'],
  },
  Servers: {
    type: 'object',
    properties: {
      servers: { type: 'array', items: { type: 'object', required: ['name', 'type', 'state', 'sentence', 'tools'] } },
    },
    required: ['servers'],
  },
  Tools: { type: 'object', properties: { tools: listOf('name'), total: TOTAL }, required: ['tools', 'total'] },
  Resources: {
    type: 'object',
    properties: { resources: listOf('uri'), templates: listOf('uriTemplate'), total: TOTAL },
    required: ['resources', 'templates', 'total'],
  },
  Resource: {
    type: 'object',
    properties: { resource: { type: 'string' }, authorization_servers: NAMES, scopes_supported: NAMES },
    required: ['resource', 'authorization_servers'],
  },
  Prompts: { type: 'object', properties: { prompts: listOf('name'), total: TOTAL }, required: ['prompts', 'total'] },
  Message: { description: 'JSON-RPC as MCP has it: a message, or a list of them in revisions that have lists' },
  RpcError: {
    type: 'object',
    properties: {
      jsonrpc: { const: '2.0' },
      error: {
        type: 'object',
        properties: { code: { type: 'integer' }, message: { type: 'string' }, data: {} },
        required: ['code', 'message'],
      },
    },
    required: ['jsonrpc', 'error'],
  },
  Error: {
    type: 'object',
    properties: {
      ...{
        error: { type: 'string' },
        code: { type: 'string' },
        hint: { type: 'string' },
        requestId: { type: 'string' },
      },
      problems: { type: 'array' },
    },
    required: ['error', 'code', 'hint', 'requestId'],
  },
};
