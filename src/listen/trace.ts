/** Every HTTP request has an id, and is told of once, when its answer is over: to the log and to whoever counts. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Place } from '../in-flight.ts';
import type { Log } from '../observe/log.ts';
import type { Observer, Visit } from '../observe/observer.ts';
import { plainAddress } from './guard.ts';
import type { UnderWay } from './under-way.ts';

/** One request under way, and what is learned of it. */
export class Trace {
  /** Its id. */
  readonly request: string;
  /** The address of the client. */
  readonly from: string;
  readonly response: ServerResponse;
  /** Monotonic ms. */
  readonly began = performance.now();
  /** The row of the table that it was for. */
  route = 'none';
  principal: string | undefined = undefined;
  /** It was for something that is there, and that whoever asked may not know of. */
  hidden: true | undefined = undefined;
  /** Since when something of its answer waits to be taken; monotonic ms. */
  unread: number | undefined = undefined;
  /** Among the others. */
  place: Place<Trace> | undefined = undefined;
  #slow: { slow(): void } | undefined = undefined;

  constructor(request: string, from: string, response: ServerResponse) {
    this.request = request;
    this.from = from;
    this.response = response;
  }

  /** Whom to tell, once, when the answer takes long. */
  whenSlow(told: { slow(): void }): void {
    this.#slow = told;
  }

  isSlow(): void {
    const told = this.#slow;
    this.#slow = undefined;
    told?.slow();
  }
}

export interface Tracer {
  begin(request: IncomingMessage, response: ServerResponse): Trace;
  /** The answer to the last request on a connection. */
  last(socket: Socket): ServerResponse | undefined;
  /** Since when nothing is under way on a connection; monotonic ms. */
  idleSince(socket: Socket): number | undefined;
  /** Tells of what never became a request; its id. */
  odd(socket: Socket, status: number): string;
}

const TRACE = Symbol('trace');

type Traced = ServerResponse & { [TRACE]?: Trace };

/** An id that somebody else gave is kept where it cannot be taken for anything else in a log. */
const SANE = /^[\w.:+=~-]{1,128}$/;
/** Characters of a path in a line. */
const MAX_PATH = 200;

export interface TracerOptions {
  log: Log;
  emit: Observer['emit'];
  underWay: Pick<UnderWay, 'add' | 'remove'>;
  /** The address of a client. */
  from(request: IncomingMessage): string;
}

export function createTracer({ log, emit, underWay, from: addressOf }: TracerOptions): Tracer {
  const run = randomBytes(4).toString('hex');
  let last = 0;

  const nextId = () => `${run}-${(++last).toString(36)}`;

  /** Listens to every response, which is `this`. */
  function over(this: Traced): void {
    const trace = this[TRACE];
    if (trace?.place === undefined) return;
    underWay.remove(trace.place);
    const { request, route, principal, hidden, from, began } = trace;
    const { method = '', url = '/', socket } = this.req;
    const now = performance.now();
    const ms = now - began;
    const path = plainPath(url);
    // A client that left before it was answered.
    const status = this.headersSent ? this.statusCode : 499;
    const connection = connectionOf(socket);
    connection.open -= 1;
    connection.used = now;
    const { received, sent } = bytesSince(connection, socket);
    emit({
      type: 'visit',
      visit: { request, route, principal, hidden, method, path, status, ms, from, received, sent },
    });
    log.info(`${method} ${path} ${status}`, { request, ms: Math.round(ms * 10) / 10, token: principal, from });
  }

  return {
    begin(request, response) {
      const given = request.headers['x-request-id'];
      const id = typeof given === 'string' && SANE.test(given) ? given : nextId();
      const trace = new Trace(id, addressOf(request), response);
      (response as Traced)[TRACE] = trace;
      const connection = connectionOf(request.socket);
      connection.open += 1;
      connection.response = response;
      trace.place = underWay.add(trace);
      response.on('close', over);
      return trace;
    },
    last: (socket) => connectionOf(socket).response,
    idleSince(socket) {
      const { open, used } = connectionOf(socket);
      return open > 0 ? undefined : used;
    },
    odd(socket, status) {
      const [request, from] = [nextId(), plainAddress(socket.remoteAddress)];
      const bytes = bytesSince(connectionOf(socket), socket);
      const visit = { request, method: '', path: '', route: 'none', status, ms: 0, from, ...bytes };
      emit({ type: 'visit', visit });
      log.info(`malformed request ${status}`, { request, from });
      return request;
    },
  };
}

const CONNECTION = Symbol('connection');

/** What is known of a connection. */
interface Connection {
  /** Bytes that were counted so far. */
  read: number;
  written: number;
  /** Requests under way. */
  open: number;
  /** When the last one was over, or the connection was first looked at; monotonic ms. */
  used: number;
  /** The last answer. */
  response: ServerResponse | undefined;
}

function connectionOf(socket: Socket & { [CONNECTION]?: Connection }): Connection {
  socket[CONNECTION] ??= { read: 0, written: 0, open: 0, used: performance.now(), response: undefined };
  return socket[CONNECTION];
}

/** Bytes since the last request on this connection; what belongs to none is counted with the next. */
function bytesSince(counted: Connection, socket: Socket): Pick<Visit, 'received' | 'sent'> {
  const { bytesRead, bytesWritten } = socket;
  const bytes = { received: bytesRead - counted.read, sent: bytesWritten - counted.written };
  counted.read = bytesRead;
  counted.written = bytesWritten;
  return bytes;
}

export function traceOf(response: Traced): Trace | undefined {
  return response[TRACE];
}

/** The id that the answer carries. */
export function requestIdOf(response: Traced): string | undefined {
  return response[TRACE]?.request;
}

/** Without its query, which may hold anything, and without what could forge a line. */
function plainPath(url: string): string {
  const mark = url.indexOf('?');
  const path = (mark < 0 ? url : url.slice(0, mark)).replace(/[^\x21-\x7e]/g, '?');
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
}
