/** Writes HTTP responses: JSON bodies, JSON-RPC errors and the common headers. */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { type Id, isRecord } from '../../wire/message.ts';
import { release, sizeOf } from '../../wire/raw-result.ts';
import { requestIdOf } from './access-log.ts';
import { discardBody } from './request-body.ts';

/** Headers of every response: it must not be cached, framed or embedded. */
export const HEADERS = {
  'X-Content-Type-Options': 'nosniff',
  'Cache-Control': 'no-store',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
} as const;

/** Returns the common headers and those of this response. */
export function headersOf(response: ServerResponse, own: OutgoingHttpHeaders): OutgoingHttpHeaders {
  const id = requestIdOf(response);
  return id === undefined ? { ...HEADERS, ...own } : { ...HEADERS, 'X-Request-Id': id, ...own };
}

/** Milliseconds without progress after which the connection of a client that does not read is closed. */
const STALLED = 60_000;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  sendText(response, status, JSON.stringify(body), headers);
}

/** Sends serialized JSON, or other text with its own content type. */
export function sendText(
  response: ServerResponse,
  status: number,
  text: string,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  writeHead(response, status, Buffer.byteLength(text), headers);
  // True also if the client asked to close the connection, or has not sent its body because of `Expect: 100-continue`.
  const isLast = headers.Connection === 'close' || !response.shouldKeepAlive;
  if (isLast && !response.req.complete) sendLast(response, text);
  else {
    response.end(text);
    cutStalled(response);
  }
}

/**
 * Discards the request body before the response ends: otherwise the connection would be closed while the client is
 * still sending, and it would never read the response.
 */
function sendLast(response: ServerResponse, text: string): void {
  response.write(text);
  discardBody(response.req, () => response.end());
}

/** Sends JSON as chunks without joining them, and releases their memory afterwards. */
export function sendPieces(
  response: ServerResponse,
  status: number,
  pieces: Buffer[],
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  writeHead(response, status, sizeOf(pieces), headers);
  for (const piece of pieces) response.write(piece);
  // This event also occurs if the client is disconnected before it has read the response.
  response.once('close', () => release(pieces));
  response.end();
  cutStalled(response);
}

function writeHead(response: ServerResponse, status: number, size: number, headers: Record<string, string>): void {
  const own = { 'Content-Type': 'application/json', 'Content-Length': size, ...headers };
  response.writeHead(status, headersOf(response, own));
}

/**
 * Closes the connection of a client that stops reading. The timeout belongs to the connection, so it is reset for the
 * next response.
 */
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

/** Sends an error on an MCP route as JSON-RPC. */
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

/** Adds the request id, by which the request is found in the log. */
function withRequestId(response: ServerResponse, data: unknown): { data?: unknown } {
  const requestId = requestIdOf(response);
  if (requestId !== undefined && (data === undefined || isRecord(data))) return { data: { ...data, requestId } };
  return data === undefined ? {} : { data };
}
