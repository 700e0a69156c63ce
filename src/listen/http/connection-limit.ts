/** Limits connections by the limit of open files; connections without a valid token are closed first. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../../observe/log.ts';
import { type Principal, payerOf } from '../../policy/auth.ts';
import { bareAnswer } from './client-errors.ts';

export interface ConnectionsOptions {
  /** Maximum number of open connections. */
  most: number;
  /** Returns true if more files can be opened; called for each new connection beyond the first few. */
  hasHandles(): boolean;
  /** Returns the monotonic time in ms since which a connection is idle; undefined while a request is in progress. */
  idleSince(socket: Socket): number | undefined;
  log: Pick<Log, 'warn'>;
  /** Returns monotonic time in ms. */
  now?: () => number;
}

export interface Connections {
  /**
   * Records that a request on this connection was admitted. Returns false if the token has reached its share of the
   * connections and none of them is idle.
   */
  accepted(socket: Socket, principal: Principal | undefined): boolean;
}

/** Maximum number of connections if the limit of open files is high or unknown. */
const MAX_CONNECTIONS = 10_000;
/** File handles reserved for Node itself, the log, the audit log and the config. */
const RESERVE = 40;
/** Number of connections that are admitted without a check of the file handles. */
const FEW = 8;
/** The share of all connections that one token may have. */
const SHARE = 3 / 4;
/** Number of rejected connections whose response may still be in progress. */
const REFUSING = 4;
/** Minimum milliseconds between two warnings. */
const WARN_INTERVAL = 60_000;

/**
 * Returns half of the handles beyond the reserve; the other half is for child processes, upstream connections and
 * files.
 */
export function connectionBound(handles: number | undefined): number {
  if (handles === undefined) return MAX_CONNECTIONS;
  return Math.min(MAX_CONNECTIONS, Math.max(FEW, Math.floor((handles - RESERVE) / 2)));
}

export function boundConnections(server: Server, options: ConnectionsOptions): Connections {
  const { most, hasHandles, idleSince } = options;
  /** Connections without an admitted request, the oldest first. */
  const strangers = new Set<Socket>();
  /** The other connections by token; without tokens they are all in one set. */
  const members = new Map<string | undefined, Set<Socket>>();
  const warn = createWarning(options);
  let count = 0;
  // Node closes connections beyond this without a response.
  server.maxConnections = most + REFUSING;

  const longestIdle = (sockets: Iterable<Socket>): Socket | undefined => {
    let [found, since]: [Socket | undefined, number] = [undefined, Number.POSITIVE_INFINITY];
    for (const socket of sockets) {
      const idle = idleSince(socket) ?? Number.POSITIVE_INFINITY;
      if (idle < since) [found, since] = [socket, idle];
    }
    return found;
  };
  const forget = (socket: Socket) => {
    if (strangers.delete(socket)) count -= 1;
    for (const [payer, own] of members) {
      if (!own.delete(socket)) continue;
      count -= 1;
      if (own.size === 0) members.delete(payer);
    }
  };
  /** Removes the socket at once, because its `close` event comes later. */
  const close = (socket: Socket) => {
    forget(socket);
    socket.destroy();
  };
  /** Closes one connection other than the new one; returns false if all are in use. */
  const makeRoom = (fresh: Socket): boolean => {
    const [oldest] = strangers;
    const chosen = oldest === fresh ? longestIdle([...members.values()].flatMap((own) => [...own])) : oldest;
    if (chosen !== undefined) close(chosen);
    return chosen !== undefined;
  };

  server.on('connection', (socket: Socket) => {
    count += 1;
    strangers.add(socket);
    socket.once('close', () => forget(socket));
    if (count <= most && (count <= FEW || hasHandles())) return;
    warn();
    if (makeRoom(socket)) return;
    // The connection is closed as soon as this is written, before any part of a request is read.
    socket.write(bareAnswer(503, TOO_MANY, { 'Retry-After': '1' }));
    socket.destroySoon();
  });

  return {
    accepted(socket, principal) {
      if (!strangers.has(socket)) return true;
      const payer = payerOf(principal);
      const own = members.get(payer) ?? new Set();
      const isOver = payer !== undefined && own.size >= Math.ceil(most * SHARE);
      const idle = isOver ? longestIdle(own) : undefined;
      if (isOver && idle === undefined) return false;
      strangers.delete(socket);
      own.add(socket);
      members.set(payer, own);
      if (idle !== undefined) close(idle);
      return true;
    },
  };
}

/** The error for a rejected connection. */
export const TOO_MANY = { message: 'too many connections', hint: 'wait for the seconds of the header Retry-After' };

/** Returns a function that counts closed connections and logs a warning at intervals. */
function createWarning({ most, log, now = () => performance.now() }: ConnectionsOptions): () => void {
  let count = 0;
  let told = Number.NEGATIVE_INFINITY;
  return () => {
    count += 1;
    if (now() - told < WARN_INTERVAL) return;
    told = now();
    log.warn(`${count} connections were closed to make room: at most ${most} are open at once`, {
      hint: 'raise the limit of open files, as with "ulimit -n"',
    });
    count = 0;
  };
}
