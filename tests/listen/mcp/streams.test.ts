/** Event streams over HTTP: what comes before an answer, questions, the stream of GET, resuming, clients that do not read. */
import { once } from 'node:events';
import { connect as dial } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { BOTH, call, closeAll, connect, gate, nextServed, note, type Received, rpc, send, stage } from '../harness.ts';

afterEach(async () => {
  vi.useRealTimers();
  await closeAll();
});

const count = async ({ to = 3 }, { progress }: any) => {
  for (let step = 1; step <= to; step++) progress?.({ progress: step, total: to });
  return { content: [] };
};

describe('the answer to a POST', () => {
  test('is JSON where nothing comes before it, and a stream where something does', async () => {
    const { url } = await stage({ count });
    const client = await connect(url);
    const quiet = await client.post(call('count', {}, 'a'));
    expect([quiet.headers['content-type'], (await quiet.json()).id]).toEqual(['application/json', 'a']);

    const loud = await client.post(call('count', {}, 'b', { progressToken: 0 }));
    expect(loud.headers['content-type']).toBe('text/event-stream');
    expect(loud.headers['x-accel-buffering']).toBe('no');
    const events = [await loud.next(), await loud.next(), await loud.next(), await loud.next()];
    expect(events.map((event) => event?.data.params ?? event?.data.id)).toEqual([
      { progress: 1, total: 3, progressToken: 0 },
      { progress: 2, total: 3, progressToken: 0 },
      { progress: 3, total: 3, progressToken: 0 },
      'b',
    ]);
    expect(await loud.next()).toBeUndefined();
    const ids = loud.seen.map(({ id }) => id);
    expect(new Set(ids).size).toBe(5);
    expect(loud.seen[0]).toMatchObject({ retry: '1000', data: '' });
  });

  test('says nothing of the kind to clients before 2025-11-25, which read every data line as a message', async () => {
    const { url } = await stage({ count });
    const client = await connect(url, { version: '2025-06-18' });
    const loud = await client.post(call('count', {}, 1, { progressToken: 1 }));
    await loud.text();
    expect(loud.seen[0]).toEqual({ id: expect.any(String), retry: '1000' });
  });

  test('is JSON for who takes JSON only, whatever comes before it', async () => {
    const { url } = await stage({ count });
    for (const accept of [
      'application/json',
      '*/*',
      'application/*;q=0.5',
      'application/json, text/event-stream;q=0',
    ]) {
      const answer = await send(url, { body: call('count', {}, 1, { progressToken: 1 }), headers: { accept } });
      expect([accept, answer.headers['content-type']]).toEqual([accept, 'application/json']);
      await answer.text();
    }
  });

  test('is a stream for who takes nothing else, and 406 for who takes neither', async () => {
    const { url } = await stage({ count });
    const events = await send(url, { body: rpc('ping'), headers: { accept: 'text/event-stream' } });
    expect([events.headers['content-type'], (await events.next())?.data]).toEqual([
      'text/event-stream',
      { jsonrpc: '2.0', id: 1, result: {} },
    ]);
    const hello = await send(url, { body: rpc('initialize', {}), headers: { accept: 'text/event-stream' } });
    expect([hello.headers['content-type'], hello.headers['mcp-session-id']]).toEqual([
      'text/event-stream',
      expect.any(String),
    ]);
    await hello.text();
    expect((await send(url, { body: rpc('ping'), headers: { accept: 'text/html' } })).status).toBe(406);
    const client = await connect(url);
    expect((await client.get({ accept: 'application/json' })).status).toBe(406);
  });

  test('becomes a stream when it is slow', async () => {
    let release = gate();
    const { url } = await stage({ slow: () => release.promise.then(() => ({ slow: true })) });
    for (const client of [await connect(url), { post: (body: unknown) => send(url, { body, headers: BOTH }) }]) {
      release = gate();
      const answer = await client.post(call('slow'));
      expect(answer.headers['content-type']).toBe('text/event-stream');
      release.open();
      expect((await answer.next())?.data.result).toEqual({ slow: true });
      expect(await answer.next()).toBeUndefined();
    }
  });

  test('of a stateless POST may be a stream too, without ids since it cannot be resumed', async () => {
    const { url } = await stage({
      tell: (_, { notify, ask }) => {
        notify?.('notifications/message', { level: 'info', data: 'x' });
        return { asked: ask !== undefined };
      },
    });
    const answer = await send(url, { body: call('tell'), headers: BOTH });
    expect((await answer.next())?.data.params.data).toBe('x');
    expect((await answer.next())?.data.result).toEqual({ asked: false });
    expect(answer.seen.some(({ id }) => id !== undefined)).toBe(false);
  });

  test('that cannot be written as JSON is an error', async () => {
    const { url } = await stage({ big: () => ({ value: 1n }) });
    const client = await connect(url);
    expect((await (await client.post(call('big'))).json()).error.code).toBe(-32603);
    expect((await (await send(url, { body: call('big') })).json()).error.code).toBe(-32603);
  });
});

