/** New connections beside many requests: counted in turns of the event loop and in answers, never in time. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, Server } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { shareWithAccept } from '../../../src/listen/http/accept.ts';
import { call, closeAll, stage } from '../harness.ts';

afterEach(closeAll);

const BODY = JSON.stringify(call('echo'));
const REQUEST = [
  'POST /mcp HTTP/1.1',
  'Host: 127.0.0.1',
  'Accept: application/json, text/event-stream',
  'Content-Type: application/json',
  `Content-Length: ${BODY.length}`,
  '',
  BODY,
].join('\r\n');

/** A connection that sends a request and calls `answered` at each answer. */
function ask(port: number, answered: (socket: Socket) => void): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  socket.on('data', (chunk) => {
    if (chunk.includes('"result"')) answered(socket);
  });
  socket.write(REQUEST);
  return socket;
}

test('new connections are answered while many clients call without a pause, after few of their calls for each', async () => {
  const [busy, fresh] = [100, 60];
  const { url } = await stage({ echo: () => ({ content: [] }) });
  const port = Number(new URL(url).port);
  const sockets: Socket[] = [];
  let calls = 0;
  const again = (socket: Socket) => {
    calls += 1;
    socket.write(REQUEST);
  };
  await Promise.all(Array.from({ length: busy }, () => new Promise((first) => sockets.push(ask(port, first)))));
  for (const socket of sockets) {
    socket.on('data', (chunk) => {
      if (chunk.includes('"result"')) again(socket);
    });
    socket.write(REQUEST);
  }
  while (calls < 5 * busy) await turn();

  const before = calls;
  await Promise.all(Array.from({ length: fresh }, () => new Promise((answered) => sockets.push(ask(port, answered)))));
  const meanwhile = calls - before;
  for (const socket of sockets) socket.destroy();
  // Each turn of the event loop accepts one; were all requests of a turn served, it would be some 60 for each.
  expect(meanwhile / fresh).toBeLessThan(20);
});

describe('requests in a turn that accepts a connection', () => {
  function open() {
    const server = new EventEmitter();
    const served: string[] = [];
    const take = shareWithAccept(server as Server, ({ name }: { name: string; request: IncomingMessage }) => {
      served.push(name);
    });
    /** A request on a connection of its own, unless told. */
    const arrive = (name: string, socket: unknown = {}) => {
      const request = { socket, destroyed: false };
      take({ name, request: request as IncomingMessage });
      return request;
    };
    return { server, served, arrive, accept: () => void server.emit('connection') };
  }
  const names = Array.from({ length: 20 }, (_, index) => `${index}`);

  test('all are served at once where nobody connects', () => {
    const { served, arrive } = open();
    for (const name of names) arrive(name);
    expect(served).toEqual(names);
  });

  test('a few are served; the next turn serves more while it accepts too, and the rest when nobody else connects', async () => {
    const { served, arrive, accept } = open();
    accept();
    for (const name of names) arrive(name);
    expect(served).toEqual(names.slice(0, 8));
    accept();
    await turn();
    expect(served).toEqual(names.slice(0, 16));
    await turn();
    expect(served).toEqual(names);
  });

  test('one that arrives later is served after those that wait', async () => {
    const { served, arrive, accept } = open();
    accept();
    for (const name of names.slice(0, 9)) arrive(name);
    accept();
    arrive('last');
    await turn();
    expect(served).toEqual([...names.slice(0, 9), 'last']);
  });

  test('those of one connection are served in their order, and only the first of them waits', () => {
    const { served, arrive, accept } = open();
    const socket = {};
    accept();
    for (const name of names.slice(0, 8)) arrive(name);
    arrive('first', socket);
    expect(served).not.toContain('first');
    arrive('second', socket);
    expect(served.slice(8)).toEqual(['first', 'second']);
  });

  test('one whose client left while it waited is not served', async () => {
    const { served, arrive, accept } = open();
    accept();
    for (const name of names.slice(0, 8)) arrive(name);
    const request = arrive('left');
    arrive('stayed');
    request.destroyed = true;
    await turn();
    expect(served.slice(8)).toEqual(['stayed']);
  });
});
