/** What downstreams want of upstreams as long as they are there: news of resources, and a log level. */
import { isWithin, type Located } from '../catalog/uris.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Caller, Pool } from '../upstream/pool.ts';
import type { Params } from '../wire/message.ts';

/** From everything to almost nothing. */
const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type LogLevel = (typeof LEVELS)[number];

export function isLogLevel(value: unknown): value is LogLevel {
  return LEVELS.some((level) => level === value);
}

/** How much a level leaves out; what is none, such as `warn`, counts as the least important. */
export function levelRank(level: unknown): number {
  return Math.max(0, LEVELS.indexOf(level as LogLevel));
}

export interface Wishes {
  /** Registers who wants news; whoever calls asks the upstream. Throws overloaded for one that wants as many as one may. */
  subscribe(resource: Located, wish: Wish): void;
  /** What the upstream may be told through, when nobody is left who wants it of the same connection. */
  unsubscribe(resource: Located, holder: string): Connection | undefined;
  /** The URI under which that downstream wants news (of whoever spoke, where that is known); undefined where it wants none. */
  wanted(resource: Located, holder: string, spoke?: Connection): string | undefined;
  /** Whether it wants news of something that the resource is a part of. */
  wantsWhole(resource: Located, holder: string, spoke?: Connection): boolean;
  /** A downstream is there, and hears what servers say, as long as it sets no level all of it. */
  join(holder: string): void;
  /** What serves this downstream alone is set to its level, what several share to the most talkative one that anybody wants. */
  setLevel(level: LogLevel, holder: string): void;
  /** Whether a message of this level is for that downstream; one that set none gets all. */
  hears(level: unknown, holder: string): boolean;
  /** The servers that serve this downstream alone learn that its roots are others now. */
  rootsChanged(holder: string): void;
  /** A downstream has gone: what only it wanted is called off. */
  leave(holder: string): void;
  /** These servers are others now, or gone: what was asked of them is asked of what takes their place. */
  replaced(servers: readonly string[]): void;
  /** An upstream has just been connected: it learns the level, and what is wanted of it. Its own subscriptions a connection renews by itself. */
  connected(connection: Connection): void;
}

/** Resources that one downstream may want news of. */
const MAX_SUBSCRIPTIONS = 1000;

interface Wish {
  caller: Caller;
  /** The URI that the downstream named. */
  asked: string;
  /** What it was asked of: a server may run once for each of several downstreams, and tells each what it asked for. Undefined while that is gone, and nothing has taken its place. */
  via: Connection | undefined;
}

