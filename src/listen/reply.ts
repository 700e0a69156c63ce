/** Writing HTTP answers: JSON bodies, JSON-RPC errors, and the headers that every answer carries. */
import type { ServerResponse } from 'node:http';
import type { Id } from '../wire/message.ts';

const HEADERS = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' } as const;

export function sendJson(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  if (response.headersSent || response.destroyed) return;
  const text = JSON.stringify(body);
  response.writeHead(status, {
    ...HEADERS,
    'Content-Type': 'application/json',
    'Content-Length': Buffer.byteLength(text),
    ...headers,
  });
  response.end(text);
}

export function sendEmpty(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  if (response.headersSent || response.destroyed) return;
  response.writeHead(status, { ...HEADERS, ...headers });
  response.end();
}

/** An error on a route of MCP, in the form its clients read. */
export function sendRpcError(
  response: ServerResponse,
  status: number,
  error: { code: number; message: string; id?: Id | null },
  headers: Record<string, string> = {},
): void {
  const { code, message, id = null } = error;
  sendJson(response, status, { jsonrpc: '2.0', id, error: { code, message } }, headers);
}
