/** One client on a front: its identity, its requests in progress, and the messages that belong to none of them. */
import type { ServerNotification } from '@modelcontextprotocol/sdk/types.js';
import type { ListKind } from '../catalog/listing.ts';
import type { Settings } from '../config/config.ts';
import { RpcError, withRequestId } from '../errors.ts';
import type { RequestContext } from '../router/router.ts';
import { toClient } from '../router/server-requests.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import { isRecord, METHOD_NOT_FOUND, type Params, type RpcNotification, type RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import { createExposedTables, type KnownNames } from './exposed-tables.ts';
import type { Client, ClientDeps, ClientSession, Downstream, Exchange, Front } from './front-interface.ts';
import { onlyServer } from './initialize.ts';
import { settingsOf } from './known-clients.ts';
import { createChanges } from './list-changed.ts';
import { hear, isWanted } from './notifications.ts';
import { createInitializedGuard } from './until-initialized.ts';
import { createPages } from './url-elicitation.ts';
import { createRootsQuestion } from './workspace-roots.ts';

export function openSession(front: Front, deps: ClientDeps, downstream: Downstream): ClientSession {
  return new OpenSession(front, deps, downstream);
}

type Ask = RequestContext['ask'];

class OpenSession implements ClientSession {
  readonly key: string;
  readonly principal: string | undefined;
  readonly #front: Front;
  readonly #downstream: Downstream;
  readonly #client: Client;
  /** Notifications wait until the client has completed the handshake; a client without a session has none. */
  readonly #ready = createInitializedGuard();
  #hasArrived: boolean;
  readonly #changes: ReturnType<typeof createChanges>;
  readonly #pages = createPages();
  readonly #roots: ReturnType<typeof createRootsQuestion>;
  /** The function that reaches a client with a session at any time. */
  readonly #asker: Ask;
  /** The functions that reach a client without a session, one per request in progress. */
  readonly #askers = new Set<Ask>();
  readonly #isTransparent: () => boolean;

  constructor(front: Front, deps: ClientDeps, downstream: Downstream) {
    this.key = downstream.key;
    this.principal = deps.identity.principal;
    this.#front = front;
    this.#downstream = downstream;
    this.#changes = createChanges(
      (list) => downstream.notify(`notifications/${list}/list_changed` satisfies ServerNotification['method']),
      deps.isListing,
    );
    this.#client = clientOf(front, deps, () => this.#changes.add(['resources']));
    this.#asker = downstream.ask && this.#pages.noting(downstream.ask);
    this.#roots = createRootsQuestion(this.#client);
    this.#isTransparent = () =>
      front.kind === 'aggregate' && onlyServer(deps.router.servers(), front.settings) !== undefined;
    this.#hasArrived = downstream.stateless === true;
    if (this.#hasArrived) this.#ready.open();
  }

