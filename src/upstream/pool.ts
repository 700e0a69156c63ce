/** All connections of one profile: who shares which, bounded starts, the common end. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Params, RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import { type Connection, type ConnectionEvents, type ConnectionState, createConnection } from './connection.ts';
import { createSlots } from './queue.ts';
import type { StopBounds } from './transport.ts';

/** The downstream on whose behalf an upstream is used. */
export interface Caller {
  /** Unique per downstream session. */
  key: string;
  capabilities: Record<string, unknown>;
  clientInfo?: { name: string; version: string };
}

export interface PoolOptions {
  servers: ServerSpec[];
  settings: Pick<Settings, 'connect' | 'limits' | 'health'>;
  log: Log;
  events?: {
    state?: (server: string, state: ConnectionState) => void;
    notification?: (server: string, method: string, params: Params | undefined) => void;
    /** Answers a request of an upstream other than `ping`; absent: -32601. */
    request?: (server: string, request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  };
}

export interface Pool {
  /** Undefined for a name that is not configured or is disabled. Never starts anything. */
  get(server: string, caller?: Caller): Connection | undefined;
  all(): Connection[];
  /** Ends everything at once, within the bounds of a stop. */
  close(bounds?: StopBounds): Promise<void>;
  /** Ends every process tree at once and synchronously: for the way out of a dying process. */
  killNow(): void;
}

export function createPool({ servers, settings, log, events }: PoolOptions): Pool {
  const starts = createSlots({ limit: settings.connect.concurrency, subject: 'the start of servers' });
  const connections = new Map<string, Connection>();
  for (const spec of servers) {
    if (spec.disabled) continue;
    const own = eventsOf(spec.name, events);
    connections.set(spec.name, createConnection({ spec, settings, log, starts, events: own }));
  }
  const all = () => [...connections.values()];

  return {
    get: (server) => connections.get(server),
    all,
    async close(bounds) {
      await Promise.all(all().map((connection) => connection.close(bounds)));
    },
    killNow() {
      for (const connection of connections.values()) connection.killNow();
    },
  };
}

/** The events of the pool as one server's own. */
function eventsOf(server: string, events: PoolOptions['events'] = {}): ConnectionEvents {
  const { state, notification, request } = events;
  return {
    ...(state && { state: (...told) => state(server, ...told) }),
    ...(notification && { notification: (...told) => notification(server, ...told) }),
    ...(request && { request: (...asked) => request(server, ...asked) }),
  };
}
