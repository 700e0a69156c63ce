/** The number of connections follows the limit of open files. At the bound, connections that have not shown a token are closed first. */
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../observe/log.ts';
import type { Principal } from '../policy/auth.ts';
import { bareAnswer } from './malformed.ts';

export interface ConnectionsOptions {
  /** Connections at once. */
  most: number;
  /** Whether a few more files can be opened; looked at for each new connection beyond the first few. */
  hasHandles(): boolean;
  /** Since when nothing is under way on a connection, monotonic ms; undefined while a request is. */
  idleSince(socket: Socket): number | undefined;
  log: Pick<Log, 'warn'>;
  /** Monotonic ms. */
  now?: () => number;
}

export interface Connections {
  /** Notes that a request on this connection was let in. False where its token has its share of connections and none of them is idle. */
  accepted(socket: Socket, principal: Principal | undefined): boolean;
}

/** Sockets at once, where the limit of open files is high or unknown. */
const MAX_CONNECTIONS = 10_000;
/** Handles that no connection gets: what Node itself, the log, the audit log and the config need. */
const RESERVE = 40;
/** Connections that are always let in without a look at the handles. */
const FEW = 8;
/** The part of all connections that one token may have. */
const SHARE = 3 / 4;
/** Refused connections whose answer is still being written. */
const REFUSING = 4;
/** ms between two warnings. */
const WARN_INTERVAL = 60_000;

/** Half of the handles beyond the reserve; the other half is for child processes, upstream connections and files. */
export function connectionBound(handles: number | undefined): number {
  if (handles === undefined) return MAX_CONNECTIONS;
  return Math.min(MAX_CONNECTIONS, Math.max(FEW, Math.floor((handles - RESERVE) / 2)));
}

export function boundConnections(server: Server, options: ConnectionsOptions): Connections {
  const { most, hasHandles, idleSince } = options;
  /** Connections on which no request was let in yet, the oldest first. */
  const strangers = new Set<Socket>();
  /** The others by their token; without tokens they are all in one set. */
  const members = new Map<Principal | undefined, Set<Socket>>();
  const warn = createWarning(options);
  let count = 0;
  // Node closes what comes beyond this without an answer.
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
    for (const [principal, own] of members) {
      if (!own.delete(socket)) continue;
      count -= 1;
      if (own.size === 0) members.delete(principal);
    }
  };
  /** Forgotten at once: the socket tells of its end later. */
  const close = (socket: Socket) => {
    forget(socket);
    socket.destroy();
  };
  /** Closes one connection other than the new one; false where all are in use. */
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
    // Closed as soon as this is written, before anything of a request is read.
    socket.write(bareAnswer(503, TOO_MANY, { 'Retry-After': '1' }));
    socket.destroySoon();
  });

  return {
    accepted(socket, principal) {
      if (!strangers.has(socket)) return true;
      const own = members.get(principal) ?? new Set();
      const isOver = principal !== undefined && own.size >= Math.ceil(most * SHARE);
      const idle = isOver ? longestIdle(own) : undefined;
      if (isOver && idle === undefined) return false;
      strangers.delete(socket);
      own.add(socket);
      members.set(principal, own);
      if (idle !== undefined) close(idle);
      return true;
    },
  };
}

/** Why a connection is refused. */
export const TOO_MANY = { message: 'too many connections', hint: 'wait for the seconds of the header Retry-After' };

/** Counts what was closed and tells of it now and then. */
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
