/** Sessions over HTTP: who may use them, how many there are, when they end. */
import { afterEach, describe, expect, test } from 'vitest';
import { BOTH, call, closeAll, connect, gate, note, rpc, send, stage, token } from '../harness.ts';

afterEach(closeAll);

describe('a session', () => {
  test('begins with initialize and is told in a header of visible ASCII that is never the same', async () => {
    const { url, open } = await stage();
    const one = await connect(url);
    const two = await connect(url);
    expect(one.id).toMatch(/^[\x21-\x7e]{32,}$/);
    expect(one.id).not.toBe(two.id);
    expect(open.size).toBe(2);
    const ping = await one.post(rpc('ping', undefined, 0));
    expect([ping.status, ping.headers['content-type'], await ping.json()]).toEqual([
      200,
      'application/json',
      { jsonrpc: '2.0', id: 0, result: {} },
    ]);
  });

  test('does not begin where initialize fails', async () => {
    const { url, open } = await stage();
    const refused = await send(url, { body: rpc('initialize', { fail: true }) });
    expect([refused.headers['mcp-session-id'], (await refused.json()).error.code]).toEqual([undefined, -32602]);
    expect(open.size).toBe(0);
  });

  test('hears the notifications of its client', async () => {
    const { url, open } = await stage();
    const client = await connect(url);
    const accepted = await client.post(note('notifications/initialized'));
    expect([accepted.status, await accepted.text()]).toEqual([202, '']);
    expect([...open][0]?.heard).toEqual(['notifications/initialized']);
  });

  test('ends with DELETE, and its id is unknown from then on', async () => {
    const { url, open } = await stage();
    const client = await connect(url);
    const stream = await client.get();
    expect((await client.delete()).status).toBe(200);
    expect(await stream.next()).toBeUndefined();
    expect(open.size).toBe(0);
    expect((await client.post(rpc('ping'))).status).toBe(404);
    expect((await client.get()).status).toBe(404);
    expect((await client.delete()).status).toBe(404);
  });

  test('that ends answers the calls under way and aborts them', async () => {
    const aborted = gate<string>();
    const reached = gate();
    const { url } = await stage({
      wait: (_, { signal }) => {
        signal.addEventListener('abort', () => aborted.open('aborted'));
        reached.open();
        return new Promise(() => undefined);
      },
    });
    const client = await connect(url);
    const pending = client.post(call('wait'));
    await reached.promise;
    await client.delete();
    expect(await aborted.promise).toBe('aborted');
    expect(await (await pending).json()).toMatchObject({ id: 1, error: { message: 'the client ended the session' } });
  });

  test('is initialized once', async () => {
    const { url } = await stage();
    const client = await connect(url);
    expect((await client.post(rpc('initialize', {}))).status).toBe(400);
  });
});

describe('without a session', () => {
  test('GET and DELETE are 400, a POST is answered', async () => {
    const { url, open } = await stage();
    expect((await send(url, { method: 'GET', headers: BOTH })).status).toBe(400);
    expect((await send(url, { method: 'DELETE' })).status).toBe(400);
    expect((await (await send(url, { body: rpc('ping') })).json()).result).toEqual({});
    expect(open.size).toBe(0);
  });

  test('an id that nobody has is 404 for every method', async () => {
    const { url } = await stage();
    for (const id of ['x', '__proto__', 'constructor', '0'.repeat(5000)]) {
      const headers = { ...BOTH, 'mcp-session-id': id };
      const body = rpc('ping');
      expect((await send(url, { body, headers })).status).toBe(404);
      expect((await send(url, { method: 'GET', headers })).status).toBe(404);
      expect((await send(url, { method: 'DELETE', headers })).status).toBe(404);
    }
  });

  test('what the client hangs up on is cancelled', async () => {
    const aborted = gate();
    const reached = gate();
    const { url, open } = await stage({
      wait: (_, { signal }) => {
        reached.open();
        return new Promise((_, reject) =>
          signal.addEventListener('abort', () => {
            aborted.open();
            reject(new Error('aborted'));
          }),
        );
      },
    });
    const { port } = new URL(url);
    const { connect: dial } = await import('node:net');
    const socket = dial(Number(port), '127.0.0.1');
    const body = JSON.stringify(call('wait'));
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await reached.promise;
    socket.destroy();
    await aborted.promise;
    await expect.poll(() => open.size).toBe(0);
  });
});

describe('a session of somebody else', () => {
  test('does not exist for another token', async () => {
    const { url } = await stage({}, { tokens: [token('a', 'ka'), token('b', 'kb'), token('a', 'kc')] });
    const mine = await connect(url, { headers: { authorization: 'Bearer ka' } });
    for (const secret of ['kb', 'kc']) {
      const authorization = `Bearer ${secret}`;
      expect((await mine.post(rpc('ping'), { authorization })).status).toBe(404);
      expect((await mine.get({ authorization })).status).toBe(404);
      expect((await send(url, { method: 'DELETE', headers: { ...mine.headers, authorization } })).status).toBe(404);
    }
    expect((await mine.post(rpc('ping'), { authorization: 'Bearer wrong' })).status).toBe(401);
    expect((await mine.post(rpc('ping'))).status).toBe(200);
  });

  test('does not exist on the route of another profile', async () => {
    const { url } = await stage();
    const client = await connect(url);
    expect((await send(`${url}/other`, { body: rpc('ping'), headers: client.headers })).status).toBe(404);
    expect((await send(`${url}/other`, { method: 'DELETE', headers: client.headers })).status).toBe(404);
    expect((await send(`${url}/default`, { body: rpc('ping'), headers: client.headers })).status).toBe(200);
  });

  test('with equal request ids gets its own answers only', async () => {
    const { url } = await stage({
      whoami: async ({ name, ms }, { progress }) => {
        progress?.({ progress: 1, message: name });
        await new Promise((resolve) => setTimeout(resolve, ms));
        return { name };
      },
    });
    const clients = await Promise.all(Array.from({ length: 20 }, () => connect(url)));
    const seen = await Promise.all(
      clients.flatMap((client, index) =>
        [0, 1, 2].map(async (id) => {
          const name = `${index}/${id}`;
          const meta = { progressToken: 7 };
          const answer = await client.post(call('whoami', { name, ms: (index * 7 + id * 13) % 20 }, id, meta));
          const progress = await answer.next();
          const result = await answer.next();
          return [progress?.data.params.message, result?.data.id, result?.data.result.name, name];
        }),
      ),
    );
    for (const [message, id, result, name] of seen)
      expect([message, result, id]).toEqual([name, name, Number(String(name).split('/')[1])]);
  });
});

