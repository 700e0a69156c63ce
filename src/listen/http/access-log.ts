/** Assigns an id to every HTTP request, and writes one log line and one event when its response is finished. */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Log } from '../../observe/log.ts';
import type { HttpExchange, Observer } from '../../observe/observer.ts';
import type { ListNode } from '../../slot-map.ts';
import { plainAddress } from './guard.ts';
import type { OpenRequests } from './open-requests.ts';

/** One HTTP request in progress and its data for the log. */
export class RequestTrace {
  /** The request id. */
  readonly request: string;
  /** The address of the client. */
  readonly from: string;
  readonly response: ServerResponse;
  /** Monotonic time of the start in ms. */
  readonly began = performance.now();
  /** The path of the matched route. */
  route = 'none';
  principal: string | undefined = undefined;
  /** True if the requested item exists but the client may not know of it. */
  hidden: true | undefined = undefined;
  /** Monotonic time in ms since which a part of the response waits for the client to read it. */
  unread: number | undefined = undefined;
  /** The position in the list of open requests. */
  place: ListNode<RequestTrace> | undefined = undefined;
  #slow: { slow(): void } | undefined = undefined;

  constructor(request: string, from: string, response: ServerResponse) {
    this.request = request;
    this.from = from;
    this.response = response;
  }

  /** Sets the listener that is called once if the response is slow. */
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
  begin(request: IncomingMessage, response: ServerResponse): RequestTrace;
  /** Returns the response to the last request on a connection. */
  last(socket: Socket): ServerResponse | undefined;
  /** Returns the monotonic time in ms since which a connection is idle; undefined while a request is in progress. */
  idleSince(socket: Socket): number | undefined;
  /** Logs input that never became a request; returns its request id. */
  odd(socket: Socket, status: number): string;
}

const TRACE = Symbol('trace');

type Traced = ServerResponse & { [TRACE]?: RequestTrace };

/** A request id of the client is kept if it cannot be confused with anything else in a log. */
const SANE = /^[\w.:+=~-]{1,128}$/;
/** Maximum characters of a path in a log line. */
const MAX_PATH = 200;

export interface TracerOptions {
  log: Log;
  emit: Observer['emit'];
  underWay: Pick<OpenRequests, 'add' | 'remove'>;
  /** Returns the address of a client. */
  from(request: IncomingMessage): string;
}

export function createTracer({ log, emit, underWay, from: addressOf }: TracerOptions): Tracer {
  const run = randomBytes(4).toString('hex');
  let last = 0;

  const nextId = () => `${run}-${(++last).toString(36)}`;

  /** Handles the `close` event of a response, which is `this`. */
  function over(this: Traced): void {
    const trace = this[TRACE];
    if (trace?.place === undefined) return;
    underWay.remove(trace.place);
    const { request, route, principal, hidden, from, began } = trace;
    const { method = '', url = '/', socket } = this.req;
    const now = performance.now();
    const ms = now - began;
    const path = plainPath(url);
    // 499 stands for a client that disconnected before the response.
    const status = this.headersSent ? this.statusCode : 499;
    const connection = connectionOf(socket);
    connection.open -= 1;
    connection.used = now;
    const { received, sent } = bytesSince(connection, socket);
    emit({
      type: 'exchange',
      exchange: { request, route, principal, hidden, method, path, status, ms, from, received, sent },
    });
    log.info(`${method} ${path} ${status}`, { request, ms: Math.round(ms * 10) / 10, token: principal, from });
  }

  return {
    begin(request, response) {
      const given = request.headers['x-request-id'];
      const id = typeof given === 'string' && SANE.test(given) ? given : nextId();
      const trace = new RequestTrace(id, addressOf(request), response);
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
      const exchange = { request, method: '', path: '', route: 'none', status, ms: 0, from, ...bytes };
      emit({ type: 'exchange', exchange });
      log.info(`malformed request ${status}`, { request, from });
      return request;
    },
  };
}

const CONNECTION = Symbol('connection');

/** The data of one connection. */
interface Connection {
  /** Bytes that are counted already. */
  read: number;
  written: number;
  /** Number of requests in progress. */
  open: number;
  /** Monotonic time in ms of the end of the last request, or of the first use of the connection. */
  used: number;
  /** The last response. */
  response: ServerResponse | undefined;
}

function connectionOf(socket: Socket & { [CONNECTION]?: Connection }): Connection {
  socket[CONNECTION] ??= { read: 0, written: 0, open: 0, used: performance.now(), response: undefined };
  return socket[CONNECTION];
}

/** Returns the bytes since the last request on this connection; bytes of no request are counted with the next one. */
function bytesSince(counted: Connection, socket: Socket): Pick<HttpExchange, 'received' | 'sent'> {
  const { bytesRead, bytesWritten } = socket;
  const bytes = { received: bytesRead - counted.read, sent: bytesWritten - counted.written };
  counted.read = bytesRead;
  counted.written = bytesWritten;
  return bytes;
}

export function traceOf(response: Traced): RequestTrace | undefined {
  return response[TRACE];
}

/** Returns the request id that is sent with the response. */
export function requestIdOf(response: Traced): string | undefined {
  return response[TRACE]?.request;
}

/** Returns the path without its query, which may hold secrets, and without characters that could forge a log line. */
function plainPath(url: string): string {
  const mark = url.indexOf('?');
  const path = (mark < 0 ? url : url.slice(0, mark)).replace(/[^\x21-\x7e]/g, '?');
  return path.length > MAX_PATH ? `${path.slice(0, MAX_PATH)}…` : path;
}
