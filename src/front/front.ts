/** One downstream session: handles the MCP methods, and delegates tools to the compact or the aggregate front. */
import type { EmptyResult, ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import { pageOf } from '../catalog/pagination.ts';
import type { FrontKind } from '../config/config.ts';
import { RpcError, withRequestId } from '../errors.ts';
import type { RequestContext, ToolResult } from '../router/router.ts';
import { toClient } from '../router/server-requests.ts';
import { INVALID_PARAMS, isRecord, METHOD_NOT_FOUND, type Params } from '../wire/message.ts';
import { createAggregate } from './aggregate.ts';
import { createCompact } from './compact/compact.ts';
import { keptBy } from './compact/inspect-result.ts';
import type { ClientResults } from './compact/result-store.ts';
import { createExtensionRelay } from './extensions.ts';
import type { Downstream, Face, Front, FrontDeps } from './front-interface.ts';
import { introduce, onlyServer } from './initialize.ts';
import { settingsOf } from './known-clients.ts';
import { createChanges } from './list-changed.ts';
import { createHearing } from './notifications.ts';
import { createPromptsResources } from './prompts-resources.ts';
import { createTaskMethods } from './task-methods.ts';
import { createInitializedGuard } from './until-initialized.ts';
import { createPages } from './url-elicitation.ts';
import { createRootsQuestion } from './workspace-roots.ts';

const FACES = {
  compact: createCompact,
  aggregate: createAggregate,
} as const satisfies Record<FrontKind, (deps: FrontDeps) => Face>;

type Method = (params: Params, way: RequestContext) => unknown;

export function createFront(kind: FrontKind, deps: FrontDeps, downstream: Downstream): Front {
  const { caller, subscriptions, settings } = deps;
  // Notifications wait until the client has completed the handshake; a client without a session has none.
  const ready = createInitializedGuard();
  if (downstream.stateless) ready.open();
  const arrive = () => {
    if (ready.isOpen) return;
    subscriptions.join(caller.key);
    ready.open();
  };
  const tailored = settingsOf(settings, caller);
  const changes = createChanges(
    (list) => downstream.notify(`notifications/${list}/list_changed` satisfies ServerNotification['method']),
    deps.isListing,
  );
  const clientResults = announcing(deps.clientResults, () => changes.add(['resources']));
  const face = FACES[kind]({
    ...deps,
    clientResults,
    get settings() {
      return kind === 'compact' ? tailored() : settings;
    },
  });
  const roots = createRootsQuestion(deps.router);
  const pages = createPages();
  const isTransparent = () => kind === 'aggregate' && onlyServer(deps.router.servers(), settings) !== undefined;
  /** The functions that reach a client without a session, one per request in progress. */
  const askers = new Set<RequestContext['ask']>();

  function callTool(params: Params, way: RequestContext): Promise<ToolResult> {
    const { name, arguments: args } = params;
    if (typeof name !== 'string') throw new RpcError(INVALID_PARAMS, '"name" must be a string');
    const extra = extraOf(params, way);
    const whole = extra === undefined ? way : { ...way, extra };
    const learning = roots.learn(way);
    return learning === undefined ? face.call(name, args, whole) : learning.then(() => face.call(name, args, whole));
  }

  const methods = new Map<string, Method>([
    ...createPromptsResources(deps, kind === 'compact' ? keptBy(clientResults) : undefined),
    ...(kind === 'aggregate' ? createTaskMethods(deps) : []),
    ['initialize', (params) => introduce(params, { kind, face, deps })],
    ['ping', () => ({}) satisfies EmptyResult],
    ['tools/list', (params) => deps.listed(face.listWait).then(() => pageOf(face.tools(), 'tools', params))],
    ['tools/call', callTool],
  ]);

  const extension = kind === 'aggregate' ? createExtensionRelay(deps) : undefined;
  const { isWanted, hear } = createHearing(deps, { pages, notify: downstream.notify });

  return {
    key: downstream.key,
    principal: caller.principal,
    request({ method, params = {} }, { signal, progress, notify, ask, inputs, requestId, verbatim }) {
      // Some clients never send `notifications/initialized`.
      if (method !== 'initialize') arrive();
      const answer = methods.get(method) ?? extension?.(method);
      if (answer === undefined) return Promise.reject(new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`));
      const meta = passableMeta(params);
      const told = notify && ((method: string, said?: Params) => isWanted(method, said) && notify(method, said));
      const asking = ask && pages.noting(ask);
      if (asking && !downstream.ask) askers.add(asking);
      const back = { caller, notify: told, ask: asking, isTransparent };
      const way: RequestContext = { ...back, signal, progress, inputs, meta: meta.meta, requestId, verbatim };
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
      // The listener handles cancellation and progress.
      if (method === 'notifications/initialized') arrive();
      if (method !== 'notifications/roots/list_changed') return;
      roots.forget();
      caller.rootsRevision = (caller.rootsRevision ?? 0) + 1;
      subscriptions.rootsChanged(caller.key);
    },
    async onServerRequest(server, request, incoming) {
      // The client receives no request before it is initialized.
      if (downstream.ask) await ready.opened;
      const ask = downstream.ask ? pages.noting(downstream.ask) : [...askers].at(-1);
      return toClient(server, { caller, ask, isTransparent }).onServerRequest(request, incoming);
    },
    changed(kinds, server) {
      // A client that is not initialized has listed nothing yet.
      if (!ready.isOpen) return;
      if (server === undefined || deps.router.sees(server)) changes.add(face.affected?.(new Set(kinds)) ?? kinds);
    },
    onNotification(...said) {
      if (ready.isOpen) hear(...said);
      else ready.later(() => hear(...said));
    },
    close() {
      ready.forget();
      ready.open();
      changes.close();
      clientResults.clear();
      subscriptions.leave(caller.key);
    },
  };
}

/** Announces a change of the resource list for each stored result, because stored results are resources. */
function announcing(clientResults: ClientResults, changed: () => void): ClientResults {
  return {
    ...clientResults,
    async put(kept) {
      const stored = await clientResults.put(kept);
      if (!('notKept' in stored)) changed();
      return stored;
    },
  };
}

/** Returns a promise even if the method throws synchronously; does not wrap a promise in another. */
function begun(method: Method, params: Params, way: RequestContext): Promise<unknown> {
  try {
    const answer = method(params, way);
    return answer instanceof Promise ? answer : Promise.resolve(answer);
  } catch (error) {
    return Promise.reject(error);
  }
}

/** Returns the params of a call other than `name` and `arguments`; undefined for most calls. */
function extraOf(params: Params, { inputs }: RequestContext): Params | undefined {
  let extra: Params | undefined;
  for (const key of Object.keys(params)) {
    if (key === 'name' || key === 'arguments') continue;
    // In the modern era the server, not the client, decides whether a call becomes a task.
    if (key === 'task' && inputs !== undefined) continue;
    extra = { ...extra, [key]: params[key] };
  }
  return extra;
}

/** Removes the progress token, which belongs to this hop; the rest of `_meta` goes upstream. */
function passableMeta(params: Params): { params: Params; meta?: Params } {
  if (!isRecord(params._meta)) return { params };
  const { _meta, ...own } = params;
  const { progressToken: _, ...meta } = _meta as Params;
  return Object.keys(meta).length === 0 ? { params: own } : { params: own, meta };
}
