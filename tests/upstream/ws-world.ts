/** An MCP server over WebSocket inside the test: a correct one unless a test answers a message itself. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Wire } from './http-world.ts';
import { cleanup } from './world.ts';

export interface WsWorld {
  url: string;
  server: Server;
  sockets: WebSocket[];
  requests: IncomingMessage[];
}

/** Answers a message itself, or returns false for the usual answer. */
export type Answer = (message: Wire, socket: WebSocket) => unknown;

export async function serveWs(answer: Answer = () => false, options = {}): Promise<WsWorld> {
  const server = createServer();
  const sockets: WebSocket[] = [];
  const requests: IncomingMessage[] = [];
  const wss = new WebSocketServer({ server, handleProtocols: () => 'mcp', ...options });
  wss.on('connection', (socket, request) => {
    sockets.push(socket);
    requests.push(request);
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const message = JSON.parse(String(data)) as Wire;
      if (answer(message, socket) !== false || message.id === undefined || message.method === undefined) return;
      const result =
        message.method === 'initialize'
          ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'w', version: '1' } }
          : { content: [{ type: 'text', text: JSON.stringify(message.params?.arguments ?? {}) }], unknown: 1 };
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => {
    for (const socket of sockets) socket.terminate();
    wss.close();
    server.close();
    server.closeAllConnections();
  });
  return { url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`, server, sockets, requests };
}