describe('a request of the client', () => {
  test('with an id that is in use is refused, and the first one is answered', async () => {
    const release = gate();
    const reached = gate();
    const { url } = await stage({
      slow: () => {
        reached.open();
        return release.promise.then(() => ({ slow: true }));
      },
    });
    const client = await connect(url);
    const first = client.post(call('slow', {}, 5));
    await reached.promise;
    const second = await (await client.post(rpc('ping', undefined, 5))).json();
    expect(second.error).toMatchObject({ code: -32600, message: 'request id 5 is in use' });
    release.open();
    expect((await (await first).json()).result).toEqual({ slow: true });
  });

  test('that is cancelled is aborted, gets no answer, and its POST ends', async () => {
    const { url } = await stage({
      wait: ({ loud }, { signal, progress }) =>
        new Promise((_, reject) => {
          if (loud) progress?.({ progress: 1 });
          signal.addEventListener('abort', () => reject(new Error('aborted')));
        }),
    });
    const client = await connect(url);
    const quiet = client.post(call('wait', {}, 0));
    const loud = await client.post(call('wait', { loud: true }, 1, { progressToken: 1 }));
    await loud.next();
    for (const requestId of [0, 1, 1, 'nobody'])
      expect((await client.post(note('notifications/cancelled', { requestId }))).status).toBe(202);
    expect([(await quiet).status, await (await quiet).text()]).toEqual([202, '']);
    expect(await loud.next()).toBeUndefined();
    expect((await client.get({ 'last-event-id': String(loud.seen.at(-1)?.id) })).status).toBe(400);
    expect((await client.post(rpc('ping', undefined, 0))).status).toBe(200);
  });
});

