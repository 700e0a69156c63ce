import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import type { WebSocket } from 'ws';
import { staticAuthorization } from '../../../src/upstream/http/authorization.ts';
import { createRedactor } from '../../../src/upstream/secret-redactor.ts';
import { answerPings, openWs } from '../../../src/upstream/transports/ws.ts';
import type { Message } from '../../../src/wire/message.ts';
import { call, cleanup, connection, httpSpec, recorder, SETTINGS, serverSpec, until } from '../world.ts';
import { type Answer, serveWs } from '../ws-world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const wsSpec = (url: string, more = {}) => httpSpec(url, { type: 'ws', ...more });

const onCall =
  (name: string, answer: Answer): Answer =>
  (message, socket) =>
    message.params?.name === name ? [answer(message, socket)] : false;

describe('a conversation over WebSocket', () => {
  test('has the headers, the subprotocol, and loses nothing', async () => {
    const server = await serveWs();
    const upstream = connection(wsSpec(server.url, { headers: { Authorization: 'Bearer secret-1' } }));
    expect(await upstream.request('tools/call', { name: 'echo', arguments: { a: '中' } })).toEqual({
      content: [{ type: 'text', text: '{"a":"中"}' }],
      unknown: 1,
    });
    const [request] = server.requests;
    expect(request?.headers).toMatchObject({ authorization: 'Bearer secret-1', 'sec-websocket-protocol': 'mcp' });
    const closed = once(server.sockets[0] as WebSocket, 'close');
    await upstream.close();
    expect((await closed)[0]).toBe(1000);
  });

  test('works with a server that knows no subprotocols', async () => {
    const server = await serveWs(undefined, { handleProtocols: () => false });
    expect(await call(connection(wsSpec(server.url)), 'echo', { n: 1 })).toEqual({ n: 1 });
  });

  test('brings requests and notifications, and drops what is none of ours', async () => {
    const answers: unknown[] = [];
    const server = await serveWs((message, socket) => {
      if (message.id === 'q') answers.push(message.result);
      if (message.params?.name !== 'talk') return false;
      socket.send(Buffer.from([1, 2, 3]), { binary: true });
      socket.send('no json');
      socket.send(JSON.stringify({ jsonrpc: '2.0', id: 'q', method: 'ping' }));
      socket.send(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params: {} }));
      return false;
    });
    const heard: string[] = [];
    const upstream = connection(wsSpec(server.url), { events: { notification: ({ method }) => heard.push(method) } });
    await call(upstream, 'talk');
    await until(() => answers.length === 1);
    expect(heard).toEqual(['notifications/message']);
    expect(upstream.diagnostics().noise).toBe(2);
  });

  test.each([
    [1001, 'unreachable', 'server "x" is going away (WebSocket code 1001)'],
    [1008, 'unreachable', 'server "x" refuses by its policy (WebSocket code 1008)'],
    [1012, 'unreachable', 'server "x" is restarting (WebSocket code 1012)'],
    [4401, 'auth', 'server "x" closed the connection (WebSocket code 4401)'],
    [4999, 'unreachable', 'server "x" closed the connection (WebSocket code 4999)'],
  ])('closed with %i in the middle of a call says what it means, and comes back', async (code, kind, message) => {
    const server = await serveWs(onCall('close', (_, socket) => socket.close(code, 'bye secret-1')));
    const headers = { Authorization: 'Bearer secret-1' };
    const upstream = connection(wsSpec(server.url, { headers, reconnect: { interval: 1, maxRetries: 10 } }));
    expect(await failure(call(upstream, 'close'))).toMatchObject({ code: kind, message: `${message}: bye ***` });
    expect(await call(upstream, 'echo', { n: 2 })).toEqual({ n: 2 });
  });

  test('cut in the middle of a call fails it at once', async () => {
    const server = await serveWs(onCall('cut', (_, socket) => socket.terminate()));
    const error = (await failure(call(connection(wsSpec(server.url)), 'cut'))) as Error;
    expect(error.message).toBe('server "x" broke off the connection (WebSocket code 1006)');
  });

  test('has a bound for messages, both ways', async () => {
    const server = await serveWs(
      onCall('big', ({ id }, socket) =>
        socket.send(JSON.stringify({ jsonrpc: '2.0', id, result: 'x'.repeat(200_000) })),
      ),
    );
    const settings = { ...SETTINGS, limits: { ...SETTINGS.limits, messageBytes: 100_000 } };
    const upstream = connection(wsSpec(server.url), { settings });
    expect(await failure(call(upstream, 'big'))).toMatchObject({
      code: 'protocol',
      message: 'server "x" sent a message over the limit of 100000 bytes',
    });
    expect(await failure(call(upstream, 'echo', { text: 'x'.repeat(100_001) }))).toMatchObject({
      code: 'overloaded',
      hint: 'raise "limits.messageBytes" in the config',
    });
  });

  test.each([
    [401, 'auth', 'server "x" wants other credentials (HTTP 401 Unauthorized)'],
    [404, 'unreachable', 'server "x" answered HTTP 404 Not Found: nothing'],
  ])('refused with %i says so', async (status, code, message) => {
    const server = createServer((_, response) => response.writeHead(status).end('nothing'));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanup(() => server.close());
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    expect(await failure(connection(wsSpec(url)).connect())).toMatchObject({ code, message });
  });

  test('with nobody there names the address, and a header that cannot be sent without its value', async () => {
    const error = (await failure(connection(wsSpec('ws://127.0.0.1:9/mcp?key=secret-1')).connect())) as Error;
    expect(error.message).toContain('cannot be reached at "ws://127.0.0.1:9/mcp": ');
    const odd = wsSpec('ws://127.0.0.1:9/mcp', { headers: { 'X-Key': 'secret\n1' } });
    expect(await failure(connection(odd).connect())).toMatchObject({ code: 'config' });
  });

  test('can be closed while it is being opened', async () => {
    const server = createServer();
    server.on('upgrade', () => undefined);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    cleanup(() => {
      server.close();
      server.closeAllConnections();
    });
    const upstream = connection(wsSpec(`ws://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`));
    const connecting = failure(upstream.connect());
    await once(server, 'upgrade');
    await upstream.close({ eof: 20, term: 20 });
    expect(await connecting).toMatchObject({ code: 'unreachable' });
  });
});