test('what belongs to no request is asked on the stream of GET, which may come a moment later', async () => {
  const { url, open } = await stage();
  const client = await connect(url);
  const [downstream] = [...open].map((one) => one.downstream);
  const answer = downstream?.ask?.('roots/list', {});
  const stream = await client.get();
  const { data } = (await stream.next()) ?? {};
  expect(data).toMatchObject({ method: 'roots/list' });
  await client.post({ jsonrpc: '2.0', id: data.id, result: { roots: [] } });
  expect(await answer).toEqual({ roots: [] });
  stream.leave();
});

describe('limits', () => {
  test('the idlest goes when there are too many, one with a stream or a call stays', async () => {
    const reached = gate();
    const release = gate();
    const { url } = await stage(
      {
        wait: async () => {
          reached.open();
          await release.promise;
          return {};
        },
      },
      { http: { maxSessions: 3 } },
    );
    const listening = await connect(url);
    const stream = await listening.get();
    const calling = await connect(url);
    const pending = calling.post(call('wait'));
    await reached.promise;
    const idle = await connect(url);
    const newest = await connect(url);
    expect((await idle.post(rpc('ping'))).status).toBe(404);
    for (const client of [listening, calling, newest]) expect((await client.post(rpc('ping', {}, 9))).status).toBe(200);
    release.open();
    expect((await pending).status).toBe(200);
    stream.leave();
  });

  test('a token that opens many sessions ends its own idle ones, not those of others', async () => {
    const tokens = [token('a', 'ka'), token('b', 'kb')];
    const { url } = await stage({}, { tokens, http: { maxSessions: 4 } });
    const [busy, quiet] = [{ authorization: 'Bearer ka' }, { authorization: 'Bearer kb' }];
    const idlest = await connect(url, { headers: quiet });
    const first = await connect(url, { headers: busy });
    for (let n = 0; n < 5; n += 1) await connect(url, { headers: busy });
    expect((await first.post(rpc('ping'))).status).toBe(404);
    expect((await idlest.post(rpc('ping'))).status).toBe(200);
  });

  test('a token that has more sessions than others, all in use, is 429 and takes none of theirs', async () => {
    const tokens = [token('a', 'ka'), token('b', 'kb')];
    const { url } = await stage({}, { tokens, http: { maxSessions: 3 } });
    const [busy, quiet] = [{ authorization: 'Bearer ka' }, { authorization: 'Bearer kb' }];
    const idle = await connect(url, { headers: quiet });
    const streams = [];
    for (let n = 0; n < 2; n += 1) streams.push(await (await connect(url, { headers: busy })).get());
    const refused = await send(url, { body: rpc('initialize', {}), headers: busy });
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await idle.post(rpc('ping'))).status).toBe(200);
    for (const stream of streams) stream.leave();
  });

  test('where all are in use the answer is 503 and when to come back', async () => {
    const { url } = await stage({}, { http: { maxSessions: 1 } });
    const stream = await (await connect(url)).get();
    const refused = await send(url, { body: rpc('initialize', {}) });
    expect([refused.status, Number(refused.headers['retry-after']) > 0]).toEqual([503, true]);
    stream.leave();
  });

  test('a token has its own number of sessions, and 429 beyond', async () => {
    const { url } = await stage({}, { tokens: [token('a', 'ka'), token('b', 'kb')], http: { sessionsPerToken: 2 } });
    const headers = { authorization: 'Bearer ka' };
    const first = await connect(url, { headers });
    await connect(url, { headers });
    const refused = await send(url, { body: rpc('initialize', {}), headers });
    expect([refused.status, Number(refused.headers['retry-after'])]).toEqual([429, 1800]);
    const { message, data } = (await refused.json()).error;
    expect([message, data.hint]).toEqual(['this token has too many sessions', expect.stringContaining('DELETE')]);
    expect((await connect(url, { headers: { authorization: 'Bearer kb' } })).id).not.toBe('undefined');
    await first.delete();
    expect((await connect(url, { headers })).id).not.toBe('undefined');
  });

  test('an idle session ends, one with an open stream does not', async () => {
    const { url, open } = await stage({}, { http: { sessionIdle: 40 } });
    const listening = await connect(url);
    const stream = await listening.get();
    const idle = await connect(url);
    await expect.poll(() => open.size).toBe(1);
    expect((await idle.post(rpc('ping'))).status).toBe(404);
    expect((await listening.post(rpc('ping'))).status).toBe(200);
    stream.leave();
    await expect.poll(() => open.size).toBe(0);
  });
});
