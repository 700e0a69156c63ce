/** The connections of one profile: decides which clients share one, limits starts and closes all of them. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { launchFolder } from '../config/workspace-folder.ts';
import { offeredKey, sharedKey } from '../mcp/capabilities.ts';
import type { Log } from '../observe/log.ts';
import type { ClientIdentity } from './client-identity.ts';
import { createConnection } from './connection.ts';
import type { Connection } from './connection-interface.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { createListingLimit } from './lifecycle/listing-limit.ts';
import { createSlots } from './lifecycle/queue.ts';
import type { ChildLimit } from './process/child-limit.ts';
import type { ChildRecords } from './process/orphans.ts';
import type { StderrFiles } from './process/stderr-file.ts';
import { type Answerer, createRooted, type RootedConnections } from './sharing/by-roots.ts';
import { rootedView } from './sharing/by-roots-view.ts';
import { createRootsMemory } from './sharing/client-roots.ts';
import { isFurther, keyAt } from './sharing/pending-questions.ts';
import { perCall } from './sharing/per-call.ts';
import { enabled, type PoolChange, type PoolEntry, poolEntryOf, sameLaunch } from './sharing/pool-entry.ts';
import { eventsOf, type PoolEvents } from './sharing/pool-events.ts';
import { introductionOf, type Share, workspaceOf } from './sharing/sharing.ts';
import { statelessView } from './sharing/stateless.ts';
import type { StopBounds } from './transports/transport.ts';

export type { ClientIdentity } from './client-identity.ts';
export type { ServerNotification } from './sharing/pool-events.ts';

export interface PoolOptions {
  servers: ServerSpec[];
  settings: Pick<Settings, 'connect' | 'limits' | 'health'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  events?: PoolEvents;
  /** Returns the cached detection results of a server, which are tried first. */
  recall?: ConnectionOptions['recall'];
  /** Records the running child processes on disk. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Limits how many processes run at once. */
  childLimit?: ChildLimit | undefined;
  /** Stores the stderr output of child processes. */
  stderr?: StderrFiles | undefined;
  /** Creates the credentials of servers with a URL. */
  authorize?: ConnectionOptions['authorize'];
  /** Receives slow-start lines when a user waits in a shell. */
  attended?: ConnectionOptions['attended'];
}

export interface Pool {
  /**
   * Returns the connection for the caller. Without a caller, returns the connection for list requests: the last used
   * one, else one with the last offered capabilities. Undefined if the server is unknown or disabled. Never starts a
   * server.
   */
  get(server: string, caller?: ClientIdentity): Connection | undefined;
  /** Returns all connections, at least one per server. */
  all(): Connection[];
  /** Returns the key of the only client that the connection serves; undefined if there are several. */
  clientOf(connection: Connection): string | undefined;
  /** Returns true if the connection serves that client or is not bound to clients. */
  serves(connection: Connection, caller: string): boolean;
  /** Returns the connection and the views that it serves: all of them are affected by its changes. */
  affected(connection: Connection): Connection[];
  /**
   * Replaces the configured servers. A server with an unchanged launch keeps its connections; connections of changed or
   * removed servers end after their last call.
   */
  update(servers: readonly ServerSpec[], settings: PoolOptions['settings']): PoolChange;
  /** Resolves when every connection that was dismissed so far has ended. */
  emptied(): Promise<void>;
  /** Records that the roots of a client session have changed, so that the next call requests them again. */
  rootsChanged(caller: string): void;
  /** Ends the connections of a closed client session after their last call. */
  release(caller: string): void;
  /** Closes all connections within the bounds; a second call with smaller bounds shortens the stop. */
  close(bounds?: StopBounds): Promise<void>;
  /** Kills every process tree synchronously; for use while mcpx itself exits. */
  killNow(): void;
}

