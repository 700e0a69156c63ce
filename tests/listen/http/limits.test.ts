/** The HTTP listener refuses requests that are too long, too fast, too slow, or from another origin. */
import { connect as connectSocket, type Socket } from 'node:net';
import { afterEach, describe, expect, test } from 'vitest';
import { clientAddress } from '../../../src/listen/http/guard.ts';
import { BOTH, call, closeAll, connect, gate, rpc, type Sent, send, stage, token } from '../harness.ts';

afterEach(closeAll);

const ping = (more: Sent['headers'] = {}) => ({ body: rpc('ping'), headers: more });

/** A socket that sends what it is told, and everything that it was answered once it was closed. */
function raw(url: string): { socket: Socket; closed: Promise<string>; connected: Promise<void> } {
  const socket = connectSocket(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.on('data', (chunk) => {
    text += chunk;
  });
  socket.on('error', () => undefined);
  return {
    socket,
    connected: new Promise((resolve) => socket.once('connect', () => resolve())),
    closed: new Promise((resolve) => socket.once('close', () => resolve(text))),
  };
}

describe('size', () => {
  test('a URL that is too long is 414, headers that are too long 431', async () => {
    const { url } = await stage();
    expect((await send(`${url}?x=${'y'.repeat(9000)}`, ping())).status).toBe(414);
    expect((await send(url, ping({ 'x-pad': 'y'.repeat(17_000) }))).status).toBe(431);
    expect((await send(url, ping())).status).toBe(200);
  });

  const MAX = 100 * 1024 * 1024;
  /** Announces a body of the largest size, and sends one byte of it. */
  const hold = async (url: string, headers = '') => {
    const { socket, connected, closed } = raw(url);
    await connected;
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n${headers}`);
    socket.write(`Content-Length: ${MAX}\r\n\r\n{`);
    return { socket, closed };
  };
  const as = (secret: string) => `Authorization: Bearer ${secret}\r\n`;
  const large = (headers: Record<string, string> = {}) => ({ body: rpc('ping', { pad: 'x'.repeat(50_000) }), headers });
  const refusal = async (url: string, sent: Parameters<typeof send>[1]) => {
    const answer = await send(url, sent);
    return [answer.status, answer.headers['retry-after'], (await answer.json()).error?.message];
  };

  test('large bodies that one token is slow to send are 429 for it, and nobody else notices', async () => {
    const { url } = await stage({}, { http: { maxBody: MAX }, tokens: [token('a', 'ka'), token('b', 'kb')] });
    const held = await Promise.all([1, 2, 3, 4].map(() => hold(url, as('ka'))));
    const [mine, other] = [{ authorization: 'Bearer ka' }, { authorization: 'Bearer kb' }];
    await expect.poll(async () => (await send(url, large(mine))).status).toBe(429);
    const message = 'too many large requests of token "a" are under way: try again in a moment';
    expect(await refusal(url, large(mine))).toEqual([429, '1', message]);
    expect((await send(url, ping(mine))).status).toBe(200);
    expect((await send(url, large(other))).status).toBe(200);
    for (const { socket, closed } of held) {
      socket.destroy();
      await closed;
    }
    await expect.poll(async () => (await send(url, large(mine))).status).toBe(200);
  });

  test('without tokens a session has a share of its own, and an unknown session id gets none', async () => {
    const { url } = await stage({}, { http: { maxBody: MAX } });
    const client = await connect(url);
    const held = await Promise.all([1, 2, 3, 4].map((id) => hold(url, `Mcp-Session-Id: unknown-${id}\r\n`)));
    await expect.poll(async () => (await send(url, large())).status).toBe(429);
    expect((await client.post(rpc('ping', { pad: 'x'.repeat(50_000) }))).status).toBe(200);
    for (const { socket } of held) socket.destroy();
  });

  test('large bodies have one budget for all; what does not fit is told to come back, and fits again later', async () => {
    const { url } = await stage({}, { http: { maxBody: MAX }, tokens: [token('a', 'ka'), token('b', 'kb')] });
    const held = await Promise.all([1, 2, 3].map(() => hold(url, as('ka'))));
    const other = { authorization: 'Bearer kb' };
    await expect.poll(async () => (await send(url, large({ authorization: 'Bearer ka' }))).status).toBe(429);
    held.push(await hold(url, as('kb')));
    await expect.poll(async () => (await send(url, large(other))).status).toBe(503);
    const message = 'too many large requests are under way: try again in a moment';
    expect(await refusal(url, large(other))).toEqual([503, '1', message]);
    expect((await send(url, ping(other))).status).toBe(200);
    for (const { socket, closed } of held) {
      socket.destroy();
      await closed;
    }
    await expect.poll(async () => (await send(url, large(other))).status).toBe(200);
  });

  test('a body of unknown size counts for what it holds, once it is here', async () => {
    const opened = gate();
    const { url } = await stage({ wait: () => opened.promise.then(() => ({ content: [] })) });
    const chunked = { 'transfer-encoding': 'chunked' };
    // As many as there would be room for if each were the largest.
    const held = Array.from({ length: 64 }, (_, id) => send(url, { body: call('wait', {}, id), headers: chunked }));
    const large = { body: rpc('ping', { pad: 'x'.repeat(50_000) }), headers: chunked };
    await expect.poll(async () => (await send(url, large)).status).toBe(200);
    expect((await send(url, { ...large, headers: {} })).status).toBe(200);
    opened.open();
    expect((await Promise.all(held)).every(({ status }) => status === 200)).toBe(true);
  });

  test('what is not JSON is 415, also for the old transport', async () => {
    const { url } = await stage({}, { http: { legacySse: true } });
    const body = { body: '{}', headers: { 'content-type': 'text/plain' } };
    expect((await send(url, body)).status).toBe(415);
    expect((await send(url.replace('/mcp', '/messages?sessionId=x'), body)).status).toBe(415);
    expect((await send(url, ping({ 'content-encoding': 'gzip' }))).status).toBe(415);
    expect((await send(url, ping({ 'content-encoding': 'identity' }))).status).toBe(200);
  });
});

describe('wrong tokens', () => {
  const tokens = [token('a', 'right')];
  const told = (authorization: string) => ping({ authorization });

  test('are 401, after many of one address 429, and a right one is accepted all the while', async () => {
    const { url, logged, happenings } = await stage({}, { tokens });
    const tries = await Promise.all(Array.from({ length: 30 }, (_, n) => send(url, told(`Bearer wrong-${n}`))));
    const statuses = tries.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(20).fill(401), ...Array(10).fill(429)]);
    const braked = await send(url, told('Bearer wrong'));
    const { error } = await braked.json();
    expect([braked.status, Number(braked.headers['retry-after']) > 0, braked.headers.connection]).toEqual([
      ...[429, true, 'close'],
    ]);
    expect([error.message, error.data.hint]).toEqual([
      expect.stringMatching(/^too many wrong tokens: try again in \d+ s$/),
      expect.stringContaining('Authorization: Bearer'),
    ]);
    expect((await send(url, told('Bearer right'))).status).toBe(200);
    expect(logged.filter((line) => line.includes('many wrong tokens come from "127.0.0.1"'))).toHaveLength(1);
    await expect
      .poll(() => happenings.filter((one) => one.type === 'exchange' && one.exchange.status === 429))
      .toHaveLength(11);
  });

  test('do not count where none is sent: a client that asks whether it needs one is told so', async () => {
    const { url } = await stage({}, { tokens });
    for (let n = 0; n < 25; n += 1) expect((await send(url, ping())).status).toBe(401);
    expect((await send(url, told('Bearer wrong'))).status).toBe(401);
  });

  test('count by the address that a trusted proxy was called from, not by one that its client made up', async () => {
    const { url } = await stage({}, { tokens, http: { trustProxy: true } });
    const via = (from: string) => ping({ authorization: 'Bearer wrong', 'x-forwarded-for': from });
    for (let n = 0; n < 20; n += 1) expect((await send(url, via(`10.0.0.${n}, 192.0.2.1`))).status).toBe(401);
    expect((await send(url, via('10.0.0.99, 192.0.2.1'))).status).toBe(429);
    expect((await send(url, via('192.0.2.2'))).status).toBe(401);
  });
});

describe('rate', () => {
  test('each token has its own; beyond it 429 says when to come back', async () => {
    const { url } = await stage({}, { tokens: [token('a', 'one'), token('b', 'two')], http: { rate: 2 } });
    const as = async (secret: string) => {
      const answer = await send(url, ping({ authorization: `Bearer ${secret}` }));
      return [answer.status, answer.headers['retry-after'], (await answer.json()).error?.message];
    };
    expect(await as('one')).toEqual([200, undefined, undefined]);
    expect(await as('one')).toEqual([200, undefined, undefined]);
    expect(await as('one')).toEqual([429, '1', 'too many requests: try again in 1 s']);
    expect((await as('two'))[0]).toBe(200);
    expect((await as('wrong'))[0]).toBe(401);
  });

  test('a batch counts as many as it holds', async () => {
    const { url } = await stage({}, { http: { rate: 5 } });
    const headers = { 'mcp-protocol-version': '2025-03-26' };
    const batch = (size: number) => ({ body: Array.from({ length: size }, (_, id) => rpc('ping', {}, id)), headers });
    expect((await send(url, batch(4))).status).toBe(200);
    expect((await send(url, batch(4))).status).toBe(429);
  });

  test.each([
    ['exec', Array.from({ length: 20 }, () => ({ method: 's.t' })), 429],
    ['call_read', JSON.stringify([{ method: 's.t' }]), 429],
    ['exec', [{ method: 's.t' }], 200],
    ['s__other', Array.from({ length: 20 }, () => 1), 200],
    ['exec', undefined, 200],
  ])('several calls in one %s are let in, and count as several afterwards', async (name, calls, next) => {
    const { url } = await stage({ [name]: () => ({ content: [] }) }, { http: { rate: 5 } });
    expect((await send(url, { body: call(name, { calls }) })).status).toBe(200);
    expect((await send(url, ping())).status).toBe(next);
  });

  test('without one nobody counts', async () => {
    const { url } = await stage();
    const all = await Promise.all(Array.from({ length: 50 }, () => send(url, ping())));
    expect(all.every(({ status }) => status === 200)).toBe(true);
  });
});

describe('slow clients', () => {
  test('headers that never end are cut', async () => {
    const { url } = await stage({}, { arrival: 200 });
    const { socket, closed, connected } = raw(url);
    await connected;
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Slow: ');
    expect(await closed).toContain('408');
  });

  test('a body that never ends is cut', async () => {
    const { url, logged } = await stage({}, { arrival: 200 });
    const { socket, closed, connected } = raw(url);
    await connected;
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
    socket.write('Content-Length: 100\r\n\r\n{"jsonrpc"');
    expect(await closed).toContain('408');
    expect(logged.join('\n')).not.toContain('error');
    expect((await send(url, ping())).status).toBe(200);
  });

  test('a body that is sent without an end is refused at its limit', async () => {
    const { url } = await stage({}, { http: { maxBody: 1000 } });
    const { socket, closed, connected } = raw(url);
    await connected;
    socket.write('POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n');
    socket.write(`Transfer-Encoding: chunked\r\n\r\n800\r\n${'x'.repeat(2048)}\r\n`);
    socket.once('data', () => socket.end());
    expect(await closed).toContain('413');
  });

  test('a client that does not read its answer disturbs nobody', async () => {
    const { url } = await stage({ big: () => ({ content: [{ type: 'text', text: 'x'.repeat(4_000_000) }] }) });
    const { socket, connected } = raw(url);
    await connected;
    socket.pause();
    const body = JSON.stringify(call('big'));
    const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}`;
    for (let i = 0; i < 5; i++) socket.write(`${head}\r\n\r\n${body}`);
    const answers = await Promise.all(Array.from({ length: 20 }, () => send(url, ping())));
    expect(answers.every(({ status }) => status === 200)).toBe(true);
    socket.destroy();
  });
});

describe('pages of other origins', () => {
  const PAGE = 'https://app.example';
  const http = { cors: { origins: [PAGE] } };
  const preflight = (origin: string, method = 'POST') => ({
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': method,
      'access-control-request-headers': 'authorization,content-type,mcp-session-id',
    },
  });

  test('one on the list may ask first, without a token, and then read the answer', async () => {
    const { url } = await stage({}, { http, tokens: [token('a', 'one')] });
    const asked = await send(url, preflight(PAGE));
    expect(asked.status).toBe(204);
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': PAGE,
      'access-control-allow-headers': 'authorization,content-type,mcp-session-id',
      'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
      vary: 'Origin',
    });
    expect(asked.headers['access-control-allow-credentials']).toBeUndefined();
    const answer = await send(url, ping({ origin: PAGE, authorization: 'Bearer one' }));
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBe(PAGE);
    expect(answer.headers['access-control-expose-headers']).toContain('Mcp-Session-Id');
    // It can also tell that its token is wrong.
    const wrong = await send(url, ping({ origin: PAGE }));
    expect([wrong.status, wrong.headers['access-control-allow-origin']]).toEqual([401, PAGE]);
  });

  test('a stream for a page on the list can be read too', async () => {
    const { url } = await stage({}, { http });
    const client = await connect(url, { headers: { origin: PAGE } });
    const stream = await client.get();
    expect([stream.status, stream.headers['access-control-allow-origin']]).toEqual([200, PAGE]);
    stream.leave();
  });

  test('any other gets nothing, on no route', async () => {
    const { url } = await stage({}, { http });
    for (const path of ['/mcp', '/mcp/other', '/api/default/mcp', '/api/status', '/nowhere', '/']) {
      for (const origin of ['https://evil.example', 'https://app.example.evil.example', 'null', 'http://app.example']) {
        for (const sent of [preflight(origin), ping({ origin, ...BOTH }), { method: 'GET', headers: { origin } }]) {
          const answer = await send(url.replace('/mcp', path), sent);
          expect([path, origin, answer.status]).toEqual([path, origin, 403]);
          expect(answer.headers['access-control-allow-origin']).toBeUndefined();
        }
      }
    }
  });

  test('OPTIONS that is no preflight is 405 like any other method', async () => {
    const { url } = await stage({}, { http });
    const answer = await send(url, { method: 'OPTIONS' });
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST, GET, DELETE']);
  });

  test('header names that are none are not repeated', async () => {
    const { url } = await stage({}, { http });
    const sent = preflight(PAGE);
    sent.headers['access-control-request-headers'] = 'x; y=<script>';
    expect((await send(url, sent)).headers['access-control-allow-headers']).toBeUndefined();
  });
});

