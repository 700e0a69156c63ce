/** What never becomes a request, or never ends to be one: no HTTP, headers that are too long, a body that does not come. */
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import { errorBody, type Reason, refuse } from './refuse.ts';
import { HEADERS } from './reply.ts';
import type { Tracer } from './trace.ts';

/** Node's codes for what went wrong; everything else is no HTTP. */
const KNOWN: Readonly<Record<string, { status: number } & Reason>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the headers are too long' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request took too long to arrive' },
};
/** The client went away in the middle. */
const LEFT: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'HPE_INVALID_EOF_STATE']);
const NO_HTTP = { status: 400, message: 'this is no HTTP request' };

/** Answers what Node would answer without a word, and tells of it once, like of any other request. */
export function answerMalformed(server: Server, tracer: Tracer): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (LEFT.has(error.code) || !socket.writable) return socket.destroy();
    const { status, message } = KNOWN[error.code ?? ''] ?? NO_HTTP;
    const response = tracer.last(socket);
    if (response === undefined || response.writableFinished)
      return socket.end(bareAnswer(status, { message }, { 'X-Request-Id': tracer.odd(socket, status) }));
    if (response.headersSent) return socket.destroy();
    refuse(response, status, message, { Connection: 'close' });
    socket.destroySoon();
  });
}

/** A whole answer as it is on the wire, for a connection without a request; it is closed afterwards. */
export function bareAnswer(status: number, why: Reason, own: Record<string, string>): string {
  const body = JSON.stringify(errorBody(status, why, own['X-Request-Id']));
  const headers = {
    ...HEADERS,
    ...own,
    'Content-Type': 'application/json',
    'Content-Length': String(Buffer.byteLength(body)),
    Connection: 'close',
  };
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`;
}