  async request({ method, params = {} }: Pick<RpcRequest, 'method' | 'params'>, exchange: Exchange): Promise<unknown> {
    // Some clients never send `notifications/initialized`.
    if (method !== 'initialize') this.#arrive();
    const handle = this.#front.method(method);
    if (handle === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    const way = this.#context(params, exchange);
    const client = this.#client;
    try {
      const { capabilities } = client.identity;
      if (method === 'tools/call' && capabilities.roots !== undefined) await this.#roots.learn(way);
      const current = way.caller === client.identity ? way : { ...way, caller: client.identity };
      const result = await handle(withoutMeta(params), current, client);
      if (method.endsWith('/list')) this.#changes.answered(method, params);
      return result;
    } catch (error) {
      this.#pages.note(error);
      throw withRequestId(error, exchange.requestId);
    } finally {
      if (way.ask !== undefined) this.#askers.delete(way.ask);
    }
  }

  tool(name: string) {
    return this.#front.face.tool?.(name, this.#client);
  }

  notification({ method }: RpcNotification): void {
    // The listener handles cancellation and progress.
    if (method === 'notifications/initialized') this.#arrive();
    if (method !== 'notifications/roots/list_changed') return;
    this.#roots.forget();
    this.#client.rootsChanged();
  }

  changed(kinds: Iterable<ListKind>, server?: string): void {
    // A client that is not initialized has listed nothing yet.
    if (!this.#ready.isOpen) return;
    const { face } = this.#front;
    if (server === undefined || this.#client.router.sees(server))
      this.#changes.add(face.affected?.(new Set(kinds), this.#client) ?? kinds);
  }

  onNotification(...said: [server: string, method: string, params: Params | undefined, spoke?: ConnectionInfo]): void {
    const pass = () => hear(this.#client, { pages: this.#pages, notify: this.#downstream.notify }, ...said);
    if (this.#ready.isOpen) pass();
    else this.#ready.later(pass);
  }

  async onServerRequest(server: string, request: RpcRequest, incoming: Incoming): Promise<unknown> {
    // The client receives no request before it is initialized.
    if (this.#asker) await this.#ready.opened;
    const ask = this.#asker ?? [...this.#askers].at(-1);
    const way = { caller: this.#client.identity, ask, isTransparent: this.#isTransparent };
    return toClient(server, way).onServerRequest(request, incoming);
  }

  close(): void {
    this.#hasArrived = true;
    this.#ready.forget();
    this.#ready.open();
    this.#changes.close();
    this.#client.clientResults.clear();
    this.#client.logLevels.leave(this.#client.identity.key);
    this.#client.subscriptions.leave(this.#client.identity.key);
  }

  /** Registers the client when it has completed the handshake. */
  #arrive(): void {
    if (this.#hasArrived) return;
    this.#hasArrived = true;
    this.#client.logLevels.join(this.#client.identity.key);
    this.#ready.open();
  }

  /** Returns the function that reaches the client of a request, and remembers the URL elicitations that it sends. */
  #askerOf({ ask }: Exchange): Ask {
    if (ask === undefined) return undefined;
    if (ask === this.#downstream.ask) return this.#asker;
    const noting = this.#pages.noting(ask);
    if (!this.#downstream.ask) this.#askers.add(noting);
    return noting;
  }

  #context(params: Params, exchange: Exchange): RequestContext {
    const { signal, progress, notify, inputs, conversation, requestId, verbatim } = exchange;
    const client = this.#client;
    const told = notify && ((method: string, said?: Params) => isWanted(client, method, said) && notify(method, said));
    const ask = this.#askerOf(exchange);
    return {
      caller: client.identity,
      notify: told,
      ask,
      isTransparent: this.#isTransparent,
      signal,
      progress,
      meta: passableMeta(params),
      inputs,
      conversation,
      requestId,
      verbatim,
    };
  }
}

/** Creates the client that the front gets with each request. */
function clientOf(front: Front, deps: ClientDeps, resultsChanged: () => void): Client {
  const { face, settings, sharedNames } = front;
  const { router, clientResults } = deps;
  const tailored = face.settingsFor && settingsOf(settings, face.settingsFor);
  const own: KnownNames = { revision: '' };
  const known = () => (deps.identity.stateless ? sharedNames(deps.identity) : own);
  return {
    ...deps,
    get identity() {
      return deps.identity;
    },
    set identity(identity) {
      deps.identity = identity;
    },
    get settings(): Settings {
      return tailored === undefined ? settings : tailored(deps.identity.clientInfo);
    },
    clientResults: {
      ...clientResults,
      // Stored results are resources, so each of them changes the list of resources.
      async put(kept) {
        const stored = await clientResults.put(kept);
        if (!('notKept' in stored)) resultsChanged();
        return stored;
      },
    },
    exposed: createExposedTables(router, settings.naming, known),
    read: { isCounted: false },
  };
}

/** Returns `_meta` for the server, without the progress token, which belongs to this hop; undefined if it is empty. */
function passableMeta({ _meta }: Params): Params | undefined {
  if (!isRecord(_meta)) return undefined;
  const { progressToken: _, ...meta } = _meta;
  return Object.keys(meta).length === 0 ? undefined : meta;
}

function withoutMeta(params: Params): Params {
  if (!isRecord(params._meta)) return params;
  const { _meta, ...own } = params;
  return own;
}
