/** Writing HTTP answers: JSON bodies, JSON-RPC errors, and the headers that every answer carries. Other errors are in `refuse.ts`. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Id, isRecord } from '../wire/message.ts';
import { release, sizeOf } from '../wire/verbatim.ts';
import { discardBody } from './body.ts';
import { requestIdOf } from './trace.ts';

/** Nothing here is a page, to be kept, framed, or drawn into one. */
export const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;

/** The headers of every answer, and those of this one. */
export function headersOf(response: ServerResponse, own: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const id = requestIdOf(response);
  return id === undefined ? { ...HEADERS, ...own } : { ...HEADERS, 'X-Request-Id': id, ...own };
}

/** ms without progress after which a client that does not take its answer is cut. */
const STALLED = 60_000;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  sendText(response, status, JSON.stringify(body), headers);
}

/** JSON that is text already, or any other text with a type of its own. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  writeHead(response, status, Buffer.byteLength(text), headers);
  // Also where the client wants no other, or was never told to send its body.
  const isLast = headers.Connection === 'close' || !response.shouldKeepAlive;
  if (isLast && !response.req.complete) sendLast(response, text);
  else {
    response.end(text);
    cutStalled(response);
  }
}

/** With the end of its last answer a connection is closed, and a client that still sends its body then would never read this one. */
function sendLast(response: ServerResponse, text: string): void {
  response.write(text);
  discardBody(response.req, () => response.end());
}

/** JSON in bytes, which are not joined, and of no use to anybody afterwards. */
export function sendPieces(
  response: ServerResponse,
  status: number,
  pieces: Buffer[],
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  writeHead(response, status, sizeOf(pieces), headers);
  for (const piece of pieces) response.write(piece);
  // Also for a client that is cut before it has read them.
  response.once('close', () => release(pieces));
  response.end();
  cutStalled(response);
}

function writeHead(response: ServerResponse, status: number, size: number, headers: Record<string, string>): void {
  const own = { 'Content-Type': 'application/json', 'Content-Length': size, ...headers };
  response.writeHead(status, headersOf(response, own));
}

/** Nothing waits for ever for a client that does not take it. The bound is one of the connection, and must not be left to the next answer on it. */
export function cutStalled(response: ServerResponse): void {
  if (response.writableLength === 0) return;
  const { socket } = response.req;
  response.setTimeout(STALLED, () => response.destroy());
  response.prependOnceListener('finish', () => socket.setTimeout(0));
}

export function sendEmpty(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, headersOf(response, { 'Content-Length': 0, ...headers }));
  response.end();
}

/** An error on a route of MCP, in the form its clients read. */
export function sendRpcError(
  response: ServerResponse,
  status: number,
  error: { code: number; message: string; id?: Id | null; data?: unknown },
  headers: Record<string, string> = {},
): void {
  const { id = null, data, ...rest } = error;
  const told = { ...rest, ...withRequestId(response, data) };
  sendJson(response, status, { jsonrpc: '2.0', id, error: told }, headers);
}

/** The id by which the request is found in the log. */
function withRequestId(response: ServerResponse, data: unknown): { data?: unknown } {
  const requestId = requestIdOf(response);
  if (requestId !== undefined && (data === undefined || isRecord(data))) return { data: { ...data, requestId } };
  return data === undefined ? {} : { data };
}
