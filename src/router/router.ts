/** Routes requests: find → authorize → check → call → record. No other file sends downstream requests upstream. */
import type { Catalog } from '../catalog/catalog.ts';
import type { Named } from '../catalog/exposed-names.ts';
import type { Tool } from '../catalog/listing.ts';
import { FREE, type SessionPins } from '../catalog/pins/pins.ts';
import type { Calls } from '../observe/observer.ts';
import type { Access, Kind } from '../policy/access.ts';
import { cut } from '../render/text.ts';
import type { Pool } from '../upstream/pool.ts';
import { ADMIT_ALL, type Admission } from './admission.ts';
import type { ArgumentChecker } from './arguments.ts';
import { type CallHistory, createCallHistory } from './call-history.ts';
import { CallRecord, MAX_NAME } from './call-record.ts';
import { unknownThing } from './failures.ts';
import { createFinder } from './find-tool.ts';
import { forward } from './forward.ts';
import type { Forward, RequestContext, ToolCall, ToolResult } from './request-context.ts';
import type { OfferSignIn } from './sign-in-page.ts';
import { createTaskOwners, type OwnTasks } from './task-owners.ts';
import { authorize, check, find, type RouterParts, remember, send } from './tool-call.ts';
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
  /** True if the server is listed and the client sees this tool, so that a call needs no look-up. */
  knows(server: string, tool: string): boolean;
  /** Returns a tool; throws not_found with the nearest names. */
  tool(server: string, tool: string): Promise<Tool>;
  call(call: ToolCall): Promise<ToolResult>;
  /** Outcomes of this client's earlier calls. */
  readonly experience: Pick<CallHistory, 'hasFailed' | 'lastArguments'>;
  /** Sends a request to one server. Throws the same error for a denied object as for a missing one. */
  forward(request: Forward): Promise<unknown>;
  /** The tasks of this client. */
  readonly tasks: Pick<OwnTasks, 'servers' | 'via' | 'mayOwn'>;
  /**
   * Records a call of something that the client cannot find. It is denied if `pick` finds it among the denied objects,
   * otherwise it is missing.
   */
  missed(kind: Kind, target: Sought, way: RequestContext): void;
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
  /** Offers the sign-in page of a server to the client of a call (default: the call fails with the command). */
  offerSignIn?: OfferSignIn | undefined;
}

export function createRouter(deps: RouterDeps): Router {
  const { catalog, verify, access, offered = () => undefined, pins = FREE, pinned = () => 0, configFile } = deps;
  const views = createViews({ catalog, access, offered, pins, pinned });
  const experience = createCallHistory();
  const finder = createFinder({ catalog, verify, views, configFile });
  const tasks = deps.tasks ?? createTaskOwners().of({ holder: '', known: 'by session' });
  const parts: RouterParts = { ...deps, admission: deps.admission ?? ADMIT_ALL, views, finder, experience, tasks };
  return {
    servers: () => views.entries().map(views.of),
    configFile,
    sees: (server, uri) =>
      access.allowsServer(server) && (uri === undefined || access.allows({ server, kind: 'resource', name: uri })),
    seesAll: access.allowsAll,
    awaits: views.awaits,
    revision: views.revision,
    server: async (name) => views.of(await finder.known(name)),
    knows(server, tool) {
      const listed = views.ready(server, tool);
      return listed !== undefined && views.shown(server, listed) !== undefined;
    },
    async tool(server, tool) {
      const listed = await finder.find(server, tool);
      const shown = views.shown(server, listed);
      if (shown === undefined) throw views.held(server, listed) ?? unknownThing('tool', tool);
      return shown;
    },
    call: (request) => callTool(request, parts, MAX_OFFERS),
    experience,
    forward: (request) => forward(request, parts),
    tasks,
    missed(kind, { server = '', name, pick }, { requestId }) {
      const found = pick(views.denied(kind));
      // A denied object looks missing to the client; only the record differs.
      const target = found ?? { server: cut(server, MAX_NAME), name: cut(name, MAX_NAME) };
      const call = { kind, ...target, method: METHODS[kind], request: requestId };
      deps.calls.unreached(call, found === undefined ? 'missing' : 'denied');
    },
  };
}

/** A server that is signed in to may ask for more scopes; the page is not offered without end. */
const MAX_OFFERS = 2;

async function callTool(request: ToolCall, parts: RouterParts, offers: number): Promise<ToolResult> {
  const record = new CallRecord(request, parts.calls);
  try {
    const found = await find(request, parts, record);
    authorize(request, found, parts, record);
    const args: unknown = await check(request, found, parts, record);
    const result = await send({ request, found, args }, parts, record);
    record.ended(result);
    remember(request, args, result, parts);
    return result;
  } catch (error) {
    if (offers > 0 && (await parts.offerSignIn?.(error, request))) return callTool(request, parts, offers - 1);
    throw error;
  }
}

/** The name that a client used, on a server if it named one, and the look-up among denied objects. */
export interface Sought {
  server?: string | undefined;
  name: string;
  pick(denied: Named[]): Named | undefined;
}

/** The method that uses each kind of object. */
const METHODS: Record<Kind, string> = { tool: 'tools/call', prompt: 'prompts/get', resource: 'resources/read' };
