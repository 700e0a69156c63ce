/** What happens to every call: find → authorize → check → call → record. The only place that sends downstream work upstream. */
import type { Catalog, ServerEntry } from '../catalog/catalog.ts';
import type { ListedTool, Tool } from '../catalog/list.ts';
import { McpxError, RpcError } from '../errors.ts';
import type { Outcome, Stats } from '../observe/stats.ts';
import type { Access } from '../policy/access.ts';
import { nearest } from '../render/text.ts';
import type { Caller, Pool } from '../upstream/pool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import type { ArgumentChecker, Problem } from './arguments.ts';

/** The result of a tool as the upstream sent it; unknown fields survive. */
export interface ToolResult extends Record<string, unknown> {
  content?: unknown[];
  structuredContent?: unknown;
  isError?: boolean;
}

export interface ToolCall {
  server: string;
  tool: string;
  /** As the downstream sent them: an object, a JSON string of one, or nothing. */
  arguments?: unknown;
  caller: Caller;
  signal?: AbortSignal;
  progress?: (params: Params) => void;
  /** `_meta` of the downstream's request, without its progress token. */
  meta?: Params;
  /** `verbatim` leaves the arguments alone, for a front that must be indistinguishable from the upstream (default `checked`). */
  mode?: 'checked' | 'verbatim';
}

/** The facts behind a failed check, for whoever words the answer. */
export interface ArgumentFault {
  server: string;
  tool: Tool;
  problems: Problem[];
}

/** The view that a downstream has of a profile. */
export interface Router {
  /** Servers in config order, each with the tools that may be seen. */
  servers(): ServerView[];
  /** Grows whenever what `servers` answers may have changed. */
  revision(): number;
  /** One server, listed first if it has not been; throws not_found with the nearest names. */
  server(name: string): Promise<ServerView>;
  /** One tool; throws not_found with the nearest names. */
  tool(server: string, tool: string): Promise<Tool>;
  /** Servers that have a tool of this name. */
  owners(tool: string): string[];
  call(call: ToolCall): Promise<ToolResult>;
}

export interface ServerView {
  name: string;
  entry: ServerEntry;
  tools: Tool[];
}

export interface RouterDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'ensure' | 'verify' | 'revision'>;
  pool: Pick<Pool, 'get'>;
  access: Access;
  checker: ArgumentChecker;
  stats: Pick<Stats, 'record'>;
}

export function createRouter(deps: RouterDeps): Router {
  const { catalog, pool, access, checker, stats } = deps;

  const servers = (): ServerView[] => catalog.servers().map((entry) => view(entry, access));

  async function server(name: string): Promise<ServerView> {
    const entry = catalog.server(name);
    if (entry === undefined) throw unknownServer(name, catalog.servers());
    await catalog.ensure(name);
    return view(entry, access);
  }

  async function find(serverName: string, toolName: string): Promise<ListedTool> {
    await server(serverName);
    const allowed = access.allows({ server: serverName, kind: 'tool', name: toolName });
    const known = allowed ? catalog.find(serverName, toolName) : undefined;
    if (known !== undefined) return known;
    // What is on the disk may be older than the tool.
    await catalog.verify(serverName);
    const listed = allowed ? catalog.find(serverName, toolName) : undefined;
    if (listed !== undefined) return listed;
    const { entry, tools } = await server(serverName);
    if (entry.listing.kind === 'failed' && tools.length === 0) throw entry.listing.error;
    throw unknownTool(serverName, toolName, tools);
  }

  const check = async (request: ToolCall, tool: Tool) =>
    request.mode === 'verbatim'
      ? { ok: true as const, args: request.arguments }
      : checker.check(tool, request.arguments);

  async function call(request: ToolCall): Promise<ToolResult> {
    const { tool, upstreamName } = await find(request.server, request.tool);
    const started = performance.now();
    const record = (outcome: Outcome) =>
      stats.record({ server: request.server, tool: tool.name, ms: performance.now() - started, outcome });

    const checked = await check(request, tool);
    if (!checked.ok) {
      record('refused');
      throw badArguments({ server: request.server, tool, problems: checked.problems });
    }
    const connection = pool.get(request.server, request.caller);
    if (connection === undefined) throw unknownServer(request.server, catalog.servers());
    try {
      const params = { name: upstreamName, arguments: checked.args, ...(request.meta && { _meta: request.meta }) };
      const result = readResult(request, await connection.request('tools/call', params, passOn(request)));
      record(result.isError === true ? 'tool_error' : 'ok');
      return result;
    } catch (error) {
      record('failed');
      throw error instanceof RpcError ? error : describe(error, request);
    }
  }

  return {
    servers,
    revision: () => catalog.revision,
    server,
    tool: async (serverName, toolName) => (await find(serverName, toolName)).tool,
    owners: (toolName) =>
      servers()
        .filter(({ tools }) => tools.some((tool) => tool.name === toolName))
        .map(({ name }) => name),
    call,
  };
}

function view(entry: ServerEntry, access: Access): ServerView {
  const visible = entry.offer.tools.filter(({ tool }) =>
    access.allows({ server: entry.name, kind: 'tool', name: tool.name }),
  );
  return { name: entry.name, entry, tools: visible.map(({ tool }) => tool) };
}

function passOn({ signal, progress }: ToolCall) {
  return { ...(signal && { signal }), ...(progress && { progress }) };
}

function readResult(request: ToolCall, result: unknown): ToolResult {
  if (isRecord(result)) return result as ToolResult;
  throw new McpxError('protocol', `"${request.server}.${request.tool}" answered with something that is no result`);
}

/** Our own failures name the tool; an upstream's own words are left alone. */
function describe(error: unknown, { server, tool }: ToolCall): unknown {
  if (!(error instanceof McpxError) || error.message.includes(`"${server}"`)) return error;
  return new McpxError(error.code, `"${server}.${tool}": ${error.message}`, { hint: error.hint, cause: error });
}

const NO_SERVERS = 'no server is configured yet: add one to the file that `mcpx config path` names';

function unknownServer(name: string, entries: ServerEntry[]): McpxError {
  const names = entries.map((entry) => entry.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `no server is called "${name}"${didYouMean(close)}`, {
    hint: names.length === 0 ? NO_SERVERS : `the servers are: ${some(names)}`,
    data: { nearest: close },
  });
}

function unknownTool(server: string, name: string, tools: Tool[]): McpxError {
  const names = tools.map((tool) => tool.name);
  const close = nearest(name, names);
  return new McpxError('not_found', `server "${server}" has no tool "${name}"${didYouMean(close)}`, {
    hint: names.length === 0 ? `"${server}" offers no tools` : `its tools are: ${some(names)}`,
    data: { nearest: close },
  });
}

/** Names in an error, sorted; a long list is cut and counted. */
const MAX_NAMES = 40;

function some(names: string[]): string {
  const shown = [...names].sort().slice(0, MAX_NAMES).join(', ');
  return names.length <= MAX_NAMES ? shown : `${shown} and ${names.length - MAX_NAMES} more`;
}

function didYouMean(names: string[]): string {
  return names.length === 0 ? '' : `; did you mean ${names.map((name) => `"${name}"`).join(' or ')}?`;
}

function badArguments(fault: ArgumentFault): McpxError {
  const lines = fault.problems.map(({ path, message }) => `  ${path === '' ? 'arguments' : path}: ${message}`);
  return new McpxError(
    'arguments',
    [`the arguments do not fit "${fault.server}.${fault.tool.name}"`, ...lines].join('\n'),
    { data: fault },
  );
}
