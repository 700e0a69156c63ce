/** The connections of one configured server: selects the one that serves a client, by the sharing rule of the server. */
import type { ServerSpec } from '../../config/config.ts';
import { launchFolder } from '../../config/workspace-folder.ts';
import { offeredKey, sharedKey } from '../../mcp/capabilities.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import { type Answerer, createRooted, type RootedConnections } from './by-roots.ts';
import { rootedView } from './by-roots-view.ts';
import type { RootsMemory } from './client-roots.ts';
import { keyAt } from './pending-questions.ts';
import { perCall } from './per-call.ts';
import type { PoolEntry } from './pool-entry.ts';
import { introductionOf, type Share, workspaceOf } from './sharing.ts';
import { statelessView } from './stateless.ts';

export interface ServerPoolDeps {
  create(
    share: Share,
    caller: ClientIdentity | undefined,
    parts?: { answer?: Answerer; holder?: string | undefined },
  ): Connection;
  /** Ends a connection once no request is pending on it. */
  end(connection: Connection): Promise<void>;
  /** Called when the calls of a client go to another connection. */
  moved(connection: Connection): void;
  memory: RootsMemory;
  /** Returns the era of the last connection in an earlier process. */
  recall(spec: ServerSpec): Handshake['era'] | undefined;
}

export class ServerPool {
  readonly entry: PoolEntry;
  readonly #deps: ServerPoolDeps;

  constructor(entry: PoolEntry, deps: ServerPoolDeps) {
    this.entry = entry;
    this.#deps = deps;
  }

  /** Returns the connection for list requests without a client. */
  lister(): Connection {
    return this.entry.current ?? this.#shared(this.entry.seen);
  }

  connectionFor(caller: ClientIdentity): Connection {
    const { entry } = this;
    entry.seen = caller;
    entry.era ??= this.#deps.recall(entry.spec) ?? 'unknown';
    const share = entry.shareFor(caller, entry.era);
    if (share === 'call') return this.#once(caller);
    if (share === 'all' && entry.era === 'modern') return this.#view(caller);
    if (share === 'roots') return rootedView(caller, this.#rooted());
    const connection = share === 'all' ? this.#shared(caller) : this.#own(caller);
    entry.claimed.add(connection);
    return connection;
  }

  /** Returns the views that this connection serves. */
  viewsOf(connection: Connection): Connection[] {
    const { era, views } = this.entry;
    return era === 'modern' && connection.owner === undefined ? [...views.values()] : [];
  }

  all(): Connection[] {
    const { shared, sessions, rooted } = this.entry;
    return [...shared.values(), ...sessions.values(), ...(rooted?.all() ?? [])];
  }

  /** Ends the connections of a closed client session. */
  release(key: string): void {
    const { entry } = this;
    entry.rooted?.release(key);
    const connection = entry.sessions.get(key);
    if (!connection) return;
    entry.sessions.delete(key);
    this.#end(connection);
  }

  #end(connection: Connection): void {
    if (this.entry.current === connection) this.entry.current = undefined;
    void this.#deps.end(connection);
  }

  #shared(caller: ClientIdentity | undefined): Connection {
    const { spec, shared, questions } = this.entry;
    const key = caller === undefined ? '' : sharedKey(offeredKey(caller));
    const at = (place: number): Connection => {
      const own = keyAt(key, place);
      const found = shared.get(own) ?? this.#deps.create('all', caller);
      shared.set(own, found);
      return found;
    };
    // With `share: "all"` in the config there is exactly one connection.
    const isOnly = caller === undefined || spec.share === 'all';
    return at(isOnly ? 0 : questions.placeFor(caller, at));
  }

  /** Returns a ready connection: a modern server serves every set of capabilities on it. */
  #stateless(): Connection {
    const { shared, rooted } = this.entry;
    const all = [...shared.values(), ...(rooted?.all() ?? [])];
    return all.find(({ state }) => state.kind === 'ready') ?? this.#shared(undefined);
  }

  #view(caller: ClientIdentity): Connection {
    const { claimed, views } = this.entry;
    claimed.add(this.#stateless());
    const offered = offeredKey(caller);
    const { capabilities } = introductionOf('all', caller);
    const roots = caller.capabilities.roots === undefined ? {} : { roots: {} };
    const client = { key: '', capabilities: { ...capabilities, ...roots } };
    const found = views.get(offered) ?? statelessView({ base: () => this.#stateless(), offered, client });
    views.set(offered, found);
    return found;
  }

  #own(caller: ClientIdentity): Connection {
    const { sessions } = this.entry;
    const found = sessions.get(caller.key) ?? this.#deps.create('session', caller);
    sessions.set(caller.key, found);
    return found;
  }

  #rooted(): RootedConnections {
    const { entry } = this;
    const { create, memory, moved } = this.#deps;
    entry.rooted ??= createRooted({
      ...{ questions: entry.questions, memory, moved },
      create(caller, own) {
        const connection = create('roots', caller, own);
        entry.claimed.add(connection);
        return connection;
      },
      end: (connection) => this.#end(connection),
    });
    return entry.rooted;
  }

  #once(caller: ClientIdentity): Connection {
    const { spec, calls } = this.entry;
    const { create, end } = this.#deps;
    return perCall({
      create: () => create('call', caller),
      end,
      slots: calls,
      shown: {
        ...{ name: spec.name, spec, offered: offeredKey(caller) },
        handshake: this.lister().handshake,
        folder: launchFolder(spec, workspaceOf(caller)),
      },
    });
  }
}
