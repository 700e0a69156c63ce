/** The rules of Streamable HTTP that need no stream: versions, batches, odd bodies, stopping, and bytes at random. */
import { once } from 'node:events';
import { connect as dial } from 'node:net';
import fc from 'fast-check';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { stopClock } from '../../setup/clock.ts';
import { BOTH, call, closeAll, connect, gate, nextServed, note, rpc, send, stage } from '../harness.ts';

afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

describe('the revision', () => {
  test.each([
    ['absent', undefined, 200],
    ['one that is spoken', '2025-06-18', 200],
    ['the oldest', '2024-10-07', 200],
    ['one of the future', '2099-01-01', 400],
    ['nonsense', 'latest', 400],
    ['nothing', '', 400],
  ])('%s', async (_, version, status) => {
    const { url } = await stage();
    const client = await connect(url);
    const { 'mcp-protocol-version': __, ...headers } = client.headers;
    const own = { ...headers, ...(version !== undefined && { 'mcp-protocol-version': version }) };
    expect((await send(url, { body: rpc('ping'), headers: own })).status).toBe(status);
    const stateless: Record<string, string> = version === undefined ? {} : { 'mcp-protocol-version': version };
    expect((await send(url, { body: rpc('ping'), headers: stateless })).status).toBe(status);
    const stream = await send(url, { method: 'GET', headers: own });
    expect(stream.status).toBe(status);
    stream.leave();
  });

  test('of initialize is in its body, so that a client of the future can be told ours', async () => {
    const { url } = await stage();
    for (const version of ['2099-01-01', '2026-07-28']) {
      const headers = { 'mcp-protocol-version': version };
      const answer = await send(url, { body: rpc('initialize', {}), headers });
      expect([answer.status, (await answer.json()).result.protocolVersion]).toEqual([200, '2025-11-25']);
    }
  });
});

describe('a batch', () => {
  const mixed = [
    rpc('ping', undefined, 1),
    note('notifications/initialized'),
    { nonsense: true },
    rpc('nope', {}, 'x'),
  ];
  const answers = [
    { id: null, error: { code: -32600 } },
    { id: 1, result: {} },
    { id: 'x', error: { code: -32601 } },
  ];

  test.each(['2025-03-26', '2024-11-05'])('is answered with an array in %s', async (version) => {
    const { url, open } = await stage();
    const client = await connect(url, { version });
    const answer = await (await client.post(mixed)).json();
    expect(answer).toMatchObject(answers);
    expect([...open][0]?.heard).toEqual(['notifications/initialized']);
  });

  test('without a session is answered as well, where no other revision is named', async () => {
    const { url } = await stage();
    expect(await (await send(url, { body: mixed })).json()).toMatchObject(answers);
    expect((await send(url, { body: [note('a'), note('b')] })).status).toBe(202);
    const one = await send(url, { body: [rpc('ping')] });
    expect(await one.json()).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }]);
  });

  test('is no part of later revisions', async () => {
    const { url } = await stage();
    for (const version of ['2025-06-18', '2025-11-25']) {
      expect((await (await connect(url, { version })).post(mixed)).status).toBe(400);
      const headers = { 'mcp-protocol-version': version };
      expect((await send(url, { body: mixed, headers })).status).toBe(400);
    }
    const refused = await send(url, { body: mixed, headers: { 'mcp-protocol-version': '2026-07-28' } });
    expect([refused.status, (await refused.json()).error.message]).toEqual([
      400,
      expect.stringContaining('no batches'),
    ]);
  });

  test('holds at most 100 messages, and never initialize', async () => {
    const { url, open } = await stage();
    const pings = (n: number) => Array.from({ length: n }, (_, id) => rpc('ping', undefined, id));
    expect(await (await send(url, { body: pings(100) })).json()).toHaveLength(100);
    expect((await send(url, { body: pings(101) })).status).toBe(400);
    expect((await send(url, { body: [rpc('initialize', {})] })).status).toBe(400);
    expect(open.size).toBe(0);
  });

  test('streams where one of its requests does, and ends when all are answered', async () => {
    const release = gate();
    const { url } = await stage({
      slow: async (_, { notify }) => {
        notify?.('notifications/message', { data: 'early' });
        await release.promise;
        return { slow: true };
      },
    });
    const client = await connect(url, { version: '2025-03-26' });
    const pending = client.post([call('slow', {}, 1), rpc('ping', undefined, 2), rpc('ping', undefined, 2)]);
    const stream = await pending;
    const data = [(await stream.next())?.data, (await stream.next())?.data, (await stream.next())?.data];
    release.open();
    for (let event = await stream.next(); event !== undefined; event = await stream.next()) data.push(event.data);
    expect(data).toMatchObject([
      { method: 'notifications/message' },
      { id: 2, error: { code: -32600 } },
      { id: 2, result: {} },
      { id: 1, result: { slow: true } },
    ]);
  });
});

