/** All connections of one profile: who shares which, bounded starts, the common end. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Params } from '../wire/message.ts';
import type { Connection, ConnectionState } from './connection.ts';

/** The downstream on whose behalf an upstream is used. */
export interface Caller {
  /** Unique per downstream session. */
  key: string;
  capabilities: Record<string, unknown>;
  clientInfo?: { name: string; version: string };
}

export interface PoolOptions {
  servers: ServerSpec[];
  settings: Pick<Settings, 'connect' | 'limits'>;
  log: Log;
  events?: {
    state?: (server: string, state: ConnectionState) => void;
    notification?: (server: string, method: string, params: Params | undefined) => void;
  };
}

export interface Pool {
  /** Undefined for a name that is not configured or is disabled. Never starts anything. */
  get(server: string, caller?: Caller): Connection | undefined;
  all(): Connection[];
  /** Ends everything at once, within the bounds of a stop. */
  close(): Promise<void>;
}

export function createPool(_options: PoolOptions): Pool {
  throw new Error('being written');
}
