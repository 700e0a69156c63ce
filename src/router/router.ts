/** What happens to every request: find → authorize → check → call → record. The only place that sends downstream work upstream. */
import type { Catalog } from '../catalog/catalog.ts';
import type { ListedTool, Tool } from '../catalog/list.ts';
import type { Named } from '../catalog/names.ts';
import { FREE, type SessionPins } from '../catalog/pins.ts';
import { McpxError } from '../errors.ts';
import type { CallStart, Calls } from '../observe/observer.ts';
import type { Access, Kind } from '../policy/access.ts';
import { isRepeatable } from '../render/tool-hints.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Pool } from '../upstream/pool.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { Unparsed } from '../wire/unparsed.ts';
import { ADMIT_ALL, type Admission, enter, settled } from './admission.ts';
import type { ArgumentChecker } from './arguments.ts';
import { createExperience, type Experience } from './experience.ts';
import { describe, isHeld, noResult, reasonOf, unknownThing, withdrawn } from './failures.ts';
import { createFinder } from './find.ts';
import { badArguments, unknownServer } from './missing.ts';
import { type Looked, ShownTool } from './reliance.ts';
import { type Forward, permits, type ToolCall, type ToolResult, type Way } from './request.ts';
import { readShallow } from './shallow.ts';
import { createTasks, type OwnTasks } from './tasks.ts';
import { send } from './ties.ts';
import { createViews, type ServerView } from './views.ts';

export type { Forward, ToolCall, ToolResult, Way } from './request.ts';
export type { ServerView } from './views.ts';

/** The view that a downstream has of a profile. */
export interface Router {
  /** Servers in the order of look-up, each with what may be seen of it. */
  servers(): ServerView[];
  /** Whether anything of a server may be used, or one of its resources. */
  sees(server: string, resource?: string): boolean;
  /** Whether everything of a server may be used. */
  seesAll(server: string): boolean;
  /** Whether a server that may be used has to be listed before it is known what it has. */
  awaits(server: string): boolean;
  /** Another one whenever what `servers` answers may have changed. */
  revision(): string;
  /** One server, listed first if it has not been; throws not_found with the nearest names. */
  server(name: string): Promise<ServerView>;
  /** One tool; throws not_found with the nearest names. */
  tool(server: string, tool: string): Promise<Tool>;
  call(call: ToolCall): Promise<ToolResult>;
  /** What became of this client's calls. */
  readonly experience: Pick<Experience, 'hasFailed' | 'lastArguments'>;
  /** Throws not_found for what is denied, exactly as for what is missing. */
  forward(request: Forward): Promise<unknown>;
  /** What servers still do for this client. */
  readonly tasks: Pick<OwnTasks, 'servers' | 'via' | 'mayOwn'>;
  /** A name was asked for that is not there; recorded where `pick` finds what it means among what is denied. */
  missed(kind: Kind, pick: (denied: Named[]) => Named | undefined, way: Way): void;
}

export interface RouterDeps {
  catalog: Pick<Catalog, 'servers' | 'server' | 'find' | 'ensure' | 'revision' | 'isCurrent' | 'renew'>;
  /** Asks a server again for this client, for a name that is not known. */
  verify: (server: string) => Promise<void>;
  pool: Pick<Pool, 'get'>;
  access: Access;
  /** The set of capabilities that the client offers, see `offeredKey` (default: whatever was seen last). */
  offered?: () => string | undefined;
  checker: ArgumentChecker;
  /** Where calls are told. */
  calls: Calls;
  /** Default: of a client that nobody else is. */
  tasks?: OwnTasks;
  /** Default: nobody is asked, and any number runs. */
  admission?: Admission;
  /** What this client relies on (default: nothing is held back), and another number whenever that changed by itself. */
  pins?: SessionPins;
  pinned?: () => number;
}

