/** Connections without a request under way. */
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { closeIdle } from '../../src/listen/idle.ts';

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.close();
    server.closeAllConnections();
  }
});

async function stage(since: (socket: Socket) => number | undefined, asked: () => void = () => undefined) {
  const server = createServer((_, response) => {
    asked();
    response.end('x');
  });
  servers.push(server);
  const end = closeIdle(server, { since, most: 60, look: 10 });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  let closed = false;
  let read = '';
  socket.on('close', () => {
    closed = true;
  });
  socket.on('data', (chunk) => {
    read += chunk;
  });
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  return { socket, end, closed: () => closed, read: () => read };
}

test('one that waits for too long is closed, and not before', async () => {
  let since = Number.POSITIVE_INFINITY;
  const { closed, read, end } = await stage(() => since);
  await delay(150);
  expect([closed(), read()]).toEqual([false, expect.stringContaining('200 OK')]);
  since = performance.now() - 61;
  await delay(100);
  expect(closed()).toBe(true);
  end();
});

test('a request that came in time is answered, also where nobody looked for a while', async () => {
  let since = Number.POSITIVE_INFINITY;
  const asked = () => {
    since = Number.POSITIVE_INFINITY;
  };
  const { closed, read, socket, end } = await stage(() => since, asked);
  // In the phase of timers, as after a stall.
  await delay(50);
  since = performance.now() - 30;
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  while (performance.now() - since < 100);
  await delay(50);
  expect([closed(), read().match(/200 OK/g)?.length]).toEqual([false, 2]);
  end();
  socket.destroy();
});

test('one with a request under way is left alone', async () => {
  const { closed, socket, end } = await stage(() => undefined);
  await delay(150);
  expect(closed()).toBe(false);
  end();
  socket.destroy();
});

test('an answer costs no timer and no header of Node', async () => {
  const { read, socket, end } = await stage(() => undefined);
  await delay(50);
  expect(read()).toMatch(/Connection: keep-alive/i);
  expect(read()).not.toMatch(/^Keep-Alive:/im);
  end();
  socket.destroy();
});