describe('the heartbeat', () => {
  const open = async (url: string) => {
    const launch = { type: 'ws' as const, url, headers: {} };
    const transport = await openWs(launch, {
      name: 'x',
      maxBytes: 1000,
      log: recorder().log,
      redactor: createRedactor([]),
      authorization: staticAuthorization({}, 'x'),
      ping: 30,
    });
    cleanup(() => transport.close({ eof: 0, term: 0 }));
    const messages: Message[] = [];
    const closed = new Promise<Error | undefined>((resolve) =>
      transport.start({ message: (message) => messages.push(message), invalid: () => undefined, closed: resolve }),
    );
    return { transport, closed };
  };

  test('finds out when the far side is silent', async () => {
    const server = await serveWs(undefined, { autoPong: false });
    const { closed } = await open(server.url);
    expect((await closed)?.message).toBe('server "x" no longer answers pings');
  });

  test('goes on while it is answered, and sends what was sent early', async () => {
    let pings = 0;
    const server = await serveWs();
    const { transport } = await open(server.url);
    transport.send({ jsonrpc: '2.0', id: 1, method: 'x' });
    await until(() => server.sockets.length === 1);
    server.sockets[0]?.on('ping', () => pings++);
    await until(() => pings > 3);
    await transport.close();
    expect(() => transport.send({ jsonrpc: '2.0', id: 2, method: 'x' })).toThrow('is closed');
  });
});

describe('pings of the server', () => {
  test('are answered once, with what they carry', async () => {
    const server = await serveWs();
    await connection(wsSpec(server.url)).connect();
    const [socket] = server.sockets as [WebSocket];
    const pongs: string[] = [];
    socket.on('pong', (data) => pongs.push(String(data)));
    for (const words of ['are you there', 'and now']) {
      socket.ping(words);
      await until(() => pongs.includes(words));
    }
    expect(pongs).toEqual(['are you there', 'and now']);
  });

  test('make one answer wait where the server does not read, the one to the last of them', () => {
    const pongs: string[] = [];
    const written: (() => void)[] = [];
    const socket = Object.assign(new EventEmitter(), {
      readyState: 1 as const,
      pong(data: unknown, _mask: unknown, done: () => void) {
        pongs.push(String(data));
        written.push(done);
      },
    });
    answerPings(socket as unknown as Parameters<typeof answerPings>[0]);
    for (let n = 0; n < 1000; n++) socket.emit('ping', Buffer.from(`${n}`));
    expect(pongs).toEqual(['0']);
    written[0]?.();
    expect(pongs).toEqual(['0', '999']);
    written[1]?.();
    socket.emit('ping', Buffer.from('again'));
    expect(pongs).toEqual(['0', '999', 'again']);
  });
});

test('a server that pours requests over WebSocket is read at a bounded rate', async () => {
  let answered = 0;
  const server = await serveWs((message) => {
    if (message.method === undefined) answered += 1;
    return false;
  });
  // No time passes until the test says so, and the allowance grows with time only.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  cleanup(() => clock.mockRestore());
  await connection(wsSpec(server.url)).connect();
  const [socket] = server.sockets as [WebSocket];
  for (let id = 0; id < 10_000; id++) socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'ping' }));
  // A request counts for 20, and 20,000 are read at once.
  await until(() => answered >= 1000);
  // Others are served meanwhile.
  await connection(serverSpec()).connect();
  expect(20 * answered).toBeLessThan(20_000 + 50_000);
  clock.mockRestore();
  await until(() => answered >= 6000);
});
