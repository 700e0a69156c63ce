/** Routes requests: find → authorize → check → call → record. No other file sends downstream requests upstream. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Named } from '../catalog/exposed-names.ts';
import type { ListedTool, Tool } from '../catalog/listing.ts';
import { FREE, type SessionPins } from '../catalog/pins/pins.ts';
import { McpxError } from '../errors.ts';
import type { CallStart, Calls } from '../observe/observer.ts';
import type { Access, Kind } from '../policy/access.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Pool } from '../upstream/pool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { Unparsed } from '../wire/unparsed-result.ts';
import { ADMIT_ALL, type Admission, enter, settled } from './admission.ts';
import type { ArgumentChecker } from './arguments.ts';
import { type CallHistory, createCallHistory } from './call-history.ts';
import { type Looked, ShownTool } from './definition-check.ts';
import { dispatch } from './dispatch.ts';
import { describe, isHeld, noResult, reasonOf, unknownThing, withdrawn } from './failures.ts';
import { createFinder } from './find-tool.ts';
import { badArguments, unknownServer } from './not-found.ts';
import { readShallow } from './partial-parse.ts';
import { type Forward, permits, type RequestContext, type ToolCall, type ToolResult } from './request-context.ts';
import { createTaskOwners, type OwnTasks } from './task-owners.ts';
import { createViews, type ServerView } from './views.ts';

export type { Forward, RequestContext, ToolCall, ToolResult } from './request-context.ts';
export type { ServerView } from './views.ts';

/** Access of one downstream client to the servers of a profile. */
export interface Router {
  /**
   * Servers in lookup order: local modules first, then the config's order; each with the objects that the client may
   * see.
   */
  servers(): ServerView[];
  /** The path of the config; undefined if the client may not know it. */
  readonly configFile: string | undefined;
  /** True if the client may use anything of the server, or the given resource. */
  sees(server: string, resource?: string): boolean;
  /** True if the client may use everything of the server. */
  seesAll(server: string): boolean;
  /** True if the client may use the server and the server is not listed yet. */
  awaits(server: string): boolean;
  /** A string that changes whenever the result of `servers` may have changed. */
  revision(): string;
  /** Returns a server and lists it first if necessary; throws not_found with the nearest names. */
  server(name: string): Promise<ServerView>;
  /** Returns a tool; throws not_found with the nearest names. */
  tool(server: string, tool: string): Promise<Tool>;
  call(call: ToolCall): Promise<ToolResult>;
  /** Outcomes of this client's earlier calls. */
  readonly experience: Pick<CallHistory, 'hasFailed' | 'lastArguments'>;
  /** Sends a request to one server. Throws the same error for a denied object as for a missing one. */
  forward(request: Forward): Promise<unknown>;
  /** The tasks of this client. */
  readonly tasks: Pick<OwnTasks, 'servers' | 'via' | 'mayOwn'>;
  /** Records a denial if the unknown name that a client used belongs to a denied object, which `pick` finds. */
  missed(kind: Kind, pick: (denied: Named[]) => Named | undefined, way: RequestContext): void;
}

export interface RouterDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'ensure' | 'revision' | 'isCurrent' | 'renew'>;
  /** Lists a server again for this client, for a name that the catalog does not have. */
  verify: (server: string) => Promise<void>;
  pool: Pick<Pool, 'get'>;
  access: Access;
  /** Key of the capabilities that the client declares, see `offeredKey` (default: the last ones seen). */
  offered?: () => string | undefined;
  checker: ArgumentChecker;
  /** The record of calls. */
  calls: Calls;
  /** Defaults to a task list of its own. */
  tasks?: OwnTasks;
  /** Defaults to no confirmation and no limit. */
  admission?: Admission;
  /** Tool definitions pinned by this client (default: none), and a number that changes when they do. */
  pins?: SessionPins;
  pinned?: () => number;
  /** The path of the config, for messages to clients of this machine. */
  configFile?: string | undefined;
}

