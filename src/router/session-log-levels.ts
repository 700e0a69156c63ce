/** The log levels of the downstream sessions, and those that the servers were told. */
import { LEVELS, type LogLevel, levelRank } from '../mcp/log-levels.ts';
import type { Log } from '../observe/log.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Pool } from '../upstream/pool.ts';
import { requestInBackground } from './background-request.ts';

export interface SessionLogLevels {
  /** Registers a session; until it sets a log level, it receives all log messages. */
  join(holder: string): void;
  /**
   * Sets the log level of a session. A connection that several sessions share gets the least severe level of all of
   * them.
   */
  set(level: LogLevel, holder: string): void;
  /** True if the session receives log messages of this level; without a level of its own it receives all. */
  hears(level: unknown, holder: string): boolean;
  /** Removes a session; its level no longer counts. */
  leave(holder: string): void;
  /** Sends the log level to an upstream that has just connected. */
  connected(connection: Connection): void;
}

export interface LogLevelDeps {
  pool: Pick<Pool, 'all'>;
  log: Log;
}

export function createSessionLogLevels(deps: LogLevelDeps): SessionLogLevels {
  return new LogLevelTable(deps);
}

class LogLevelTable implements SessionLogLevels {
  readonly #deps: LogLevelDeps;
  /** The log level of each session; undefined if it has not set one. */
  readonly #levels = new Map<string, number | undefined>();
  /** The level last sent on each connection. Before mcpx sends one, the server uses its own default. */
  readonly #told = new WeakMap<Connection, number>();

  constructor(deps: LogLevelDeps) {
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
    for (const connection of this.#deps.pool.all()) {
      const { owner } = connection;
      if (owner === undefined || owner === holder) this.#tell(connection);
    }
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
    const request = { method: 'logging/setLevel', params: { level: LEVELS[rank] } };
    void requestInBackground(connection, request, this.#deps.log);
  }
}
