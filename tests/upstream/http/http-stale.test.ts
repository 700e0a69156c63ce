/** Kept-alive sockets that the far side has closed: what is sent again, and what never is. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, test, vi } from 'vitest';
import { isCall, json, serveHttp, type Wire } from '../http-world.ts';
import { call, cleanup, connection, httpSpec, stopClock, until } from '../world.ts';

/** This is how long mcpx keeps an idle socket, in ms. */
const IDLE_SOCKET = 4000;

/** A server in a thread of its own, which resets the socket of the last call when it is told to, and wakes whoever waits for that. */
const SERVER = `
const { createServer } = require('node:http');
const { parentPort, workerData } = require('node:worker_threads');
let calls = 0;
let last;
const server = createServer(async (request, response) => {
  let text = '';
  for await (const chunk of request) text += chunk;
  const { id, method, params } = text === '' ? {} : JSON.parse(text);
  if (id === undefined) return response.writeHead(request.method === 'POST' ? 202 : 405).end();
  if (method === 'server/discover') return response.writeHead(400).end();
  if (method === 'tools/call') calls += 1;
  const result = method === 'initialize'
    ? { protocolVersion: '2025-06-18', capabilities: {}, serverInfo: { name: 's', version: '1' } }
    : { content: [{ type: 'text', text: String(calls) }] };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result }));
  if (params?.name === 'last') last = request.socket;
});
parentPort.on('message', () => {
  last.once('close', () => {
    Atomics.store(workerData, 0, 1);
    Atomics.notify(workerData, 0);
  });
  last.resetAndDestroy();
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

describe('a call on a kept-alive socket', () => {
  // Windows tells of such a reset only when it reads.
  test.skipIf(process.platform === 'win32')(
    'that was reset before the system took the call is sent again, and runs once',
    async () => {
      const reset = new Int32Array(new SharedArrayBuffer(4));
      const worker = new Worker(SERVER, { eval: true, workerData: reset });
      cleanup(() => worker.terminate());
      const [port] = await once(worker, 'message');
      const upstream = connection(httpSpec(`http://127.0.0.1:${port}/mcp`));
      expect(await call(upstream, 'last')).toBe(1);
      worker.postMessage('reset');
      // This thread hears nothing of it, as a busy program does.
      Atomics.wait(reset, 0, 0);
      expect(await call(upstream, 'next')).toBe(2);
    },
  );

  test('that was closed after the call was taken is not sent again', async () => {
    const server = await serveHttp((request, response) => {
      if (!isCall(request)) return false;
      if (isCall(request, 'die')) return response.socket?.destroy();
      return json(response, request.message as Wire, { content: [{ type: 'text', text: 'fine' }] });
    });
    const upstream = connection(httpSpec(server.url));
    expect(await call(upstream, 'warm')).toBe('fine');
    await expect(call(upstream, 'die')).rejects.toMatchObject({ code: 'unreachable' });
    expect(server.seen.filter((request) => isCall(request, 'die'))).toHaveLength(1);
  });

  test('has no time limit of its own', async () => {
    const sockets: Socket[] = [];
    const note = (message: unknown) => void sockets.push((message as { socket: Socket }).socket);
    subscribe('net.client.socket', note);
    cleanup(() => unsubscribe('net.client.socket', note));
    let answer: (() => void) | undefined;
    const server = await serveHttp((request, response) => {
      if (!isCall(request)) return false;
      answer = () => json(response, request.message as Wire, { content: [{ type: 'text', text: 'at last' }] });
      return true;
    });
    stopClock();
    const waiting = call(connection(httpSpec(server.url)), 'slow');
    await until(() => answer !== undefined);
    // The call waits longer than idle sockets are kept: by the clock of mcpx, and by those of its sockets, which Node keeps and which are shortened here.
    await vi.advanceTimersByTimeAsync(60_000);
    const open = sockets.filter((socket) => !socket.destroyed);
    expect(open.map(({ timeout }) => timeout)).toContain(IDLE_SOCKET);
    const idle = open.map((socket) => once(socket, 'timeout'));
    for (const socket of open) socket.setTimeout(1);
    await Promise.all(idle);
    answer?.();
    expect(await waiting).toBe('at last');
  });
});
