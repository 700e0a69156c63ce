/** Every HTTP request has an id, and is told of once, when its answer is over: to the log and to whoever counts. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../observe/log.ts';
import type { Observer, Visit } from '../observe/observer.ts';
import { plainAddress } from './guard.ts';

/** What is learned of a request on its way. */
export interface Trace extends Pick<Visit, 'request'> {
  /** The row of the table that it was for. */
  route: string;
  principal?: string | undefined;
  /** It was for something that is there, and that whoever asked may not know of. */
  hidden?: true;
}

export interface Tracer {
  begin(request: IncomingMessage, response: ServerResponse): Trace;
  /** Tells of what never became a request; its id. */
  odd(socket: Socket, status: number): string;
}

/** Not a header yet: one that is set before `writeHead` makes Node look at every other one by one. */
const REQUEST_ID = Symbol('request id');

type Traced = ServerResponse & { [REQUEST_ID]?: string };

/** An id that somebody else gave is kept where it cannot be taken for anything else in a log. */
const SANE = /^[\w.:+=~-]{1,128}$/;
/** Characters of a path in a line. */
const MAX_PATH = 200;

export interface TracerOptions {
  log: Log;
  emit: Observer['emit'];
  /** The address of a client. */
  from(request: IncomingMessage): string;
}

export function createTracer({ log, emit, from: addressOf }: TracerOptions): Tracer {
  const run = randomBytes(4).toString('hex');
  let last = 0;

  const nextId = () => `${run}-${(++last).toString(36)}`;

  return {
    begin(request, response) {
      const given = request.headers['x-request-id'];
      const id = typeof given === 'string' && SANE.test(given) ? given : nextId();
      const trace: Trace = { request: id, route: 'none' };
      (response as Traced)[REQUEST_ID] = id;
      const { socket, method = '', url = '/' } = request;
      const from = addressOf(request);
      const clock = performance.now();
      response.on('close', () => {
        const ms = performance.now() - clock;
        const path = plainPath(url);
        // A client that left before it was answered.
        const status = response.headersSent ? response.statusCode : 499;
        const { route, principal, hidden } = trace;
        const { received, sent } = bytesOf(socket);
        emit({
          type: 'visit',
          visit: { request: id, route, principal, hidden, method, path, status, ms, from, received, sent },
        });
        log.info(`${method} ${path} ${status}`, {
          request: id,
          ms: Math.round(ms * 10) / 10,
          token: principal,
          from,
        });
      });
      return trace;
    },
    odd(socket, status) {
      const [request, from] = [nextId(), plainAddress(socket.remoteAddress)];
      const visit = { request, method: '', path: '', route: 'none', status, ms: 0, from, ...bytesOf(socket) };
      emit({ type: 'visit', visit });
      log.info(`malformed request ${status}`, { request, from });
      return request;
    },
  };
}

/** What was counted of a connection so far. */
const COUNTED = Symbol('bytes counted');

type Counted = Socket & { [COUNTED]?: { read: number; written: number } };

/** Bytes since the last request on this connection; what belongs to none is counted with the next. */
function bytesOf(socket: Counted): Pick<Visit, 'received' | 'sent'> {
  socket[COUNTED] ??= { read: 0, written: 0 };
  const counted = socket[COUNTED];
  const { bytesRead, bytesWritten } = socket;
  const bytes = { received: bytesRead - counted.read, sent: bytesWritten - counted.written };
  counted.read = bytesRead;
  counted.written = bytesWritten;
  return bytes;
}

/** The id that the answer carries. */
export function requestIdOf(response: Traced): string | undefined {
  return response[REQUEST_ID];
}

/** Without its query, which may hold anything, and without what could forge a line. */
function plainPath(url: string): string {
  const mark = url.indexOf('?');
  const path = (mark < 0 ? url : url.slice(0, mark)).replace(/[^\x21-\x7e]/g, '?');
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
}