export function createRouter(deps: RouterDeps): Router {
  const { catalog, verify, pool, access, offered = () => undefined, checker, calls, admission = ADMIT_ALL } = deps;
  const { pins = FREE, pinned = () => 0, configFile } = deps;
  const tasks = deps.tasks ?? createTaskOwners().of({ holder: '', known: 'by session' });
  const views = createViews({ catalog, access, offered, pins, pinned });

  const servers = (): ServerView[] => views.entries().map(views.of);
  const experience = createCallHistory();

  const { known, find, missing, awaits } = createFinder({ catalog, verify, views, configFile });
  const shown = { catalog, views, missing };

  function connectionTo(server: string, way: RequestContext): Connection {
    // The client may have left while the server was listed; nothing would clean up after it.
    if (way.signal?.aborted) throw withdrawn(server);
    const connection = pool.get(server, way.caller);
    if (connection === undefined) throw unknownServer(server, views.entries(), configFile);
    return connection;
  }

  /** Returns the tool without waiting if its server is listed. */
  const ready = (server: string, tool: string): ListedTool | undefined =>
    catalog.server(server, offered())?.listing.kind === 'listed' ? views.tool(server, tool) : undefined;

  /** Returns the arguments of an earlier call if they still pass the check. */
  async function stillFitting(tool: Tool, args: Params | undefined): Promise<Params | undefined> {
    return args !== undefined && (await checker.check(tool, args)).ok ? args : undefined;
  }

  /** A denied object looks missing to the client; only the record differs. */
  const denied = (call: CallStart) => calls.deny(call);

  const start = ({ server, requestId, arguments: args }: ToolCall, name: string): Recorder =>
    calls.begin({ kind: 'tool', server, name, method: 'tools/call', request: requestId, arguments: args });

  /** Starts the record before the server is listed: a waiting call is visible, and a failed start is recorded. */
  async function findAndBegin(request: ToolCall): Promise<ToolResult> {
    const { server, tool: name, requestId } = request;
    const waiting = awaits(server) ? start(request, name) : undefined;
    let found: ListedTool;
    try {
      found = await find(server, name);
    } catch (error) {
      const isMissing = error instanceof McpxError && error.code === 'not_found';
      const reason = reasonOf(error);
      const isDenied = views.denies(server, name) || undefined;
      if (waiting !== undefined || !isMissing)
        (waiting ?? start(request, name))(isMissing ? 'refused' : 'failed', { reason, denied: isDenied });
      else if (isDenied) denied({ kind: 'tool', server, name, method: 'tools/call', request: requestId });
      throw error;
    }
    return begin(request, found, waiting);
  }

  /** Skips the lookup for a listed tool: each additional promise adds latency to a call. */
  function call(request: ToolCall): Promise<ToolResult> {
    const listed = ready(request.server, request.tool);
    return listed === undefined ? findAndBegin(request) : begin(request, listed);
  }

  function begin(request: ToolCall, listed: ListedTool, begun?: Recorder): Promise<ToolResult> {
    const { server } = request;
    const record = begun ?? start(request, listed.tool.name);
    // This precedes the argument check, whose errors would reveal the changed definition.
    const held = views.held(server, listed);
    if (held !== undefined) {
      record('refused', { reason: 'definition' });
      return Promise.reject(held);
    }
    const unwanted = request.unwanted?.(listed.tool);
    if (unwanted !== undefined) {
      record('refused', { reason: reasonOf(unwanted) });
      return Promise.reject(unwanted);
    }
    const looked = { listed, revision: catalog.revision };
    if (request.mode === 'verbatim') return run(request, looked, request.arguments, record);
    return runChecked(request, looked, record);
  }

  async function runChecked(request: ToolCall, looked: Looked, record: Recorder): Promise<ToolResult> {
    const { server } = request;
    const { tool } = looked.listed;
    const checked = await checker.check(tool, request.arguments);
    if (!checked.ok) {
      record('refused', { reason: 'arguments' });
      const worked = await stillFitting(tool, experience.lastArguments(server, tool.name));
      experience.failed(server, tool.name);
      throw badArguments({ server, tool, problems: checked.problems, worked });
    }
    if (checked.notes.length > 0) request.noted?.(checked.notes);
    return run(request, looked, checked.args, record);
  }

  function run(request: ToolCall, looked: Looked, args: unknown, record: Recorder): Promise<ToolResult> {
    const asked = admission.confirm(request, looked.listed.tool, args);
    if (asked === undefined) return carryOut(request, looked, args, record);
    return settled(asked, record).then(() => carryOut(request, looked, args, record));
  }

  /** Admits, sends and records a call, with a single promise. */
  function carryOut(request: ToolCall, looked: Looked, args: unknown, record: Recorder): Promise<ToolResult> {
    const { caller, server } = request;
    const failed = (error: unknown): never => {
      admission.leave(caller.holder, server);
      if (isHeld(error)) record('refused', { reason: 'definition' });
      else record('failed', { reason: reasonOf(error) });
      throw describe(error, request.server, request.tool);
    };
    const succeeded = (via: Connection, received: unknown): ToolResult => {
      const answer = received instanceof Unparsed ? readShallow(received) : received;
      if (!isRecord(answer)) return failed(noResult(request));
      admission.leave(caller.holder, server);
      tasks.note(via, answer);
      return answered(request, looked.listed.tool, args, record, answer);
    };
    try {
      enter(admission, request, record);
    } catch (error) {
      return Promise.reject(error);
    }
    try {
      const via = connectionTo(request.server, request);
      return sendCall(via, request, looked, args).then((answer) => succeeded(via, answer), failed);
    } catch (error) {
      return Promise.reject(error).catch(failed);
    }
  }

  function sendCall(connection: Connection, request: ToolCall, looked: Looked, args: unknown): Promise<unknown> {
    const { meta, mode } = request;
    const { listed } = looked;
    const transparent = mode === 'verbatim';
    const own = { name: listed.upstreamName, arguments: args };
    const extra = transparent ? request.extra : undefined;
    const params = meta || extra ? { ...extra, ...own, ...(meta && { _meta: meta }) } : own;
    const repeatable = isRepeatable(listed.tool.annotations);
    const precondition = new ShownTool(shown, looked, connection, params);
    const how = { transparent, repeatable, verbatim: bytesFor(request), precondition };
    return dispatch(connection, 'tools/call', params, request, how);
  }

  function answered(request: ToolCall, tool: Tool, args: unknown, record: Recorder, result: ToolResult): ToolResult {
    const { server, mode } = request;
    record(result.isError === true ? 'tool_error' : 'ok', { result });
    // Only checked calls store arguments: verbatim calls never show an example.
    if (result.isError === true) experience.failed(server, tool.name);
    else if (mode !== 'verbatim') experience.worked(server, tool.name, args);
    return result;
  }

  async function forward(request: Forward): Promise<unknown> {
    const { server, kind, name, method, params, meta } = request;
    // A server that has connected before gets the request even if its tools are not listed.
    if (views.entry(server)?.handshake === undefined) await known(server);
    const begun: CallStart = { kind, server, name, method, request: request.requestId, arguments: params };
    if (!permits(access, request)) {
      denied(begun);
      throw unknownThing(kind, name);
    }
    const record = calls.begin(begun);
    enter(admission, request, record);
    try {
      const whole = meta === undefined ? params : { ...params, _meta: meta };
      const isKnown = kind === 'prompt' || kind === 'resource';
      const how = { transparent: !isKnown, repeatable: isKnown };
      const via = request.via ?? connectionTo(server, request);
      request.routed?.(via);
      const result = await dispatch(via, method, whole, request, how);
      record('ok', { result });
      return result;
    } catch (error) {
      record('failed', { reason: reasonOf(error) });
      throw describe(error, server, name);
    } finally {
      admission.leave(request.caller.holder, server);
    }
  }

  return {
    servers,
    configFile,
    sees: (server, uri) =>
      access.allowsServer(server) && (uri === undefined || access.allows({ server, kind: 'resource', name: uri })),
    seesAll: access.allowsAll,
    awaits,
    revision: views.revision,
    server: async (name) => views.of(await known(name)),
    async tool(server, tool) {
      const listed = await find(server, tool);
      const shown = views.shown(server, listed);
      if (shown === undefined) throw views.held(server, listed) ?? unknownThing('tool', tool);
      return shown;
    },
    call,
    experience,
    forward,
    tasks,
    missed(kind, pick, { requestId }) {
      const found = pick(views.denied(kind));
      if (found !== undefined) denied({ kind, ...found, method: METHODS[kind], request: requestId });
    },
  };
}

/**
 * Returns which results stay unparsed: all large ones if nothing reads them, otherwise only those that are costly to
 * parse.
 */
function bytesFor({ mode, verbatim }: ToolCall): 'large' | 'costly' | undefined {
  if (mode !== 'verbatim') return 'costly';
  return verbatim ? 'large' : undefined;
}

/** The method that uses each kind of object. */
const METHODS: Record<Kind, string> = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' };

type Recorder = ReturnType<Calls['begin']>;
