/** Resource subscriptions and log levels of the downstream sessions, applied to the upstream connections. */
import { isWithin, type Located } from '../catalog/exposed-uris.ts';
import { McpxError, messageOf } from '../errors.ts';
import { LEVELS, type LogLevel, levelRank } from '../mcp/log-levels.ts';
import type { Log } from '../observe/log.ts';
import type { Connection, ConnectionInfo } from '../upstream/connection-interface.ts';
import type { ClientIdentity, Pool } from '../upstream/pool.ts';
import type { Params } from '../wire/message.ts';

export interface Subscriptions {
  /**
   * Registers a subscription; the caller sends `resources/subscribe` itself. Throws overloaded above
   * `MAX_SUBSCRIPTIONS`.
   */
  subscribe(resource: Located, wish: Wish): void;
  /**
   * Removes a subscription. Returns the connection to send `resources/unsubscribe` on; undefined if other sessions
   * still use it.
   */
  unsubscribe(resource: Located, holder: string): Connection | undefined;
  /** The URI that the session subscribed with, on connection `spoke` if given; undefined if it is not subscribed. */
  wanted(resource: Located, holder: string, spoke?: ConnectionInfo): string | undefined;
  /** True if the session is subscribed to a resource that contains this one. */
  wantsWhole(resource: Located, holder: string, spoke?: ConnectionInfo): boolean;
  /** Registers a session; until it sets a log level, it receives all log messages. */
  join(holder: string): void;
  /**
   * Sets the log level of a session. A connection that several sessions share gets the least severe level of all of
   * them.
   */
  setLevel(level: LogLevel, holder: string): void;
  /** True if the session receives log messages of this level; without a level of its own it receives all. */
  hears(level: unknown, holder: string): boolean;
  /** Handles a change of the session's roots, and tells the connections that serve this session alone. */
  rootsChanged(holder: string): void;
  /** Removes a session, and unsubscribes from the resources that no other session is subscribed to. */
  leave(holder: string): void;
  /** Moves the subscriptions of servers that were replaced or removed to the connections that take their place. */
  replaced(servers: readonly string[]): void;
  /**
   * Sends the log level and the pending subscriptions to an upstream that has just connected. A connection renews its
   * earlier subscriptions itself.
   */
  connected(connection: Connection): void;
}

/** Maximum number of subscriptions of one session. */
const MAX_SUBSCRIPTIONS = 1000;

interface Wish {
  /** The session, whose identity may change while it is subscribed. */
  client: { readonly identity: ClientIdentity };
  /** The URI in the client's request. */
  asked: string;
  /**
   * The connection that carries the subscription, since a server may have one connection per session. Undefined while
   * it is lost and not replaced yet.
   */
  via: Connection | undefined;
}

export interface SubscriptionsDeps {
  pool: Pick<Pool, 'all' | 'get' | 'rootsChanged'>;
  log: Log;
}

export function createSubscriptions(deps: SubscriptionsDeps): Subscriptions {
  return new SubscriptionTable(deps, new LogLevels(deps));
}

/** Sends a request to a connection that is ready; others get the current state when they connect. */
function tell(connection: Connection, method: string, params: Params, log: Log): void {
  if (connection.state.kind !== 'ready') return;
  connection.request(method, params).catch((error: unknown) => {
    log.debug(`${method} was refused: ${messageOf(error)}`, { server: connection.name });
  });
}

/** The log levels of the sessions, and those that the servers were told. */
class LogLevels {
  readonly #deps: SubscriptionsDeps;
  /** The log level of each session; undefined if it has not set one. */
  readonly #levels = new Map<string, number | undefined>();
  /** The level last sent on each connection. Before mcpx sends one, the server uses its own default. */
  readonly #told = new WeakMap<Connection, number>();

  constructor(deps: SubscriptionsDeps) {
    this.#deps = deps;
  }