describe('behind a proxy', () => {
  const forwarded = { host: 'mcpx:3095', 'x-forwarded-host': 'mcp.example.com', 'x-forwarded-proto': 'https' };
  const http = { hosts: ['mcp.example.com'] };

  test.each<[string, object, Record<string, string>, boolean, number]>([
    ['its word for the Host counts where it is trusted', { trustProxy: true }, forwarded, true, 200],
    ['and not where it is not', {}, forwarded, true, 403],
    [
      'another Host is refused all the same',
      { trustProxy: true },
      { ...forwarded, 'x-forwarded-host': 'x' },
      true,
      403,
    ],
    [
      'the first of several counts',
      { trustProxy: true },
      { ...forwarded, 'x-forwarded-host': 'x, mcp.example.com' },
      true,
      403,
    ],
    ['its own page may call', { trustProxy: true }, { ...forwarded, origin: 'https://mcp.example.com' }, true, 200],
    [
      'a rebound page that forges the header gets nothing where no token protects',
      { trustProxy: true },
      { ...forwarded, host: 'evil.example' },
      false,
      403,
    ],
    ['without a token a known Host is enough', { trustProxy: true }, { ...forwarded, host: 'localhost' }, false, 200],
  ])('%s', async (_, more, headers, tokens, status) => {
    const { url } = await stage({}, { http: { ...http, ...more }, tokens: tokens ? [token('a', 'one')] : [] });
    const all = { ...headers, ...(tokens && { authorization: 'Bearer one' }) };
    expect((await send(url, ping(all as Record<string, string>))).status).toBe(status);
  });

  test.each([
    [true, '203.0.113.9, 10.0.0.1', '203.0.113.9'],
    [false, '203.0.113.9', '127.0.0.1'],
    [true, 'nonsense\u001b[31m', '127.0.0.1'],
    [true, undefined, '127.0.0.1'],
  ])('the address of a client, trusted %s, said %j, is %s', (trust, said, address) => {
    const request = { headers: { 'x-forwarded-for': said }, socket: { remoteAddress: '::ffff:127.0.0.1' } };
    expect(clientAddress(request as never, trust)).toBe(address);
  });
});

