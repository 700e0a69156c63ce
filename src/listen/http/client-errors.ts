/** Responds to input that never becomes a complete request, such as invalid HTTP, long headers or a slow body. */
import { type Server, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { Tracer } from './access-log.ts';
import { errorBody, type Reason, rejectRequest } from './error-response.ts';
import { HEADERS } from './http-response.ts';

/** Node's error codes with a specific response; all others mean that the input is not HTTP. */
const KNOWN: Readonly<Record<string, { status: number } & Reason>> = {
  HPE_HEADER_OVERFLOW: { status: 431, message: 'the headers are too long' },
  ERR_HTTP_REQUEST_TIMEOUT: { status: 408, message: 'the request took too long to arrive' },
};
/** Error codes of a client that disconnected. */
const LEFT: ReadonlySet<string | undefined> = new Set(['ECONNRESET', 'HPE_INVALID_EOF_STATE']);
const NO_HTTP = { status: 400, message: 'this is not an HTTP request' };

/** Sends and logs an error response where Node would send one without a body. */
export function answerClientError(server: Server, tracer: Tracer): void {
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (LEFT.has(error.code) || !socket.writable) return socket.destroy();
    const { status, message } = KNOWN[error.code ?? ''] ?? NO_HTTP;
    const response = tracer.last(socket);
    if (response === undefined || response.writableFinished)
      return socket.end(bareAnswer(status, { message }, { 'X-Request-Id': tracer.odd(socket, status) }));
    if (response.headersSent) return socket.destroy();
    rejectRequest(response, status, message, { Connection: 'close' });
    socket.destroySoon();
  });
}

/**
 * Returns a complete HTTP response as text, for a connection without a request; the connection is closed afterwards.
 */
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
