/** The connections of one profile: decides which clients share one, limits starts and closes all of them. */
import type { ServerSpec, Settings } from '../config/config.ts';
import { offeredKey, sharedKey } from '../mcp/capabilities.ts';
import type { Log } from '../observe/log.ts';
import type { ClientIdentity } from './client-identity.ts';
import { createConnection } from './connection.ts';
import type { Connection, ConnectionState } from './connection-interface.ts';
import type { ConnectionOptions } from './connection-options.ts';
import { createListingLimit, type ListingLimit } from './lifecycle/listing-limit.ts';
import { createSlots, type Slots } from './lifecycle/queue.ts';
import type { ChildLimit } from './process/child-limit.ts';
import type { ChildRecords } from './process/orphans.ts';
import type { StderrFiles } from './process/stderr-file.ts';
import type { Answerer } from './sharing/by-roots.ts';
import { createRootsMemory } from './sharing/client-roots.ts';
import { isFurther } from './sharing/pending-questions.ts';
import { enabled, type PoolChange, type PoolEntry, poolEntryOf, sameLaunch } from './sharing/pool-entry.ts';
import { eventsOf } from './sharing/pool-events.ts';
import { ServerPool } from './sharing/server-pool.ts';
import { introductionOf, type Share, workspaceOf } from './sharing/sharing.ts';
import type { StopBounds } from './transports/transport.ts';
import type { UpstreamEvents } from './upstream-events.ts';

export type { ClientIdentity } from './client-identity.ts';
export type { ServerNotification } from './upstream-events.ts';

export interface PoolOptions {
  servers: ServerSpec[];
  settings: Pick<Settings, 'connect' | 'limits' | 'health'> & Partial<Pick<Settings, 'offline'>>;
  log: Log;
  /** Connections that serve a single call report no states. */
  events?: UpstreamEvents;
  /** Returns the cached detection results of a server, which are tried first. */
  recall?: ConnectionOptions['recall'];
  /** Records the running child processes on disk. */
  children?: Pick<ChildRecords, 'started' | 'ended'> | undefined;
  /** Limits how many processes run at once. */
  childLimit?: ChildLimit | undefined;
  /** Milliseconds that a start only for listing may take while other servers wait (default: MAX_LISTING_TIME). */
  listingTime?: number | undefined;
  /** Stores the stderr output of child processes. */
  stderr?: StderrFiles | undefined;
  /** Creates the credentials of servers with a URL. */
  authorize?: ConnectionOptions['authorize'];
  /** Returns true if a client is subscribed to a resource on the connection. */
  isSubscribed?: ConnectionOptions['isSubscribed'];
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
  /** Tells the connections of a client session that its roots have changed; the next call requests them again. */
  rootsChanged(caller: string): void;
  /** Ends the connections of a closed client session after their last call. */
  release(caller: string): void;
  /** Closes all connections within the bounds; a second call with smaller bounds shortens the stop. */
  close(bounds?: StopBounds): Promise<void>;
  /** Kills every process tree synchronously; for use while mcpx itself exits. */
  killNow(): void;
}

export function createPool(options: PoolOptions): Pool {
  return new ConnectionPool(options);
}

class ConnectionPool implements Pool {
  readonly #options: PoolOptions;
  #settings: PoolOptions['settings'];
  readonly #starts: Slots;
  readonly #places: ListingLimit;
  readonly #servers: Map<string, ServerPool>;
  readonly #open = new Set<Connection>();
  readonly #ending = new Set<Promise<void>>();
  readonly #memory = createRootsMemory();
  #closed = false;