export function createPool(options: PoolOptions): Pool {
  let { settings } = options;
  const starts = createSlots({ limit: settings.connect.concurrency, subject: 'the start of servers' });
  const places = createListingLimit(settings.connect.concurrency);
  const memberFor = (spec: ServerSpec) => poolEntryOf(spec, settings);
  const members = new Map(enabled(options.servers).map((spec) => [spec.name, memberFor(spec)]));
  const open = new Set<Connection>();
  const ending = new Set<Promise<void>>();
  const memory = createRootsMemory();
  let closed = false;

  const create = (
    member: PoolEntry,
    share: Share,
    caller: ClientIdentity | undefined,
    parts: { answer?: Answerer; holder?: string | undefined } = {},
  ): Connection => {
    const { name } = member.spec;
    const own = share === 'session' || share === 'call' ? caller : undefined;
    const connection: Connection = createConnection({
      ...options,
      settings,
      spec: member.spec,
      starts,
      places,
      owner: own?.key,
      holder: own?.holder ?? parts.holder,
      offered: caller && (share === 'all' ? sharedKey(offeredKey(caller)) : offeredKey(caller)),
      introduction: introductionOf(share, caller),
      workspaceFolder: workspaceOf(caller),
      stderr: options.stderr && ((line) => options.stderr?.write(name, line)),
      events: eventsOf(name, options.events, {
        self: () => connection,
        answer: parts.answer,
        questions: member.questions,
        state(state) {
          if (state.kind === 'ready') member.era = connection.handshake?.era;
          // A member that a reload has replaced emits no events.
          if (share === 'call' || members.get(name) !== member) return;
          if (state.kind === 'ready') takeOver(member, connection);
          if (state.kind === 'idle') member.rooted?.idle(connection);
          options.events?.state?.(name, state, connection);
        },
      }),
    });
    open.add(connection);
    // After close(), callers get the error "is stopped", and no server is started.
    if (closed) void connection.close();
    return connection;
  };

  const shared = (member: PoolEntry, caller: ClientIdentity | undefined): Connection => {
    const key = caller === undefined ? '' : sharedKey(offeredKey(caller));
    const at = (place: number): Connection => {
      const own = keyAt(key, place);
      const found = member.shared.get(own) ?? create(member, 'all', caller);
      member.shared.set(own, found);
      return found;
    };
    // With `share: "all"` in the config there is exactly one connection.
    const isOnly = caller === undefined || member.spec.share === 'all';
    return at(isOnly ? 0 : member.questions.placeFor(caller.key, at));
  };

  /** Returns a ready connection: a modern server serves every set of capabilities on it. */
  const stateless = (member: PoolEntry): Connection =>
    [...member.shared.values(), ...(member.rooted?.all() ?? [])].find(({ state }) => state.kind === 'ready') ??
    shared(member, undefined);

  const view = (member: PoolEntry, caller: ClientIdentity): Connection => {
    member.claimed.add(stateless(member));
    const offered = offeredKey(caller);
    const { capabilities } = introductionOf('all', caller);
    const roots = caller.capabilities.roots === undefined ? {} : { roots: {} };
    const client = { key: '', capabilities: { ...capabilities, ...roots } };
    const found = member.views.get(offered) ?? statelessView({ base: () => stateless(member), offered, client });
    member.views.set(offered, found);
    return found;
  };

  const own = (member: PoolEntry, caller: ClientIdentity): Connection => {
    const found = member.sessions.get(caller.key) ?? create(member, 'session', caller);
    member.sessions.set(caller.key, found);
    return found;
  };

  const rooted = (member: PoolEntry): RootedConnections => {
    member.rooted ??= createRooted({
      ...{ questions: member.questions, memory },
      create(caller, own) {
        const connection = create(member, 'roots', caller, own);
        member.claimed.add(connection);
        return connection;
      },
      end(connection) {
        if (member.current === connection) member.current = undefined;
        void end(connection);
      },
    });
    return member.rooted;
  };

  const once = (member: PoolEntry, caller: ClientIdentity): Connection =>
    perCall({
      create: () => create(member, 'call', caller),
      end,
      slots: member.calls,
      shown: {
        name: member.spec.name,
        spec: member.spec,
        handshake: lister(member).handshake,
        offered: offeredKey(caller),
        folder: launchFolder(member.spec, workspaceOf(caller)),
      },
    });

  /** Ends a connection once no request is pending on it. */
  const end = (connection: Connection) => {
    const ended = connection.drain().finally(() => {
      open.delete(connection);
      ending.delete(ended);
    });
    ending.add(ended);
    return ended;
  };

  const lister = (member: PoolEntry): Connection => member.current ?? shared(member, member.seen);

  const find = (server: string, caller?: ClientIdentity): Connection | undefined => {
    const member = members.get(server);
    if (!member || !caller) return member && lister(member);
    member.seen = caller;
    member.era ??= options.recall?.(member.spec)?.era ?? 'unknown';
    const share = member.shareFor(caller, member.era);
    if (share === 'call') return once(member, caller);
    if (share === 'all' && member.era === 'modern') return view(member, caller);
    if (share === 'roots') return rootedView(caller, rooted(member));
    const connection = share === 'all' ? shared(member, caller) : own(member, caller);
    member.claimed.add(connection);
    return connection;
  };

  // Each server has a connection from the beginning, so that its state can be shown.
  for (const member of members.values()) shared(member, undefined);

  return {
    get: find,
    all: () => [...open],
    affected(connection) {
      const member = members.get(connection.name);
      const views = member?.era === 'modern' && connection.owner === undefined ? [...member.views.values()] : [];
      return [connection, ...views.filter(({ offered }) => offered !== connection.offered)];
    },
    clientOf: (connection) => connection.owner ?? members.get(connection.name)?.rooted?.clientOf(connection),
    serves: (connection, key) => members.get(connection.name)?.rooted?.serves(connection, key) ?? true,
    update(servers, next) {
      settings = next;
      const before = new Map(members);
      members.clear();
      const change: PoolChange = { added: [], changed: [], removed: [] };
      for (const spec of enabled(servers)) {
        const old = before.get(spec.name);
        const member = memberFor(spec);
        if (old !== undefined && sameLaunch(old, member)) {
          members.set(spec.name, Object.assign(old, { spec }));
          before.delete(spec.name);
          continue;
        }
        members.set(spec.name, member);
        shared(member, undefined);
        change[old === undefined ? 'added' : 'changed'].push(spec.name);
      }
      change.removed = [...before.keys()].filter((name) => !members.has(name));
      for (const { shared, sessions, rooted } of before.values()) {
        for (const one of [...shared.values(), ...sessions.values(), ...(rooted?.all() ?? [])]) void end(one);
      }
      return change;
    },
    emptied: async () => void (await Promise.allSettled(ending)),
    rootsChanged: memory.changed,
    release(key) {
      memory.forget(key);
      for (const member of members.values()) {
        member.rooted?.release(key);
        const connection = member.sessions.get(key);
        if (!connection) continue;
        member.sessions.delete(key);
        if (member.current === connection) member.current = undefined;
        void end(connection);
      }
    },
    async close(bounds) {
      closed = true;
      await Promise.all([...open].map((connection) => connection.close(bounds)));
    },
    killNow() {
      closed = true;
      for (const connection of open) connection.killNow();
    },
  };
}

/** Stops connections that were only used for listing once a client's connection is ready. */
function takeOver(member: PoolEntry, connection: Connection): void {
  if (!isFurther(connection, member.current)) member.current = connection;
  if (!member.claimed.has(connection)) return;
  for (const other of member.shared.values()) {
    if (other !== connection && !member.claimed.has(other)) void other.stopIdle();
  }
}
