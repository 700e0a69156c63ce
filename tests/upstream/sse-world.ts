/** A server of the old HTTP+SSE transport inside the test: GET opens the stream and names the endpoint, POST brings messages. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Wire } from './http-world.ts';
import { cleanup } from './world.ts';

export interface SseSeen {
  verb: string;
  path: string;
  headers: IncomingHttpHeaders;
  message: Wire | undefined;
}

export interface SseWorld {
  url: string;
  seen: SseSeen[];
  /** The open streams; writing to them is up to the test. */
  streams: ServerResponse[];
}

/** Answers a request itself, or returns false for the usual answer. */
type Answer = (request: SseSeen, response: ServerResponse, stream: ServerResponse | undefined) => unknown;

export function event(stream: ServerResponse | undefined, message: unknown): void {
  stream?.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

export async function serveSse(answer: Answer = () => false): Promise<SseWorld> {
  const seen: SseSeen[] = [];
  const streams: ServerResponse[] = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const message = text === '' ? undefined : (JSON.parse(text) as Wire);
    const one = { verb: request.method ?? '', path: request.url ?? '', headers: request.headers, message };
    seen.push(one);
    if ((await answer(one, response, streams.at(-1))) === false) usual(one, response, streams);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  cleanup(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/sse`, seen, streams };
}

function usual({ verb, path, message }: SseSeen, response: ServerResponse, streams: ServerResponse[]): void {
  if (verb === 'GET') {
    streams.push(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`event: endpoint\ndata: /messages?session=${streams.length}\n\n`);
    return;
  }
  if (!path.startsWith('/messages')) {
    response.writeHead(405).end('no');
    return;
  }
  response.writeHead(202).end('Accepted');
  if (message?.id === undefined || message.method === undefined) return;
  const result =
    message.method === 'initialize'
      ? { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } }
      : { content: [{ type: 'text', text: JSON.stringify(message.params?.arguments ?? {}) }], unknown: { kept: true } };
  event(streams.at(-1), { jsonrpc: '2.0', id: message.id, result });
}