  constructor(options: PoolOptions) {
    const { settings, servers, listingTime } = options;
    const { concurrency } = settings.connect;
    this.#options = options;
    this.#settings = settings;
    this.#starts = createSlots({ limit: concurrency, subject: 'the start of servers' });
    this.#places = createListingLimit(concurrency, listingTime);
    this.#servers = new Map(enabled(servers).map((spec) => [spec.name, this.#serverOf(spec)]));
    // Each server has a connection from the beginning, so that its state can be shown.
    for (const server of this.#servers.values()) server.lister();
  }

  get(server: string, caller?: ClientIdentity): Connection | undefined {
    const found = this.#servers.get(server);
    return caller === undefined ? found?.lister() : found?.connectionFor(caller);
  }

  all(): Connection[] {
    return [...this.#open];
  }

  affected(connection: Connection): Connection[] {
    const views = this.#servers.get(connection.name)?.viewsOf(connection) ?? [];
    return [connection, ...views.filter(({ offered }) => offered !== connection.offered)];
  }

  clientOf(connection: Connection): string | undefined {
    return connection.owner ?? this.#servers.get(connection.name)?.entry.rooted?.clientOf(connection);
  }

  serves(connection: Connection, key: string): boolean {
    return this.#servers.get(connection.name)?.entry.rooted?.serves(connection, key) ?? true;
  }

  update(servers: readonly ServerSpec[], next: PoolOptions['settings']): PoolChange {
    this.#settings = next;
    const before = new Map(this.#servers);
    this.#servers.clear();
    const change: PoolChange = { added: [], changed: [], removed: [] };
    for (const spec of enabled(servers)) {
      const old = before.get(spec.name);
      const server = this.#serverOf(spec);
      if (old !== undefined && sameLaunch(old.entry, server.entry)) {
        old.entry.spec = spec;
        this.#servers.set(spec.name, old);
        before.delete(spec.name);
        continue;
      }
      this.#servers.set(spec.name, server);
      server.lister();
      change[old === undefined ? 'added' : 'changed'].push(spec.name);
    }
    change.removed = [...before.keys()].filter((name) => !this.#servers.has(name));
    for (const server of before.values()) for (const one of server.all()) void this.#end(one);
    return change;
  }

  async emptied(): Promise<void> {
    await Promise.allSettled(this.#ending);
  }

  rootsChanged(key: string): void {
    this.#memory.changed(key);
    for (const connection of this.#open) {
      const isOwn = connection.owner === key && connection.state.kind === 'ready';
      if (isOwn) connection.notify('notifications/roots/list_changed');
    }
  }

  release(key: string): void {
    this.#memory.forget(key);
    for (const server of this.#servers.values()) server.release(key);
  }

  async close(bounds?: StopBounds): Promise<void> {
    this.#closed = true;
    await Promise.all([...this.#open].map((connection) => connection.close(bounds)));
  }

  killNow(): void {
    this.#closed = true;
    for (const connection of this.#open) connection.killNow();
  }

  #serverOf(spec: ServerSpec): ServerPool {
    const { recall } = this.#options;
    const entry = poolEntryOf(spec, this.#settings);
    return new ServerPool(entry, {
      create: (share, caller, parts) => this.#create(entry, share, caller, parts),
      end: (connection) => this.#end(connection),
      moved: (connection) => this.#options.events?.moved?.(connection),
      memory: this.#memory,
      recall: (one) => recall?.(one)?.era,
    });
  }

  #create(entry: PoolEntry, share: Share, caller: ClientIdentity | undefined, parts: CreateParts = {}): Connection {
    const { stderr, events } = this.#options;
    const { name } = entry.spec;
    const own = share === 'session' || share === 'call' ? caller : undefined;
    const connection = createConnection({
      ...this.#options,
      settings: this.#settings,
      spec: entry.spec,
      starts: this.#starts,
      places: this.#places,
      owner: own?.key,
      holder: own?.holder ?? parts.holder,
      offered: caller && (share === 'all' ? sharedKey(offeredKey(caller)) : offeredKey(caller)),
      introduction: introductionOf(share, caller),
      workspaceFolder: workspaceOf(caller),
      stderr: stderr && ((line) => stderr.write(name, line)),
      events: eventsOf(events, {
        answer: parts.answer,
        questions: entry.questions,
        state: (state, one) => this.#entered(entry, share, state, one),
      }),
    });
    this.#open.add(connection);
    // After close(), callers get the error "is stopped", and no server is started.
    if (this.#closed) void connection.close();
    return connection;
  }

  #entered(entry: PoolEntry, share: Share, state: ConnectionState, connection: Connection): void {
    if (state.kind === 'ready') entry.era = connection.handshake?.era;
    // A server that a reload has replaced emits no events.
    if (share === 'call' || this.#servers.get(entry.spec.name)?.entry !== entry) return;
    if (state.kind === 'ready') takeOver(entry, connection);
    if (state.kind === 'idle') entry.rooted?.idle(connection);
    this.#options.events?.state?.(state, connection);
  }

  /** Ends a connection once no request is pending on it. */
  #end(connection: Connection): Promise<void> {
    const ended = connection.drain().finally(() => {
      this.#open.delete(connection);
      this.#ending.delete(ended);
    });
    this.#ending.add(ended);
    return ended;
  }
}

interface CreateParts {
  answer?: Answerer;
  holder?: string | undefined;
}

/** Stops connections that were only used for listing once a client's connection is ready. */
function takeOver(member: PoolEntry, connection: Connection): void {
  if (!isFurther(connection, member.current)) member.current = connection;
  if (!member.claimed.has(connection)) return;
  for (const other of member.shared.values()) {
    if (other !== connection && !member.claimed.has(other)) void other.stopIdle();
  }
}