  join(holder: string): void {
    if (this.#levels.has(holder)) return;
    this.#levels.set(holder, undefined);
    this.#tellAll();
  }

  set(level: LogLevel, holder: string): void {
    this.#levels.set(holder, levelRank(level));
    this.#tellAll(holder);
  }

  hears(level: unknown, holder: string): boolean {
    return levelRank(level) >= (this.#levels.get(holder) ?? 0);
  }

  leave(holder: string): void {
    if (this.#levels.delete(holder)) this.#tellAll();
  }

  connected(connection: Connection): void {
    this.#told.delete(connection);
    this.#tell(connection);
  }

  /** Updates the shared connections, and those of this session. */
  #tellAll(holder = ''): void {
    for (const connection of this.#deps.pool.all()) if (isFor(holder, connection)) this.#tell(connection);
  }

  /** Sends the log level. A connection with an owner uses the level of that session only. */
  #tell(connection: Connection): void {
    const { owner, handshake } = connection;
    if (handshake?.capabilities.logging === undefined) return;
    const before = this.#told.get(connection);
    const wanted = owner === undefined ? [...this.#levels.values()] : [this.#levels.get(owner)];
    // Without any session the level stays as it is, until the next session sets one.
    if (wanted.length === 0 || (before === undefined && wanted.every((rank) => rank === undefined))) return;
    const rank = Math.min(...wanted.map((rank) => rank ?? 0));
    if (rank === before) return;
    this.#told.set(connection, rank);
    tell(connection, 'logging/setLevel', { level: LEVELS[rank] }, this.#deps.log);
  }
}

class SubscriptionTable implements Subscriptions {
  readonly #deps: SubscriptionsDeps;
  readonly #levels: LogLevels;
  readonly #resources = new Map<string, Located & { holders: Map<string, Wish> }>();
  /** Number of subscriptions of each session. */
  readonly #counts = new Map<string, number>();

  constructor(deps: SubscriptionsDeps, levels: LogLevels) {
    this.#deps = deps;
    this.#levels = levels;
  }

  subscribe(resource: Located, wish: Wish): void {
    const { key: holder } = wish.client.identity;
    const entry = this.#resources.get(keyOf(resource)) ?? { ...resource, holders: new Map<string, Wish>() };
    const count = (this.#counts.get(holder) ?? 0) + (entry.holders.has(holder) ? 0 : 1);
    if (count > MAX_SUBSCRIPTIONS) throw tooMany();
    this.#counts.set(holder, count);
    entry.holders.set(holder, wish);
    this.#resources.set(keyOf(resource), entry);
  }

  /** Removes a subscription; returns its connection if no other session uses the same subscription there. */
  unsubscribe(resource: Located, holder: string): Connection | undefined {
    const entry = this.#resources.get(keyOf(resource));
    const wish = entry?.holders.get(holder);
    if (entry === undefined || wish === undefined) return undefined;
    entry.holders.delete(holder);
    this.#counts.set(holder, (this.#counts.get(holder) ?? 0) - 1);
    if (entry.holders.size === 0) this.#resources.delete(keyOf(resource));
    return [...entry.holders.values()].some(({ via }) => isSame(via, wish.via)) ? undefined : wish.via;
  }

  wanted(resource: Located, holder: string, spoke?: ConnectionInfo): string | undefined {
    const wish = this.#resources.get(keyOf(resource))?.holders.get(holder);
    return isOf(wish, spoke) ? wish?.asked : undefined;
  }

  wantsWhole({ server, uri }: Located, holder: string, spoke?: ConnectionInfo): boolean {
    if ((this.#counts.get(holder) ?? 0) === 0) return false;
    for (const whole of this.#resources.values()) {
      if (whole.server === server && isWithin(uri, whole.uri) && isOf(whole.holders.get(holder), spoke)) return true;
    }
    return false;
  }

  join(holder: string): void {
    this.#levels.join(holder);
  }

  setLevel(level: LogLevel, holder: string): void {
    this.#levels.set(level, holder);
  }

  hears(level: unknown, holder: string): boolean {
    return this.#levels.hears(level, holder);
  }

  rootsChanged(holder: string): void {
    const { pool } = this.#deps;
    pool.rootsChanged(holder);
    const own = pool.all().filter(({ owner, state }) => owner === holder && state.kind === 'ready');
    for (const connection of own) connection.notify('notifications/roots/list_changed');
  }

  leave(holder: string): void {
    this.#levels.leave(holder);
    for (const { server, uri } of [...this.#resources.values()]) {
      const via = this.unsubscribe({ server, uri }, holder);
      if (via !== undefined) tell(via, 'resources/unsubscribe', { uri }, this.#deps.log);
    }
    this.#counts.delete(holder);
  }

  replaced(servers: readonly string[]): void {
    for (const { server, uri, holders } of this.#resources.values()) {
      if (!servers.includes(server)) continue;
      for (const wish of holders.values()) {
        wish.via = undefined;
        this.#renew({ server, uri }, wish);
      }
    }
  }

  connected(connection: Connection): void {
    this.#levels.connected(connection);
    for (const { server, uri, holders } of this.#resources.values()) {
      if (server !== connection.name) continue;
      for (const wish of holders.values())
        if (wish.via === undefined && isFor(wish.client.identity.key, connection)) this.#renew({ server, uri }, wish);
    }
  }

  /** Subscribes again on the client's current connection, and connects it first if necessary. */
  #renew({ server, uri }: Located, wish: Wish): void {
    const { pool, log } = this.#deps;
    const { identity: client } = wish.client;
    const via = pool.get(server, client);
    if (via?.state.kind !== 'ready') {
      wake(via);
      return;
    }
    wish.via = via;
    via.request('resources/subscribe', { uri }, { client }).catch((error: unknown) => {
      // The next connection may accept the subscription.
      if (wish.via === via) wish.via = undefined;
      log.debug(`resources/subscribe was refused: ${messageOf(error)}`, { server });
    });
  }
}

function keyOf({ server, uri }: Located): string {
  return JSON.stringify([server, uri]);
}

/** Connects in the background; the connection records a failure in its state and retries. */
function wake(connection: Connection | undefined): void {
  connection?.connect().catch(() => undefined);
}

function isFor(holder: string, { owner }: Connection): boolean {
  return owner === undefined || owner === holder;
}

/** True if the subscription exists and belongs to connection `spoke`, if given. */
function isOf(wish: Wish | undefined, spoke: ConnectionInfo | undefined): boolean {
  return wish !== undefined && (spoke === undefined || isSame(wish.via, spoke));
}

/** True if both share one upstream session; a modern server has one for all sets of client capabilities. */
function isSame(one: ConnectionInfo | undefined, other: ConnectionInfo | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  if (one.base ?? other.base) return (one.base?.() ?? one) === (other.base?.() ?? other);
  return one.owner === other.owner && (other.handshake?.era === 'modern' || one.offered === other.offered);
}

function tooMany(): McpxError {
  return new McpxError('overloaded', 'this client is subscribed to too many resources', {
    hint: 'unsubscribe from what is no longer needed',
  });
}
