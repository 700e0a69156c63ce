/** What happens to every request: find → authorize → check → call → record. The only place that sends downstream work upstream. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { Item, ListedTool, Tool } from '../catalog/list.ts';
import { McpxError, RpcError } from '../errors.ts';
import type { Calls } from '../observe/observer.ts';
import type { Access, Kind } from '../policy/access.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Pool } from '../upstream/pool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { ArgumentChecker } from './arguments.ts';
import { createHeartbeat } from './heartbeat.ts';
import { badArguments, unknownServer, unknownTool } from './missing.ts';
import { towards, type WayBack } from './reverse.ts';

/** The result of a tool as the upstream sent it; unknown fields survive. */
export interface ToolResult extends Record<string, unknown> {
  content?: unknown[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** A downstream's request under way. */
export interface Way extends WayBack {
  signal?: AbortSignal;
  progress?: (params: Params) => void;
  /** `_meta` of the downstream's request, without its progress token. */
  meta?: Params;
  /** The id of the HTTP request that brought it. */
  requestId?: string;
}

export interface ToolCall extends Way {
  server: string;
  tool: string;
  /** As the downstream sent them: an object, a JSON string of one, or nothing. */
  arguments?: unknown;
  /** `verbatim` leaves the arguments alone, for a front that must be indistinguishable from the upstream (default `checked`). */
  mode?: 'checked' | 'verbatim';
}

/** Anything but a tool call that one server answers. */
export interface Forward extends Way {
  server: string;
  /** What is authorized: a prompt by its name, a resource by its own URI. */
  kind: Exclude<Kind, 'tool'>;
  name: string;
  method: string;
  params: Params;
}

/** The view that a downstream has of a profile. */
export interface Router {
  /** Servers in the order of look-up, each with what may be seen of it. */
  servers(): ServerView[];
  /** Another one whenever what `servers` answers may have changed. */
  revision(): string;
  /** One server, listed first if it has not been; throws not_found with the nearest names. */
  server(name: string): Promise<ServerView>;
  /** One tool; throws not_found with the nearest names. */
  tool(server: string, tool: string): Promise<Tool>;
  /** Servers that have a tool of this name. */
  owners(tool: string): string[];
  call(call: ToolCall): Promise<ToolResult>;
  /** Throws not_found for what is denied, exactly as for what is missing. */
  forward(request: Forward): Promise<unknown>;
}

export interface ServerView {
  name: string;
  entry: ServerEntry;
  tools: Tool[];
  resources: Item[];
  templates: Item[];
  prompts: Item[];
}

export interface RouterDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'ensure' | 'verify' | 'revision'>;
  pool: Pick<Pool, 'get'>;
  access: Access;
  /** The set of capabilities that the client offers, see `offeredKey` (default: whatever was seen last). */
  offered?: () => string | undefined;
  checker: ArgumentChecker;
  /** Where calls are told. */
  calls: Calls;
}

export function createRouter(deps: RouterDeps): Router {
  const { catalog, pool, access, offered = () => undefined, checker, calls } = deps;

  const entries = () => catalog.servers(offered()).filter(({ name }) => access.allowsServer(name));
  const servers = (): ServerView[] => entries().map((entry) => view(entry, access));

  async function known(name: string): Promise<ServerEntry> {
    const entry = access.allowsServer(name) ? catalog.server(name, offered()) : undefined;
    if (entry === undefined) throw unknownServer(name, entries());
    if (entry.listing.kind === 'listed') return entry;
    await catalog.ensure(name);
    return catalog.server(name, offered()) ?? entry;
  }

  async function find(server: string, tool: string): Promise<ListedTool> {
    const entry = await known(server);
    const look = () =>
      access.allows({ server, kind: 'tool', name: tool }) ? catalog.find(server, tool, offered()) : undefined;
    const found = look();
    if (found !== undefined) return found;
    // What is on the disk may be older than the tool.
    await catalog.verify(server);
    const listed = look();
    if (listed !== undefined) return listed;
    const { tools } = view(catalog.server(server, offered()) ?? entry, access);
    if (entry.listing.kind === 'failed' && tools.length === 0) throw entry.listing.error;
    throw unknownTool(server, tool, tools);
  }

  function connectionTo(server: string, way: Way): Connection {
    const connection = pool.get(server, way.caller);
    if (connection === undefined) throw unknownServer(server, entries());
    return connection;
  }

  const check = async (call: ToolCall, tool: Tool) =>
    call.mode === 'verbatim' ? { ok: true as const, args: call.arguments } : checker.check(tool, call.arguments);

  async function call(request: ToolCall): Promise<ToolResult> {
    const { server, meta } = request;
    const { tool, upstreamName } = await find(server, request.tool);
    const record = calls.begin({
      ...{ kind: 'tool', server, name: tool.name, method: 'tools/call' },
      ...{ request: request.requestId, arguments: request.arguments },
    });
    const checked = await check(request, tool);
    if (!checked.ok) {
      record('refused', { reason: 'arguments' });
      throw badArguments({ server, tool, problems: checked.problems });
    }
    const connection = connectionTo(server, request);
    try {
      const params = { name: upstreamName, arguments: checked.args, ...(meta && { _meta: meta }) };
      const result = readResult(
        request,
        await send(connection, 'tools/call', params, { ...request, repeatable: mayRepeat(tool) }),
      );
      record(result.isError === true ? 'tool_error' : 'ok', { result });
      return result;
    } catch (error) {
      record('failed', { reason: reasonOf(error) });
      throw describe(error, server, request.tool);
    }
  }

  async function forward(request: Forward): Promise<unknown> {
    const { server, kind, name, method, params, meta } = request;
    await known(server);
    if (!access.allows({ server, kind, name })) throw unknownThing(kind, name);
    const record = calls.begin({ kind, server, name, method, request: request.requestId, arguments: params });
    try {
      const whole = meta === undefined ? params : { ...params, _meta: meta };
      const result = await send(connectionTo(server, request), method, whole, { ...request, repeatable: true });
      record('ok', { result });
      return result;
    } catch (error) {
      record('failed', { reason: reasonOf(error) });
      throw describe(error, server, name);
    }
  }

  return {
    servers,
    revision: () => `${catalog.revision} ${offered() ?? ''}`,
    server: async (name) => view(await known(name), access),
    tool: async (server, tool) => (await find(server, tool)).tool,
    owners: (tool) =>
      servers()
        .filter(({ tools }) => tools.some(({ name }) => name === tool))
        .map(({ name }) => name),
    call,
    forward,
  };
}

interface Repeatable {
  /** Whether it may be sent again when the connection breaks under it. */
  repeatable: boolean;
}

/** A call runs at most once, unless its server says that twice is as good. */
function mayRepeat({ annotations }: Tool): boolean {
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Sends one request with everything that ties it to its client: cancellation, progress, questions. */
async function send(connection: Connection, method: string, params: Params, way: Way & Repeatable): Promise<unknown> {
  const heartbeat = way.progress && createHeartbeat(way.progress);
  try {
    return await connection.request(method, params, {
      ...towards(connection.name, way),
      caller: way.caller.key,
      repeatable: way.repeatable,
      ...(way.signal && { signal: way.signal }),
      ...(heartbeat && { progress: heartbeat.progress }),
    });
  } finally {
    heartbeat?.stop();
  }
}

/** A code says enough for a record, and holds nothing of what was sent. */
function reasonOf(error: unknown): string {
  if (error instanceof RpcError) return `rpc ${error.code}`;
  return error instanceof McpxError ? error.code : 'failed';
}

function view(entry: ServerEntry, access: Access): ServerView {
  const { name: server, offer } = entry;
  const seen = (items: Item[], kind: Kind, key: string) =>
    items.filter((item) => access.allows({ server, kind, name: String(item[key]) }));
  return {
    name: server,
    entry,
    tools: offer.tools.map(({ tool }) => tool).filter(({ name }) => access.allows({ server, kind: 'tool', name })),
    resources: seen(offer.resources, 'resource', 'uri'),
    templates: seen(offer.templates, 'resource', 'uriTemplate'),
    prompts: seen(offer.prompts, 'prompt', 'name'),
  };
}

function readResult(request: ToolCall, result: unknown): ToolResult {
  if (isRecord(result)) return result as ToolResult;
  throw new McpxError('protocol', `"${request.server}.${request.tool}" answered with something that is no result`);
}

/** Our own failures name what was asked for; an upstream's own words are left alone. */
function describe(error: unknown, server: string, name: string): unknown {
  if (error instanceof RpcError) return error;
  if (!(error instanceof McpxError) || error.message.includes(`"${server}"`)) return error;
  return new McpxError(error.code, `"${server}.${name}": ${error.message}`, { hint: error.hint, cause: error });
}

function unknownThing(kind: string, name: string): McpxError {
  return new McpxError('not_found', `there is no ${kind} "${name}"`);
}
