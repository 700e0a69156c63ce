/** One downstream session: the MCP methods every front answers, around the face that the session was opened with. */
import type { Wanted } from '../catalog/catalog.ts';
import type { ListKind, Tool } from '../catalog/list.ts';
import { pageOf } from '../catalog/pages.ts';
import type { ToolSearch } from '../catalog/search.ts';
import type { FrontKind, Settings } from '../config/config.ts';
import { RpcError, withRequestId } from '../errors.ts';
import { towards } from '../router/reverse.ts';
import type { Router, ToolResult, Way } from '../router/router.ts';
import type { Shelf } from '../router/shelf.ts';
import type { Wishes } from '../router/wishes.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Caller } from '../upstream/pool.ts';
import type { Inputs } from '../upstream/rounds.ts';
import {
  INVALID_PARAMS,
  isRecord,
  METHOD_NOT_FOUND,
  type Params,
  type RpcNotification,
  type RpcRequest,
} from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';
import { createAggregate } from './aggregate.ts';
import { createChanges } from './changes.ts';
import { settingsOf } from './clients.ts';
import { createCompact } from './compact.ts';
import { createExtensionRelay } from './extensions.ts';
import { createGate } from './gate.ts';
import { createHearing } from './hearing.ts';
import type { Meter } from './meter.ts';
import { createNatives } from './natives.ts';
import { createPages } from './pages.ts';
import { createRootsQuestion } from './roots.ts';
import { keptBy } from './stored.ts';
import { createTaskMethods } from './tasks.ts';
import { introduce, onlyServer } from './welcome.ts';

/** What a listener knows of the client it serves. */
export interface Downstream {
  /** Unique per session. */
  key: string;
  /** Absent: as long as the session. Of a `request` that stands alone nothing is known afterwards but its token. */
  lasts?: 'request';
  /** A notification that belongs to no request; dropped where the client has no stream for it. */
  notify(method: string, params?: Params): void;
  /** Asks what belongs to no request; absent where the client cannot be asked so. */
  ask?: (method: string, params: Params, options?: RequestOptions) => Promise<unknown>;
}

/** A request of a downstream under way, and the way back to whoever made it. */
export interface Exchange {
  /** Aborted when the client cancels the request or goes away. */
  signal: AbortSignal;
  /** Sends progress under the client's own token; absent when it gave none. */
  progress?: ((params: Params) => void) | undefined;
  /** A notification that belongs to this request: over HTTP it goes on the request's own stream. False for what is not wanted. */
  notify?: (method: string, params?: Params) => unknown;
  /** Asks the client something on behalf of this request; absent where it cannot be asked. */
  ask?: (method: string, params: Params, options?: RequestOptions) => Promise<unknown>;
  /** Where the client takes questions as results: what it has answered so far. */
  inputs?: Inputs;
  /** The id of the HTTP request that brought it. */
  requestId?: string | undefined;
  /** Whether the listener can write a result that is still in bytes, see `Verbatim`. */
  verbatim?: boolean;
}

/** Everything a front needs of a profile. */
export interface FrontDeps {
  router: Router;
  /** Who the client is; learns it when the client introduces itself. */
  caller: Caller;
  /** In the compact front they follow the client: read them for each request. */
  readonly settings: Settings;
  wishes: Wishes;
  /** Told what a client reads, and what it would have read without mcpx. */
  meter: Meter;
  /** Where results of this client that are too large to be sent are kept. */
  shelf: Shelf;
  search: ToolSearch;
  /** Resolves when the tools of every upstream were listed, or `all` of its lists, or after the configured wait, or `wait` ms where that is less. */
  listed(wait?: number, lists?: 'tools' | 'all'): Promise<void>;
  /** Asks a server again for this client, for a name that is not known. */
  verify(server: string, wanted?: Wanted): Promise<void>;
  /** Whether servers are being listed for the first time. */
  isListing?(): boolean;
}

/** What makes a front different from another. */
export interface Face {
  instructions(): string | undefined;
  /** ms that `tools/list` waits for servers that were never listed, where that is less than configured. */
  listWait?: number;
  tools(): Tool[];
  /** One of them as its server defines it; absent where all are ours. */
  tool?(name: string): Tool | undefined;
  /** Which lists of this front change when those of the servers do; absent: the same. */
  affected?(kinds: ReadonlySet<ListKind>): Iterable<ListKind>;
  call(name: string, args: unknown, way: Way): Promise<ToolResult>;
}

export interface Front {
  /** The key of its downstream. */
  readonly key: string;
  /** The name of its token. */
  readonly principal: string | undefined;
  /** Answers a request; throws RpcError or McpxError for what must be a protocol error. */
  request(request: Pick<RpcRequest, 'method' | 'params'>, exchange: Exchange): Promise<unknown>;
  /** The definition of a tool of a server that is shown under this name. */
  tool?(name: string): Tool | undefined;
  notification(notification: RpcNotification): void;
  /** What the profile offers has changed, or one server of it. */
  changed(kinds: Iterable<ListKind>, server?: string): void;
  /** An upstream said something that belongs to no call, on that connection. */
  heard(server: string, method: string, params: Params | undefined, spoke?: Connection): void;
  /** An upstream that serves this client alone asks it something that belongs to no call. */
  asked(server: string, request: RpcRequest, incoming: Incoming): Promise<unknown>;
  /** The client has gone. */
  close(): void;
}

const FACES = {
  compact: createCompact,
  aggregate: createAggregate,
} as const satisfies Record<FrontKind, (deps: FrontDeps) => Face>;

type Method = (params: Params, way: Way) => unknown;

