/** A Streamable HTTP server inside the test: a correct one unless a test answers a request itself. */
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { cleanup } from './world.ts';

export interface Seen {
  verb: string;
  path: string;
  headers: IncomingHttpHeaders;
  message: Wire | undefined;
}

export interface Wire {
  id?: number | string;
  method?: string;
  params?: { name?: string; arguments?: Record<string, unknown>; [field: string]: unknown };
  result?: unknown;
  error?: unknown;
}

/** Answers the request itself, or returns false for the usual answer. */
export type Answer = (request: Seen, response: ServerResponse) => unknown;

export interface HttpWorld {
  url: string;
  origin: string;
  seen: Seen[];
  /** The requests that it received: `POST tools/call`, `GET`, `DELETE`. */
  asked(): string[];
  sessions: Set<string>;
  /** Closes every socket and stops listening; `start` listens again on the same port. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

export async function serveHttp(answer: Answer = () => false): Promise<HttpWorld> {
  const seen: Seen[] = [];
  const sessions = new Set<string>();
  let server: Server | undefined;
  let port = 0;

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString('utf8');
    const message = text === '' ? undefined : (JSON.parse(text) as Wire);
    const one = { verb: request.method ?? '', path: request.url ?? '', headers: request.headers, message };
    seen.push(one);
    if ((await answer(one, response)) === false) usual(one, response, sessions);
  };
  const start = async () => {
    server = createServer((request, response) => void handle(request, response).catch(() => response.destroy()));
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
    port = (server.address() as AddressInfo).port;
  };
  const stop = async () => {
    const closed = server?.listening ? once(server, 'close') : undefined;
    server?.close();
    server?.closeAllConnections();
    await closed;
  };
  await start();
  cleanup(stop);
  const origin = `http://127.0.0.1:${port}`;
  const asked = () => seen.map(({ verb, message }) => (message ? `${verb} ${message.method ?? 'answer'}` : verb));
  return { url: `${origin}/mcp`, origin, seen, asked, sessions, stop, start };
}

function usual({ verb, headers, message }: Seen, response: ServerResponse, sessions: Set<string>): void {
  const session = headers['mcp-session-id'];
  if (session !== undefined && !sessions.has(String(session))) end(response, 404, 'text/plain', 'no such session');
  else if (verb === 'GET') end(response, 405, 'text/plain', '');
  else if (verb === 'DELETE') end(response, 200, 'text/plain', '');
  else if (message?.id === undefined || message.method === undefined) end(response, 202, 'text/plain', '');
  else if (message.method === 'initialize') {
    const fresh = `session-${sessions.size + 1}`;
    sessions.add(fresh);
    response.setHeader('mcp-session-id', fresh);
    json(response, message, {
      protocolVersion: '2025-06-18',
      capabilities: {},
      serverInfo: { name: 'h', version: '1' },
    });
  } else
    json(response, message, { content: [{ type: 'text', text: JSON.stringify(message.params?.arguments ?? {}) }] });
}

export function end(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, { 'content-type': type });
  response.end(body);
}

export function json(response: ServerResponse, { id }: Wire, result: unknown): void {
  end(response, 200, 'application/json; charset=utf-8', JSON.stringify({ jsonrpc: '2.0', id, result }));
}

/** Begins an event stream. */
export function stream(response: ServerResponse): {
  event(message: unknown, id?: string): void;
  end(): void;
  cut(): void;
} {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  return {
    event(message, id) {
      response.write(`${id === undefined ? '' : `id: ${id}\n`}data: ${JSON.stringify(message)}\n\n`);
    },
    end: () => response.end(),
    cut: () => response.destroy(),
  };
}

/** Returns true for a call of a tool, of any tool or of the one with this name. */
export function isCall(request: Seen, name?: string): boolean {
  return request.message?.method === 'tools/call' && (name === undefined || request.message.params?.name === name);
}
