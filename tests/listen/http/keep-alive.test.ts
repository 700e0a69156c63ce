/** Connections without a request under way. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { closeIdle } from '../../../src/listen/http/keep-alive.ts';
import { until } from '../../setup/until.ts';

const servers: Server[] = [];
// Sockets need real timers; only the looks of `closeIdle` and the clock they read are moved by the tests.
beforeEach(() => void vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] }));
afterEach(() => {
  vi.useRealTimers();
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
  let answers = 0;
  let read = '';
  socket.on('data', (chunk) => {
    read += chunk;
  });
  socket.on('error', () => undefined);
  const write = () => void socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const answered = async () => {
    answers += 1;
    await until(() => read.match(/200 OK/g)?.length === answers);
  };
  const request = async () => {
    write();
    await answered();
  };
  await request();
  return { socket, end, write, answered, request, read: () => read };
}

test('one that waits for too long is closed, and not before', async () => {
  let since = Number.POSITIVE_INFINITY;
  const { request, socket, end } = await stage(() => since);
  since = performance.now();
  vi.advanceTimersByTime(50);
  await request();
  const closed = once(socket, 'close');
  vi.advanceTimersByTime(10);
  await closed;
  end();
});

test('a request that came in time is answered, also where nobody looked for a while', async () => {
  let since = Number.POSITIVE_INFINITY;
  const asked = () => {
    since = Number.POSITIVE_INFINITY;
  };
  const { write, answered, request, socket, end } = await stage(() => since, asked);
  // In the phase of timers, as after a stall.
  await new Promise((resolve) => setTimeout(resolve, 1));
  since = performance.now();
  write();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20);
  vi.advanceTimersByTime(100);
  await answered();
  await request();
  end();
  socket.destroy();
});

test('one with a request under way is left alone', async () => {
  const { request, socket, end } = await stage(() => undefined);
  vi.advanceTimersByTime(150);
  await request();
  end();
  socket.destroy();
});

test('an answer costs no timer and no header of Node', async () => {
  const { read, socket, end } = await stage(() => undefined);
  await until(() => read().endsWith('x'));
  expect(read()).toMatch(/Connection: keep-alive/i);
  expect(read()).not.toMatch(/^Keep-Alive:/im);
  end();
  socket.destroy();
});