export function createFront(kind: FrontKind, deps: FrontDeps, downstream: Downstream): Front {
  const { caller, wishes, settings } = deps;
  // Nothing is told to a client that has not said hello; requests that stand alone have nothing to say first.
  const ready = createGate();
  if (downstream.lasts === 'request') ready.open();
  const arrive = () => {
    if (ready.isOpen) return;
    wishes.join(caller.key);
    ready.open();
  };
  const tailored = settingsOf(settings, caller);
  const changes = createChanges((list) => downstream.notify(`notifications/${list}/list_changed`), deps.isListing);
  const shelf = announcing(deps.shelf, () => changes.add(['resources']));
  const face = FACES[kind]({
    ...deps,
    shelf,
    get settings() {
      return kind === 'compact' ? tailored() : settings;
    },
  });
  const roots = createRootsQuestion(deps.router);
  const pages = createPages();
  const isTransparent = () => kind === 'aggregate' && onlyServer(deps.router.servers(), settings) !== undefined;
  /** Where requests stand alone: what asks their client, on behalf of one that is under way. */
  const askers = new Set<Way['ask']>();

  function callTool(params: Params, way: Way): Promise<ToolResult> {
    const { name, arguments: args } = params;
    if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, '"name" must be a string');
    const extra = extraOf(params, way);
    const whole = extra === undefined ? way : { ...way, extra };
    const learning = roots.learn(way);
    return learning === undefined ? face.call(name, args, whole) : learning.then(() => face.call(name, args, whole));
  }

  const methods = new Map<string, Method>([
    ...createNatives(deps, kind === 'compact' ? keptBy(shelf) : undefined),
    ...(kind === 'aggregate' ? createTaskMethods(deps) : []),
    ['initialize', (params) => introduce(params, { kind, face, deps })],
    ['ping', () => ({})],
    ['tools/list', (params) => deps.listed(face.listWait).then(() => pageOf(face.tools(), 'tools', params))],
    ['tools/call', callTool],
  ]);

  const extension = kind === 'aggregate' ? createExtensionRelay(deps) : undefined;
  const { isWanted, hear } = createHearing(deps, { pages, notify: downstream.notify });

  return {
    key: downstream.key,
    principal: caller.principal,
    request({ method, params = {} }, { signal, progress, notify, ask, inputs, requestId, verbatim }) {
      // Some clients never say so, and go ahead.
      if (method !== 'initialize') arrive();
      const answer = methods.get(method) ?? extension?.(method);
      if (answer === undefined) return Promise.reject(new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`));
      const meta = passableMeta(params);
      const told = notify && ((method: string, said?: Params) => isWanted(method, said) && notify(method, said));
      const asking = ask && pages.noting(ask);
      if (asking && !downstream.ask) askers.add(asking);
      const back = { caller, notify: told, ask: asking, isTransparent };
      const way: Way = { ...back, signal, progress, inputs, meta: meta.meta, requestId, verbatim };
      return begun(answer, meta.params, way).then(
        (result) => {
          changes.answered(method, params);
          askers.delete(asking);
          return result;
        },
        (error) => {
          pages.note(error);
          askers.delete(asking);
          throw withRequestId(error, requestId);
        },
      );
    },
    tool: (name) => face.tool?.(name),
    notification({ method }) {
      // Cancellation and progress were handled by the listener.
      if (method === 'notifications/initialized') arrive();
      if (method !== 'notifications/roots/list_changed') return;
      roots.forget();
      caller.rootsRevision = (caller.rootsRevision ?? 0) + 1;
      wishes.rootsChanged(caller.key);
    },
    async asked(server, request, incoming) {
      // Nothing is asked of a client before it has said that it is ready.
      if (downstream.ask) await ready.opened;
      const ask = downstream.ask ? pages.noting(downstream.ask) : [...askers].at(-1);
      return towards(server, { caller, ask, isTransparent }).asked(request, incoming);
    },
    changed(kinds, server) {
      // Whoever has listed nothing yet will be shown what there is by then.
      if (!ready.isOpen) return;
      if (server === undefined || deps.router.sees(server)) changes.add(face.affected?.(new Set(kinds)) ?? kinds);
    },
    heard(...said) {
      if (ready.isOpen) hear(...said);
      else ready.later(() => hear(...said));
    },
    close() {
      ready.forget();
      ready.open();
      changes.close();
      shelf.clear();
      wishes.leave(caller.key);
    },
  };
}

/** What is kept is listed as a resource, so that a change of it is a change of the list. */
function announcing(shelf: Shelf, changed: () => void): Shelf {
  return {
    ...shelf,
    async put(kept) {
      const stored = await shelf.put(kept);
      if (!('notKept' in stored)) changed();
      return stored;
    },
  };
}

/** Always a promise, also where a method answers or throws at once; one that answers later is not wrapped in another. */
function begun(method: Method, params: Params, way: Way): Promise<unknown> {
  try {
    const answer = method(params, way);
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** What a call holds beside the name and the arguments of the tool; hardly any holds more. */
function extraOf(params: Params, { inputs }: Way): Params | undefined {
  let extra: Params | undefined;
  for (const key of Object.keys(params)) {
    if (key === 'name' || key === 'arguments') continue;
    // Tasks are no wish of the client in the modern era.
    if (key === 'task' && inputs !== undefined) continue;
    extra = { ...extra, [key]: params[key] };
  }
  return extra;
}

/** The progress token belongs to this hop; the rest of `_meta` is for the upstream. */
function passableMeta(params: Params): { params: Params; meta?: Params } {
  if (!isRecord(params._meta)) return { params };
  const { _meta, ...own } = params;
  const { progressToken: _, ...meta } = _meta as Params;
  return Object.keys(meta).length === 0 ? { params: own } : { params: own, meta };
}