describe('a question to the client', () => {
  const ask = async ({ text = 'q' }, { ask }: any) => ({ got: await ask('elicitation/create', { message: text }) });

  test('goes on the stream of the call and is answered by another POST', async () => {
    const { url } = await stage({ ask });
    const clients = [await connect(url), await connect(url)];
    const streams = await Promise.all(clients.map((client, i) => client.post(call('ask', { text: `q${i}` }, 1))));
    const questions = await Promise.all(streams.map((stream) => stream.next()));
    expect(questions.map((one) => one?.data.params.message)).toEqual(['q0', 'q1']);
    // Both sessions gave their question the same id: only the session tells them apart.
    expect(questions[0]?.data.id).toBe(questions[1]?.data.id);
    for (const i of [1, 0]) {
      const answer = { jsonrpc: '2.0', id: questions[i]?.data.id, result: { action: `a${i}` } };
      expect((await clients[i]?.post(answer))?.status).toBe(202);
      expect((await streams[i]?.next())?.data.result).toEqual({ got: { action: `a${i}` } });
    }
  });

  test('cannot be answered from another session', async () => {
    const { url } = await stage({ ask });
    const mine = await connect(url);
    const other = await connect(url);
    const stream = await mine.post(call('ask'));
    const { id } = (await stream.next())?.data ?? {};
    await other.post({ jsonrpc: '2.0', id, result: { action: 'forged' } });
    await send(url, { body: { jsonrpc: '2.0', id, result: { action: 'forged' } } });
    await mine.post({ jsonrpc: '2.0', id, result: { action: 'real' } });
    expect((await stream.next())?.data.result).toEqual({ got: { action: 'real' } });
  });

  test('is withdrawn on the same stream when it takes too long', async () => {
    const { url } = await stage({
      ask: (_, { ask, notify }) =>
        ask?.('roots/list', {}, { timeout: 20 }).catch(() => {
          notify?.('notifications/message', { data: 'withdrawn' });
          return { withdrawn: true };
        }),
    });
    const stream = await (await connect(url)).post(call('ask'));
    const question = await stream.next();
    const later = [await stream.next(), await stream.next(), await stream.next()];
    expect(later.map((event) => event?.data.method ?? event?.data.result)).toEqual([
      'notifications/cancelled',
      'notifications/message',
      { withdrawn: true },
    ]);
    expect(later[0]?.data.params.requestId).toBe(question?.data.id);
  });

  test('is withdrawn on the stream of GET when its own has ended', async () => {
    const withdraw = new AbortController();
    const { url } = await stage({
      ask: (_, { ask }) => {
        ask?.('roots/list', {}, { signal: withdraw.signal }).catch(() => undefined);
        return {};
      },
    });
    const client = await connect(url);
    const alone = await client.get();
    const stream = await client.post(call('ask'));
    const question = await stream.next();
    expect((await stream.next())?.data.result).toEqual({});
    withdraw.abort();
    expect((await alone.next())?.data).toMatchObject({
      method: 'notifications/cancelled',
      params: { requestId: question?.data.id },
    });
    alone.leave();
  });

  test('of a client that takes JSON only goes on the stream of GET, and fails where there is none', async () => {
    const { url } = await stage({ ask });
    const client = await connect(url);
    const accept = 'application/json';
    expect((await (await client.post(call('ask'), { accept })).json()).error.message).toContain('no open stream');
    const stream = await client.get();
    const answer = client.post(call('ask'), { accept });
    const { id } = (await stream.next())?.data ?? {};
    await client.post({ jsonrpc: '2.0', id, result: 'yes' });
    expect((await (await answer).json()).result).toEqual({ got: 'yes' });
    stream.leave();
  });
});

describe('the stream of GET', () => {
  const told = (stream: Received) => stream.next().then((event) => event?.data.method);
  const changed = ({ open }: Awaited<ReturnType<typeof stage>>, n = 1) => {
    for (const { downstream } of open) downstream.notify('notifications/tools/list_changed', { n });
  };

  test('has what belongs to no request, and only that', async () => {
    const scene = await stage({ count });
    const client = await connect(scene.url);
    changed(scene);
    const stream = await client.get();
    await (await client.post(call('count', {}, 1, { progressToken: 1 }))).text();
    changed(scene, 7);
    expect((await stream.next())?.data).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/tools/list_changed',
      params: { n: 7 },
    });
    stream.leave();
  });

  test('is one per session: a newer one takes its place', async () => {
    const scene = await stage();
    const client = await connect(scene.url);
    const old = await client.get();
    const young = await client.get();
    expect(await old.next()).toBeUndefined();
    changed(scene);
    expect(await told(young)).toBe('notifications/tools/list_changed');
    young.leave();
  });

  test('goes on after Last-Event-ID with what was missed', async () => {
    const scene = await stage();
    const client = await connect(scene.url);
    const first = await client.get();
    for (const n of [1, 2, 3]) changed(scene, n);
    const seen = [await first.next(), await first.next(), await first.next()];
    first.leave();
    await once(first.response, 'close');
    changed(scene, 4);
    const again = await client.get({ 'last-event-id': String(seen[1]?.id) });
    expect([(await again.next())?.data.params.n, (await again.next())?.data.params.n]).toEqual([3, 4]);
    changed(scene, 5);
    expect((await again.next())?.data.params.n).toBe(5);
    again.leave();
  });

  test.each(['nonsense', '9-1', '1-1', '__proto__-1', '0-', ''])('cannot go on after "%s"', async (id) => {
    const { url } = await stage();
    expect((await (await connect(url)).get({ 'last-event-id': id })).status).toBe(400);
  });

  test('says every 15 seconds that it is alive', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const { url } = await stage();
    const stream = await (await connect(url)).get();
    for (const n of [1, 2]) {
      vi.advanceTimersByTime(15_000);
      await expect.poll(() => stream.comments).toBe(n);
    }
    stream.leave();
  });
});