export function createWishes({ pool, log }: { pool: Pick<Pool, 'all' | 'get'>; log: Log }): Wishes {
  const resources = new Map<string, Located & { holders: Map<string, Wish> }>();
  /** How many of them each downstream wants. */
  const counts = new Map<string, number>();
  /** Of each downstream that is there; undefined for one that set none. */
  const levels = new Map<string, number | undefined>();
  /** What each conversation was told, if anything: what a server says by itself is not ours to change. */
  const told = new WeakMap<Connection, number>();
  const keyOf = ({ server, uri }: Located) => JSON.stringify([server, uri]);

  /** Sent to what is running; what is not will be told when it is connected. */
  const tell = (connection: Connection, method: string, params: Params) => {
    if (connection.state.kind !== 'ready') return;
    connection.request(method, params).catch((error: unknown) => {
      log.debug(`${method} was refused: ${messageOf(error)}`, { server: connection.name });
    });
  };

  /** What a connection that is one downstream's own is told is for that one to say. */
  const tellLevel = (connection: Connection) => {
    const { owner, hello } = connection;
    if (hello?.capabilities.logging === undefined) return;
    const before = told.get(connection);
    const wanted = owner === undefined ? [...levels.values()] : [levels.get(owner)];
    // While nobody is there it goes on as it is: who comes next says what it wants.
    if (wanted.length === 0 || (before === undefined && wanted.every((rank) => rank === undefined))) return;
    const rank = Math.min(...wanted.map((rank) => rank ?? 0));
    if (rank === before) return;
    told.set(connection, rank);
    tell(connection, 'logging/setLevel', { level: LEVELS[rank] });
  };

  /** What several share, and what is this downstream's own. */
  const tellLevels = (holder = '') => {
    for (const connection of pool.all()) if (isFor(holder, connection)) tellLevel(connection);
  };

  /** What it was asked of, where nobody else has the same of it. */
  const end = (resource: Located, holder: string): Connection | undefined => {
    const entry = resources.get(keyOf(resource));
    const wish = entry?.holders.get(holder);
    if (entry === undefined || wish === undefined) return undefined;
    entry.holders.delete(holder);
    counts.set(holder, (counts.get(holder) ?? 0) - 1);
    if (entry.holders.size === 0) resources.delete(keyOf(resource));
    return [...entry.holders.values()].some(({ via }) => isSame(via, wish.via)) ? undefined : wish.via;
  };

  /** Asked of what the caller has now, as soon as that is connected. */
  const renew = ({ server, uri }: Located, wish: Wish) => {
    const via = pool.get(server, wish.caller);
    if (via?.state.kind !== 'ready') return wake(via);
    wish.via = via;
    via.request('resources/subscribe', { uri }, { principal: wish.caller.principal }).catch((error: unknown) => {
      // The next time it is connected it may have it.
      if (wish.via === via) wish.via = undefined;
      log.debug(`resources/subscribe was refused: ${messageOf(error)}`, { server });
    });
  };

  return {
    subscribe(resource, wish) {
      const { key: holder } = wish.caller;
      const entry = resources.get(keyOf(resource)) ?? { ...resource, holders: new Map<string, Wish>() };
      const count = (counts.get(holder) ?? 0) + (entry.holders.has(holder) ? 0 : 1);
      if (count > MAX_SUBSCRIPTIONS) throw tooMany();
      counts.set(holder, count);
      entry.holders.set(holder, wish);
      resources.set(keyOf(resource), entry);
    },
    unsubscribe: end,
    wanted(resource, holder, spoke) {
      const wish = resources.get(keyOf(resource))?.holders.get(holder);
      return isOf(wish, spoke) ? wish?.asked : undefined;
    },
    wantsWhole({ server, uri }, holder, spoke) {
      if ((counts.get(holder) ?? 0) === 0) return false;
      for (const whole of resources.values()) {
        if (whole.server === server && isWithin(uri, whole.uri) && isOf(whole.holders.get(holder), spoke)) return true;
      }
      return false;
    },
    join(holder) {
      if (levels.has(holder)) return;
      levels.set(holder, undefined);
      tellLevels();
    },
    setLevel(level, holder) {
      levels.set(holder, levelRank(level));
      tellLevels(holder);
    },
    hears: (level, holder) => levelRank(level) >= (levels.get(holder) ?? 0),
    rootsChanged(holder) {
      const own = pool.all().filter(({ owner, state }) => owner === holder && state.kind === 'ready');
      for (const connection of own) connection.notify('notifications/roots/list_changed');
    },
    leave(holder) {
      if (levels.delete(holder)) tellLevels();
      for (const { server, uri } of [...resources.values()]) {
        const via = end({ server, uri }, holder);
        if (via !== undefined) tell(via, 'resources/unsubscribe', { uri });
      }
      counts.delete(holder);
    },
    replaced(servers) {
      for (const { server, uri, holders } of resources.values()) {
        if (!servers.includes(server)) continue;
        for (const wish of holders.values()) {
          wish.via = undefined;
          renew({ server, uri }, wish);
        }
      }
    },
    connected(connection) {
      told.delete(connection);
      tellLevel(connection);
      for (const { server, uri, holders } of resources.values()) {
        if (server !== connection.name) continue;
        for (const wish of holders.values())
          if (wish.via === undefined && isFor(wish.caller.key, connection)) renew({ server, uri }, wish);
      }
    },
  };
}

/** What cannot be reached says so in its state, and is tried again. */
function wake(connection: Connection | undefined): void {
  connection?.connect().catch(() => undefined);
}

function isFor(holder: string, { owner }: Connection): boolean {
  return owner === undefined || owner === holder;
}

/** Whether a wish, if there is one, was made of whoever spoke. */
function isOf(wish: Wish | undefined, spoke: Connection | undefined): boolean {
  return wish !== undefined && (spoke === undefined || isSame(wish.via, spoke));
}

/** Whether two are one conversation: in the modern era one serves all sets of capabilities. */
function isSame(one: Connection | undefined, other: Connection | undefined): boolean {
  if (one === other) return true;
  if (one === undefined || other === undefined) return false;
  if (one.base ?? other.base) return (one.base?.() ?? one) === (other.base?.() ?? other);
  return one.owner === other.owner && (other.hello?.era === 'modern' || one.offered === other.offered);
}

function tooMany(): McpxError {
  return new McpxError('overloaded', 'this client is subscribed to too many resources', {
    hint: 'unsubscribe from what is no longer needed',
  });
}