describe('a target that is a whole URL', () => {
  test.each([
    ['names a route like its path', 'http://localhost/healthz', 'localhost', 200],
    ['may be written in capitals', 'HTTP://LocalHost/api/status?x=1', 'localhost', 200],
    ['may have no path', 'http://localhost', 'localhost', 200],
    ['must not name another host than Host', 'http://evil.example/healthz', 'localhost', 404],
    ['makes no Host known that is not', 'http://localhost/api/status', 'evil.example', 403],
    ['is checked like Host', 'http://evil.example/api/status', 'evil.example', 403],
    ['has no user in it', 'http://localhost@evil.example/healthz', 'localhost', 404],
  ])('%s', async (_, target, host, status) => {
    const { url } = await stage();
    const { socket, closed, connected } = raw(url);
    await connected;
    socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect(await closed).toContain(`HTTP/1.1 ${status} `);
  });
});

test('every answer says what a browser may not do with it', async () => {
  const { url } = await stage({}, { tokens: [token('a', 'one')] });
  const authorization = 'Bearer one';
  const answers = [
    await send(url, ping({ authorization })),
    await send(url, ping()),
    await send(url.replace('/mcp', '/nowhere'), { method: 'GET', headers: { authorization } }),
    await send(url, ping({ host: 'evil.example' })),
  ];
  expect(answers.map(({ status }) => status)).toEqual([200, 401, 404, 403]);
  for (const { headers } of answers) {
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['x-powered-by']).toBeUndefined();
  }
});
