/** The transport of 2024-11-05: GET /sse and POST /messages. */
import { afterEach, expect, test } from 'vitest';
import { call, closeAll, gate, note, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const offered = { http: { legacySse: true } };

async function dialSse(url: string, headers: Record<string, string> = {}, path = '/sse') {
  const base = new URL(url).origin;
  const stream = await send(base + path, { method: 'GET', headers: { accept: 'text/event-stream', ...headers } });
  const endpoint = await stream.next();
  const post = (body: unknown, more = headers) => send(base + endpoint?.data, { body, headers: more });
  return { stream, endpoint, post };
}

test('it is not there unless it is asked for', async () => {
  const { origin } = new URL((await stage()).url);
  expect((await send(`${origin}/sse`, { method: 'GET' })).status).toBe(404);
  expect((await send(`${origin}/messages?sessionId=x`, { body: rpc('ping') })).status).toBe(404);
});

test('the stream names where to post, and has the answers', async () => {
  const { url, open } = await stage(
    {
      ask: async (_, { ask, progress, notify }) => {
        progress?.({ progress: 1 });
        notify?.('notifications/message', { data: 'x' });
        return { got: await ask?.('roots/list', {}) };
      },
    },
    offered,
  );
  const { stream, endpoint, post } = await dialSse(url);
  expect(endpoint).toMatchObject({
    event: 'endpoint',
    data: expect.stringMatching(/^\/messages\?sessionId=[\w-]{32}$/),
  });
  const accepted = await post(rpc('initialize', { protocolVersion: '2024-11-05' }, 0));
  expect([accepted.status, await accepted.text()]).toEqual([202, '']);
  expect((await stream.next())?.data).toMatchObject({ id: 0, result: { protocolVersion: '2024-11-05' } });
  await post(note('notifications/initialized'));
  expect([...open][0]?.heard).toEqual(['notifications/initialized']);

  await post(call('ask', {}, 1, { progressToken: 5 }));
  expect((await stream.next())?.data.params).toEqual({ progress: 1, progressToken: 5 });
  expect((await stream.next())?.data.params).toEqual({ data: 'x' });
  await post({ jsonrpc: '2.0', id: (await stream.next())?.data.id, result: { roots: [] } });
  expect((await stream.next())?.data.result).toEqual({ got: { roots: [] } });

  for (const { downstream } of open) downstream.notify('notifications/tools/list_changed');
  expect((await stream.next())?.data.method).toBe('notifications/tools/list_changed');
  stream.leave();
});

test('a client that leaves ends its session and its calls', async () => {
  const aborted = gate();
  const reached = gate();
  const { url, open } = await stage(
    {
      wait: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.open());
        reached.open();
        return new Promise(() => undefined);
      },
    },
    offered,
  );
  const { stream, post } = await dialSse(url);
  await post(call('wait'));
  await reached.promise;
  stream.leave();
  await aborted.promise;
  await expect.poll(() => open.size).toBe(0);
  expect((await post(rpc('ping'))).status).toBe(404);
});

test('a session belongs to its token and its transport, and counts', async () => {
  const { url } = await stage(
    {},
    { http: { legacySse: true, sessionsPerToken: 1 }, tokens: [token('a', 'ka'), token('b', 'kb')] },
  );
  const { origin } = new URL(url);
  const mine = { authorization: 'Bearer ka' };
  const other = { authorization: 'Bearer kb' };
  const { stream, endpoint, post } = await dialSse(url, mine);
  expect((await post(rpc('ping'), other)).status).toBe(404);
  const id = String(endpoint?.data).split('=')[1] ?? '';
  expect((await send(url, { body: rpc('ping'), headers: { ...mine, 'mcp-session-id': id } })).status).toBe(404);
  const second = await send(`${origin}/sse`, { method: 'GET', headers: mine });
  expect([second.status, second.headers['retry-after']]).toEqual([429, expect.any(String)]);
  expect((await send(`${origin}/messages`, { body: rpc('ping'), headers: mine })).status).toBe(400);
  expect((await send(`${origin}/messages?sessionId=${id}`, { body: '{', headers: mine })).status).toBe(400);
  expect((await post(rpc('ping'))).status).toBe(202);
  expect((await stream.next())?.data.result).toEqual({});
  stream.leave();
});

test('another profile has a stream of its own', async () => {
  const { url, open } = await stage({}, offered);
  const { stream } = await dialSse(url, {}, '/sse/other');
  expect([...open].map(({ options }) => options.profile)).toEqual(['other']);
  expect((await send(`${new URL(url).origin}/sse/nobody`, { method: 'GET' })).status).toBe(404);
  stream.leave();
});

test('a stop waits for its calls and ends its stream', async () => {
  const release = gate();
  const reached = gate();
  const { url, listener } = await stage(
    {
      slow: async () => {
        reached.open();
        await release.promise;
        return { slow: true };
      },
    },
    offered,
  );
  const { stream, post } = await dialSse(url);
  await post(call('slow'));
  await reached.promise;
  const closed = listener.close();
  release.open();
  expect((await stream.next())?.data.result).toEqual({ slow: true });
  expect(await stream.next()).toBeUndefined();
  await closed;
});

test('a client that does not read its answers may not ask for more', async () => {
  const big = 'x'.repeat(3_000_000);
  const { url } = await stage({ big: () => ({ big }), ask: (_, { ask }) => ask?.('roots/list', {}) }, offered);
  const { stream, post } = await dialSse(url);
  stream.response.pause();
  let status = 202;
  for (let id = 0; status === 202 && id < 50; id++) {
    status = (await post(call('big', {}, id))).status;
    if (id === 4) await post(call('ask', {}, 'question'));
  }
  expect(status).toBe(503);
  stream.response.resume();
  let again = 0;
  await expect.poll(async () => (await post(rpc('ping', undefined, `again ${again++}`))).status).toBe(202);
  const read = [];
  for (let event = await stream.next(); ; event = await stream.next()) {
    if (String(event?.data.id).startsWith('again')) break;
    read.push(event?.data.error ?? event?.data.result.big.length);
  }
  // Requests to it failed while it did not read; every response has arrived.
  expect(read.filter((one) => one === big.length).length).toBeGreaterThan(4);
  expect(read.filter((one) => one !== big.length)).toEqual([
    { code: -32000, message: expect.stringContaining('does not read') },
  ]);
  stream.leave();
});