describe('an odd request', () => {
  test('is refused with the status that says why', async () => {
    const { url } = await stage({}, { http: { maxBody: 2000 } });
    const client = await connect(url);
    const body = JSON.stringify(rpc('ping'));
    const check = async (status: number, text: string, headers: Record<string, string> = {}) =>
      expect([text.slice(0, 20), (await client.post(text, headers)).status]).toEqual([text.slice(0, 20), status]);
    await check(415, body, { 'content-type': 'text/plain' });
    await check(415, body, { 'content-type': 'application/jsonp' });
    await check(200, body, { 'content-type': 'application/json; charset=utf-8' });
    await check(413, JSON.stringify(rpc('ping', { pad: 'x'.repeat(3000) })));
    await check(400, '');
    await check(400, '{');
    await check(400, 'null');
    await check(400, '[[]]'.repeat(2));
    expect((await client.post(body)).status).toBe(200);
  });

  test('with headers over 16 KiB is 431', async () => {
    const { url } = await stage();
    expect((await send(url, { body: rpc('ping'), headers: { 'x-pad': 'x'.repeat(20_000) } })).status).toBe(431);
  });

  test.each([
    ['whose body never ends', 'Content-Length: 100\r\n\r\n{'],
    ['whose headers never end', 'X-Slow: yes\r\n'],
  ])('%s is 408 after a while, and the next one is answered', async (_, rest) => {
    const { url, logged } = await stage({}, { arrival: 200 });
    const socket = dial(Number(new URL(url).port), '127.0.0.1');
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${rest}`);
    let text = '';
    socket.on('data', (chunk) => {
      text += chunk;
    });
    await once(socket, 'close');
    expect(text).toContain('408');
    expect(logged.join('\n')).not.toContain('failed');
    expect((await send(url, { body: rpc('ping') })).status).toBe(200);
  });

  test('that is cut off in the middle is no failure of the gateway', async () => {
    const { url, logged } = await stage();
    const served = nextServed();
    const socket = dial(Number(new URL(url).port), '127.0.0.1');
    socket.write(
      'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{',
    );
    await served;
    socket.destroy();
    await expect.poll(() => logged.join('\n')).toContain('cut off by the client');
    expect(logged.join('\n')).not.toContain('failed');
  });
});

describe('a stop', () => {
  test('lets calls under way finish, ends streams, and takes nothing new', async () => {
    const release = gate();
    const reached = gate();
    const { url, listener, open } = await stage({
      slow: async () => {
        reached.open();
        await release.promise;
        return { slow: true };
      },
    });
    const idle = await connect(url);
    const idleStream = await idle.get();
    const busy = await connect(url);
    const busyStream = await busy.get();
    const answer = busy.post(call('slow'));
    await reached.promise;
    // No time passes: a stop that waited for its whole period would wait for ever.
    stopClock();
    const closed = listener.close();
    expect(await idleStream.next()).toBeUndefined();
    await expect(send(url, { body: rpc('ping') })).rejects.toThrow();
    release.open();
    expect((await (await answer).json()).result).toEqual({ slow: true });
    expect(await busyStream.next()).toBeUndefined();
    await closed;
    expect(open.size).toBe(0);
  });

  test('answers what takes longer than three seconds with the reason', async () => {
    const reached = gate();
    const { url, listener } = await stage({
      never: () => {
        reached.open();
        return new Promise(() => undefined);
      },
    });
    const client = await connect(url);
    const answer = client.post(call('never'), { accept: 'application/json' });
    const stream = await client.post(call('never', {}, 2), { accept: 'text/event-stream' });
    await reached.promise;
    stopClock();
    let answered = false;
    void answer.then(() => {
      answered = true;
    });
    const closed = listener.close();
    await vi.advanceTimersByTimeAsync(2999);
    expect(answered).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect((await (await answer).json()).error.message).toBe('mcpx is stopping');
    expect((await stream.next())?.data).toMatchObject({ id: 2, error: { message: 'mcpx is stopping' } });
    await vi.advanceTimersByTimeAsync(1000);
    await closed;
  });
});

test('bytes at random never hurt it', async () => {
  const { url } = await stage({ echo: (args) => args });
  const client = await connect(url);
  const { port } = new URL(url);
  const raw = (bytes: Buffer) =>
    new Promise<void>((resolve) => {
      const socket = dial(Number(port), '127.0.0.1', () => socket.end(bytes));
      socket.on('error', () => undefined).on('close', () => resolve());
      socket.resume();
    });
  const head = (more: string) =>
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${more}\r\n`;
  await fc.assert(
    fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.boolean(), async (bytes, framed) => {
      await raw(Buffer.concat([Buffer.from(framed ? head(`Content-Length: ${bytes.length}\r\n`) : ''), bytes]));
    }),
    { numRuns: 150 },
  );
  const header = fc.stringMatching(/^[\x20-\x7e]{0,40}$/);
  const message = fc.oneof(
    fc.jsonValue(),
    fc.record({
      jsonrpc: fc.constant('2.0'),
      id: fc.oneof(fc.integer(), fc.string(), fc.constant(null)),
      method: fc.oneof(fc.constantFrom('ping', 'tools/call', 'notifications/cancelled', '__proto__'), fc.string()),
      params: fc.jsonValue(),
    }),
  );
  await fc.assert(
    fc.asyncProperty(message, fc.constantFrom('POST', 'GET', 'DELETE'), header, header, async (body, method, a, b) => {
      const headers = { ...BOTH, 'mcp-session-id': a.length % 2 ? a : client.id, 'last-event-id': b || 'x' };
      if (method === 'DELETE') headers['mcp-session-id'] = `${a}!`;
      const answer = await send(url, { method, headers, ...(method === 'POST' && { body: JSON.stringify(body) }) });
      expect(answer.status).toBeLessThan(500);
      if (answer.headers['content-type'] === 'text/event-stream') answer.leave();
      else await answer.text();
    }),
    { numRuns: 300 },
  );
  expect((await client.post(rpc('ping', undefined, 'still'))).status).toBe(200);
});
