/** Answers on a connection that is used again. */
import { Agent, createServer, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { sendJson, sendPieces } from '../../../src/listen/http/http-response.ts';
import { EventStream } from '../../../src/listen/mcp/sse-stream.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

const LARGE = 'x'.repeat(8 * 1024 * 1024);

function sendEvents(response: ServerResponse): void {
  const stream = new EventStream();
  stream.attach(response);
  stream.push(LARGE, { kept: true });
  stream.end();
}

test.each<[string, (response: ServerResponse) => void]>([
  ['text', (response) => sendJson(response, 200, LARGE)],
  ['pieces', (response) => sendPieces(response, 200, [Buffer.from(JSON.stringify(LARGE))])],
  ['an event stream', sendEvents],
])('the bound on a client that does not take a large answer ends with it: %s', async (_, large) => {
  const timeouts: (number | undefined)[] = [];
  const server = createServer({ keepAliveTimeout: 0 }, (incoming, response) => {
    timeouts.push(incoming.socket.timeout);
    if (incoming.url === '/large') {
      large(response);
      timeouts.push(incoming.socket.timeout);
    } else sendJson(response, 200, 'small');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const get = (path: string) =>
    new Promise<number>((resolve, reject) => {
      request({ port, path, agent, host: '127.0.0.1' }, (answer) => {
        let size = 0;
        answer.on('data', (chunk: Buffer) => {
          size += chunk.length;
        });
        answer.on('end', () => resolve(size));
      })
        .on('error', reject)
        .end();
    });
  expect(await get('/large')).toBeGreaterThan(LARGE.length);
  expect(await get('/small')).toBe(7);
  agent.destroy();
  const [, during, after] = timeouts;
  expect(during).toBeGreaterThan(0);
  expect(after ?? 0).toBe(0);
});