export function createRouter(deps: RouterDeps): Router {
  const { catalog, verify, pool, access, offered = () => undefined, checker, calls, admission = ADMIT_ALL } = deps;
  const { pins = FREE, pinned = () => 0 } = deps;
  const tasks = deps.tasks ?? createTasks().of({ holder: '', known: 'by session' });
  const views = createViews({ catalog, access, offered, pins, pinned });

  const servers = (): ServerView[] => views.entries().map(views.of);
  const experience = createExperience();

  const { known, find, missing, awaits } = createFinder({ catalog, verify, views });
  const shown = { catalog, views, missing };

  function connectionTo(server: string, way: Way): Connection {
    // It may have left while its server was listed: nobody would end what is begun for it now.
    if (way.signal?.aborted) throw withdrawn(server);
    const connection = pool.get(server, way.caller);
    if (connection === undefined) throw unknownServer(server, views.entries());
    return connection;
  }

  /** A tool of a server that is listed, at once. */
  const ready = (server: string, tool: string): ListedTool | undefined =>
    catalog.server(server, offered())?.listing.kind === 'listed' ? views.tool(server, tool) : undefined;

  /** Arguments that worked once, if they still would. */
  async function stillFitting(tool: Tool, args: Params | undefined): Promise<Params | undefined> {
    return args !== undefined && (await checker.check(tool, args)).ok ? args : undefined;
  }

  /** What is denied looks missing; only the record knows the difference. */
  const denied = (call: CallStart) => calls.deny(call);

  const start = ({ server, requestId, arguments: args }: ToolCall, name: string): Recorder =>
    calls.begin({ kind: 'tool', server, name, method: 'tools/call', request: requestId, arguments: args });

  /** A call that waits for its server is seen while it waits, and recorded where that never comes up. */
  async function findAndBegin(request: ToolCall): Promise<ToolResult> {
    const { server, tool: name, requestId } = request;
    const waiting = awaits(server) ? start(request, name) : undefined;
    let found: ListedTool;
    try {
      found = await find(server, name);
    } catch (error) {
      const isMissing = error instanceof McpxError && error.code === 'not_found';
      if (waiting !== undefined || !isMissing)
        (waiting ?? start(request, name))(isMissing ? 'refused' : 'failed', { reason: reasonOf(error) });
      if (views.denies(server, name)) denied({ kind: 'tool', server, name, method: 'tools/call', request: requestId });
      throw error;
    }
    return begin(request, found, waiting);
  }

  /** What is there is not waited for: between a client and its server every promise counts. */
  function call(request: ToolCall): Promise<ToolResult> {
    const listed = ready(request.server, request.tool);
    return listed === undefined ? findAndBegin(request) : begin(request, listed);
  }

  function begin(request: ToolCall, listed: ListedTool, begun?: Recorder): Promise<ToolResult> {
    const { server } = request;
    const record = begun ?? start(request, listed.tool.name);
    // Before its arguments are looked at: what is wrong with them would be told in the words of the new definition.
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

  /** Lets it in, sends it and tells what became of it, with a single promise. */
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
    const reliance = new ShownTool(shown, looked, connection, params);
    const how = { transparent, repeatable, verbatim: bytesFor(request), reliance };
    return send(connection, 'tools/call', params, request, how);
  }

  function answered(request: ToolCall, tool: Tool, args: unknown, record: Recorder, result: ToolResult): ToolResult {
    const { server, mode } = request;
    record(result.isError === true ? 'tool_error' : 'ok', { result });
    // Who calls verbatim is never shown what worked before.
    if (result.isError === true) experience.failed(server, tool.name);
    else if (mode !== 'verbatim') experience.worked(server, tool.name, args);
    return result;
  }

  async function forward(request: Forward): Promise<unknown> {
    const { server, kind, name, method, params, meta } = request;
    // A server that has been met is asked, also where it does not list its tools.
    if (views.entry(server)?.hello === undefined) await known(server);
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
      const result = await send(via, method, whole, request, how);
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

/** Which results need not be parsed: where nothing is made of them, all that are large. */
function bytesFor({ mode, verbatim }: ToolCall): 'large' | 'costly' | undefined {
  if (mode !== 'verbatim') return 'costly';
  return verbatim ? 'large' : undefined;
}

/** How a thing is used. */
const METHODS: Record<Kind, string> = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' };

type Recorder = ReturnType<Calls['begin']>;