describe('a client that loses its connection', () => {
  test('does not cancel its call, and gets the rest and the answer when it comes back', async () => {
    const release = gate();
    let aborted = false;
    const { url } = await stage({
      work: async (_, { progress, signal }) => {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        progress?.({ progress: 1 });
        await release.promise;
        progress?.({ progress: 2 });
        return { done: true };
      },
    });
    const client = await connect(url);
    const lost = await client.post(call('work', {}, 'w', { progressToken: 'p' }));
    const last = (await lost.next())?.id ?? '';
    lost.leave();
    await once(lost.response, 'close');
    release.open();
    // In the next turn of the event loop, the call is over.
    await new Promise((resolve) => setImmediate(resolve));
    for (const _ of ['once', 'and once more, since that connection may be lost as well']) {
      const again = await client.get({ 'last-event-id': last });
      expect((await again.next())?.data.params.progress).toBe(2);
      expect((await again.next())?.data).toEqual({ jsonrpc: '2.0', id: 'w', result: { done: true } });
      expect(await again.next()).toBeUndefined();
    }
    expect(aborted).toBe(false);
    const stranger = await connect(url);
    expect((await stranger.get({ 'last-event-id': last })).status).toBe(400);
  });

  test('before anything was answered leaves the session usable', async () => {
    const release = gate();
    const reached = gate();
    const { url } = await stage({
      work: async (_, { progress, notify }) => {
        reached.open();
        await release.promise;
        progress?.({ progress: 1 });
        notify?.('notifications/message', { data: 1 });
        return {};
      },
    });
    const client = await connect(url);
    const body = JSON.stringify(call('work', {}, 3, { progressToken: 1 }));
    const served = nextServed();
    const socket = dial(Number(new URL(url).port), '127.0.0.1');
    const headers = Object.entries(client.headers).map(([name, value]) => `${name}: ${value}\r\n`);
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers.join('')}Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    await reached.promise;
    const lost = once(await served, 'close');
    socket.destroy();
    await lost;
    release.open();
    await expect.poll(async () => (await (await client.post(rpc('ping', undefined, 3))).json()).result).toEqual({});
  });
});

describe('a client that does not read', () => {
  test('costs a bounded amount: notifications are dropped, the answer is not', async () => {
    const pad = 'x'.repeat(10_000);
    const { url } = await stage({
      flood: async (_, { notify }) => {
        for (let n = 0; n < 20_000; n++) {
          notify?.('notifications/message', { data: pad, n });
          if (n % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
        }
        return { done: true };
      },
    });
    const client = await connect(url);
    const before = process.memoryUsage().heapUsed + process.memoryUsage().external;
    const answer = await client.post(call('flood'));
    answer.response.pause();
    await expect.poll(async () => (await (await client.post(rpc('ping', undefined, 1))).json()).result).toEqual({});
    const cost = process.memoryUsage().heapUsed + process.memoryUsage().external - before;
    expect(cost).toBeLessThan(100 * 1024 * 1024);
    answer.response.resume();
    let events = 0;
    let last: any;
    for (let event = await answer.next(); event !== undefined; event = await answer.next()) {
      events += 1;
      last = event.data;
    }
    expect(last).toEqual({ jsonrpc: '2.0', id: 1, result: { done: true } });
    expect(events).toBeLessThan(20_000);
  });

  test('is cut after a minute without taking anything, and may come back', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    const scene = await stage();
    const client = await connect(scene.url);
    const stream = await client.get();
    stream.response.pause();
    const pad = 'x'.repeat(100_000);
    const [front] = scene.open;
    // More than the sockets of both sides hold.
    for (let n = 0; n < 200; n++) {
      front?.downstream.notify('notifications/message', { pad });
      await new Promise((resolve) => setImmediate(resolve));
    }
    for (let tick = 0; tick < 5; tick++) vi.advanceTimersByTime(15_000);
    stream.response.resume();
    expect(await stream.text()).not.toBe('');
    const again = await client.get({ 'last-event-id': String(stream.seen.at(-1)?.id) });
    expect((await again.next())?.data.params.pad).toBe(pad);
    again.leave();
  });
});
