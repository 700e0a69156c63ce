import { describe, expect, test } from 'vitest';
import { RpcError } from '../../../src/errors.ts';
import type { Id } from '../../../src/wire/message.ts';
import { RawResult } from '../../../src/wire/raw-result.ts';
import { type Answer, end, isCall, json, type Seen, serveHttp, stream, type Wire } from '../http-world.ts';
import { call, connection, httpSpec, SETTINGS, until } from '../world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const text = (value: unknown) => ({ content: [{ type: 'text', text: JSON.stringify(value) }] });
const respond = ({ id }: Wire, value: unknown) => ({ jsonrpc: '2.0', id, result: text(value) });
const wire = (request: Seen) => request.message as Wire;

/** Answers calls of tools this way, and everything else as usual. */
const onCall =
  (answer: Answer): Answer =>
  (request, response) =>
    isCall(request) ? answer(request, response) : false;

describe('a conversation over HTTP', () => {
  test('begins with a session, carries it and the version, and ends with DELETE', async () => {
    const server = await serveHttp();
    const upstream = connection(httpSpec(server.url, { headers: { 'X-Key': 'k', ACCEPT: 'text/plain' } }));
    expect(await call(upstream, 'echo', { a: '中' })).toEqual({ a: '中' });
    expect(upstream.handshake).toMatchObject({ protocolVersion: '2025-06-18', serverInfo: { name: 'h' } });
    await upstream.close();
    expect(server.asked().filter((what) => what !== 'GET')).toEqual([
      'POST server/discover',
      'POST initialize',
      'POST notifications/initialized',
      'POST tools/call',
      'DELETE',
    ]);
    const [, first, ...rest] = server.seen;
    expect(first?.headers).toMatchObject({
      'x-key': 'k',
      accept: 'application/json, text/event-stream',
      'accept-encoding': 'identity',
      'content-type': 'application/json',
    });
    expect(first?.headers['mcp-session-id']).toBeUndefined();
    expect(first?.headers['mcp-protocol-version']).toBeUndefined();
    for (const { headers } of rest) {
      expect(headers).toMatchObject({
        'x-key': 'k',
        'mcp-session-id': 'session-1',
        'mcp-protocol-version': '2025-06-18',
      });
    }
  });

  test('without a session id needs no DELETE', async () => {
    const server = await serveHttp(({ message }, response) => {
      if (message?.method !== 'initialize') return false;
      return json(response, message, { protocolVersion: '2024-11-05', capabilities: {} });
    });
    const upstream = connection(httpSpec(server.url, { type: 'auto' }));
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    await upstream.close();
    expect(server.asked()).not.toContain('DELETE');
  });

  test('sends nothing before the upstream has heard that it is initialized', async () => {
    let release = () => {};
    const server = await serveHttp(async ({ message }, response) => {
      if (message?.method !== 'notifications/initialized') return false;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
      return end(response, 202, 'text/plain', '');
    });
    const upstream = connection(httpSpec(server.url));
    await upstream.connect();
    const calls = [call(upstream, 'echo', { n: 1 }), call(upstream, 'echo', { n: 2 })];
    await until(() => server.seen.length === 3);
    // A later message of another client was sent and answered meanwhile.
    for (let n = 0; n < 3; n++) await (await fetch(server.origin)).text();
    expect(server.asked()).toEqual([
      'POST server/discover',
      'POST initialize',
      'POST notifications/initialized',
      ...['GET', 'GET', 'GET'],
    ]);
    release();
    expect(await Promise.all(calls)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test('reads answers from event streams, with what comes before them on the same stream', async () => {
    const notifications: unknown[] = [];
    const origins: (Id | undefined)[] = [];
    const server = await serveHttp(async (request, response) => {
      if (!isCall(request)) return false;
      const { event, end } = stream(response);
      event({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'hi' } });
      event({
        jsonrpc: '2.0',
        method: 'notifications/progress',
        params: { progressToken: wire(request).id, progress: 1 },
      });
      event({ jsonrpc: '2.0', id: 'q', method: 'roots/list' });
      await until(() => server.seen.some(({ message }) => message?.id === 'q'));
      event(respond(wire(request), 'done'));
      return end();
    });
    const upstream = connection(httpSpec(server.url), {
      events: {
        notification: ({ method, params }) => notifications.push([method, params]),
        request: async (request, incoming) => {
          origins.push(incoming.origin);
          return { roots: [request.method] };
        },
      },
    });
    const progress: unknown[] = [];
    expect(await call(upstream, 'slow', {}, { progress: (params: unknown) => progress.push(params) })).toBe('done');
    expect(notifications).toEqual([['notifications/message', { level: 'info', data: 'hi' }]]);
    expect(progress).toEqual([{ progress: 1 }]);
    expect(origins).toEqual([1003]);
    expect(server.seen.find(({ message }) => message?.id === 'q')?.message?.result).toEqual({ roots: ['roots/list'] });
  });

  test('reads odd but legal streams', async () => {
    const server = await serveHttp(
      onCall((request, response) => {
        response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' });
        const pretty = JSON.stringify(respond(wire(request), '中'), undefined, 1).replaceAll('\n', '\r\ndata: ');
        response.end(`\ufeff: hello\r\n\r\nevent: other\r\ndata: {}\r\n\r\nevent: message\r\ndata: ${pretty}\r\n\r\n`);
      }),
    );
    expect(await call(connection(httpSpec(server.url)), 'x')).toBe('中');
  });

  test('leaves a large result as bytes that nobody reads', async () => {
    const large = 'x'.repeat(300_000);
    const server = await serveHttp(onCall((request, response) => json(response, wire(request), text(large))));
    const upstream = connection(httpSpec(server.url));
    const result = await upstream.request('tools/call', { name: 'x' }, { verbatim: 'large' });
    expect(result).toBeInstanceOf(RawResult);
    expect((result as RawResult).text()).toBe(JSON.stringify(text(large)));
    expect(await call(upstream, 'x')).toBe(large);
  });

  test('gives a call no large result with the id of another call', async () => {
    const server = await serveHttp(
      onCall((request, response) => {
        const { id = 0, params } = wire(request);
        return json(response, { id: params?.name === 'crossed' ? Number(id) + 1 : id }, text('x'.repeat(300_000)));
      }),
    );
    const upstream = connection(httpSpec(server.url));
    const [crossed, next] = ['crossed', 'next'].map((name) =>
      upstream.request('tools/call', { name }, { verbatim: 'large' }),
    );
    expect(await failure(crossed as Promise<unknown>)).toMatchObject({ code: 'protocol' });
    expect(await next).toBeDefined();
  });

  test('accepts a batch as an answer', async () => {
    const server = await serveHttp(
      onCall((request, response) => {
        const log = { jsonrpc: '2.0', method: 'notifications/message', params: {} };
        end(response, 200, 'application/json', JSON.stringify([log, respond(wire(request), 'two')]));
      }),
    );
    expect(await call(connection(httpSpec(server.url)), 'x')).toBe('two');
  });

  test('does not wait for a stream that stays open after its answer', async () => {
    let gone = false;
    const server = await serveHttp(
      onCall((request, response) => {
        response.on('close', () => {
          gone = true;
        });
        stream(response).event(respond(wire(request), 'here'));
      }),
    );
    expect(await call(connection(httpSpec(server.url)), 'x')).toBe('here');
    await until(() => gone);
  });

  test('runs many calls at once without crossing answers', async () => {
    const server = await serveHttp(
      onCall(async (request, response) => {
        await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
        const own = respond(wire(request), wire(request).params?.arguments);
        if (Math.random() < 0.5) return end(response, 200, 'application/json', JSON.stringify(own));
        const { event, end: finish } = stream(response);
        event(own);
        return finish();
      }),
    );
    const upstream = connection(httpSpec(server.url));
    const numbers = Array.from({ length: 200 }, (_, n) => ({ n }));
    expect(await Promise.all(numbers.map((args) => call(upstream, 'x', args)))).toEqual(numbers);
  });
});

describe('an HTTP upstream that fails a call', () => {
  const status =
    (code: number, body = '', type = 'text/plain'): Answer =>
    (_, response) =>
      end(response, code, type, body);
  const cases: [
    title: string,
    answer: Answer,
    expected: { code: unknown; message: unknown; hint?: unknown; fault?: unknown },
  ][] = [
    [
      'with 401',
      status(401),
      {
        code: 'auth',
        message: 'server "x" wants other credentials (HTTP 401 Unauthorized)',
        hint: expect.stringContaining('"headers"'),
      },
    ],
    ['with 403', status(403), { code: 'auth', message: 'server "x" forbids access (HTTP 403 Forbidden)' }],
    [
      'with 405',
      status(405),
      {
        code: 'unreachable',
        message: 'server "x" answered HTTP 405 Method Not Allowed',
        hint: expect.stringContaining('"url"'),
      },
    ],
    [
      'with 500 and text',
      status(500, 'it\nbroke: Bearer sesame-open'),
      { code: 'unreachable', message: 'server "x" answered HTTP 500 Internal Server Error: it broke: Bearer ***' },
    ],
    [
      'with 500 and HTML',
      status(500, '<html>'),
      { code: 'unreachable', message: 'server "x" answered HTTP 500 Internal Server Error' },
    ],
    ['with an unknown status', status(599), { code: 'unreachable', message: 'server "x" answered HTTP 599' }],
    [
      'with 429',
      status(429),
      { code: 'overloaded', message: 'server "x" has had too many requests (HTTP 429 Too Many Requests)' },
    ],
    [
      'with HTML',
      status(200, '<html>', 'text/html'),
      {
        code: 'protocol',
        message: 'server "x" answered with HTTP 200 and content type "text/html", not with JSON or an event stream',
        hint: expect.stringContaining('an MCP endpoint'),
        fault: 'no-endpoint',
      },
    ],
    ['with 202', status(202), { code: 'protocol', message: expect.stringContaining('HTTP 202') }],
    [
      'with nothing',
      status(200, '', 'application/json'),
      { code: 'protocol', message: 'server "x" did not answer "tools/call"' },
    ],
    [
      'with an empty stream',
      status(200, '', 'text/event-stream'),
      { code: 'unreachable', message: 'server "x" ended its reply without an answer' },
    ],
    [
      'with another answer',
      (_, response) => json(response, { id: 77 }, {}),
      { code: 'protocol', message: 'server "x" did not answer "tools/call"' },
    ],
    [
      'by cutting the connection',
      (_, response) => response.destroy(),
      { code: 'unreachable', message: 'server "x" broke off: ECONNRESET' },
    ],
    [
      'by cutting a stream',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write('data: {"jso', () => response.destroy());
      },
      { code: 'unreachable', message: expect.stringMatching(/^server "x" broke off/) },
    ],
    [
      'by cutting a body',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 });
        response.write('{"jso', () => response.destroy());
      },
      { code: 'unreachable', message: expect.stringMatching(/^server "x" broke off/) },
    ],
    [
      'with a compressed body',
      (_, response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
        response.end('x');
      },
      { code: 'protocol', message: expect.stringContaining('compressed') },
    ],
    [
      'with too large a body',
      status(200, JSON.stringify({ long: 'x'.repeat(5000) }), 'application/json'),
      { code: 'protocol', message: expect.stringContaining('over the limit of 4000 bytes') },
    ],
    [
      'with too large an event',
      status(200, `data: ${'x'.repeat(5000)}\n\n`, 'text/event-stream'),
      { code: 'protocol', message: 'server "x" sent an event over the limit of 4000 bytes' },
    ],
    [
      'by redirecting to nowhere',
      status(302),
      { code: 'unreachable', message: 'server "x" redirects to nowhere (HTTP 302), which is not followed' },
    ],
    [
      'by redirecting to itself',
      ({ path }, response) => response.writeHead(307, { location: path }).end(),
      { code: 'protocol', message: 'server "x" redirects in a circle' },
    ],
    [
      'by redirecting a call to a page',
      (_, response) => response.writeHead(303, { location: '/login' }).end(),
      { code: 'unreachable', message: expect.stringMatching(/^server "x" redirects to "http:.*\/login" \(HTTP 303\)/) },
    ],
  ];
  test.each(cases)('%s says so, and goes on', async (_, answer, expected) => {
    let broken = true;
    const server = await serveHttp(onCall((request, response) => (broken ? answer(request, response) : false)));
    const spec = httpSpec(server.url, { headers: { Authorization: 'Bearer sesame-open' } });
    const limits = { ...SETTINGS.limits, messageBytes: 4000 };
    const upstream = connection(spec, { settings: { ...SETTINGS, limits } });
    await upstream.connect();
    expect(await failure(call(upstream, 'x'))).toMatchObject(expected);
    broken = false;
    expect(await call(upstream, 'x', { fine: true })).toEqual({ fine: true });
    expect(server.asked().filter((what) => what === 'POST initialize')).toHaveLength(1);
    // A call is sent once, whatever becomes of it.
    expect(server.seen.filter((request) => isCall(request) && request.path === '/mcp')).toHaveLength(
      expected.message === 'server "x" redirects in a circle' ? 7 : 2,
    );
  });

  test('with an error of its own is quoted verbatim', async () => {
    const error = { code: -32099, message: 'Not: now', data: { retry: true } };
    const server = await serveHttp(
      onCall((request, response) =>
        end(response, 400, 'application/json', JSON.stringify({ jsonrpc: '2.0', id: wire(request).id, error })),
      ),
    );
    const thrown = await failure(call(connection(httpSpec(server.url)), 'x'));
    expect(thrown).toBeInstanceOf(RpcError);
    expect(thrown).toMatchObject(error);
  });

  test('for lack of patience says when to come back', async () => {
    const server = await serveHttp(onCall((_, response) => response.writeHead(429, { 'retry-after': '7' }).end()));
    expect(await failure(call(connection(httpSpec(server.url)), 'x'))).toMatchObject({
      hint: 'it asks to be tried again after 7',
    });
  });
});

describe('redirects', () => {
  test('within the origin are followed and remembered', async () => {
    const server = await serveHttp(({ path, verb }, response) => {
      if (path === '/mcp/' || verb === 'DELETE') return false;
      return response.writeHead(path === '/mcp' ? 307 : 308, { location: path === '/mcp' ? '/moved' : './mcp/' }).end();
    });
    const upstream = connection(httpSpec(server.url));
    expect(await call(upstream, 'x', { a: 1 })).toEqual({ a: 1 });
    expect(server.seen.slice(0, 3).map(({ path }) => path)).toEqual(['/mcp', '/moved', '/mcp/']);
    expect(server.seen.filter(({ path }) => path === '/mcp')).toHaveLength(1);
  });

  test('to another origin get nothing, least of all the headers', async () => {
    const other = await serveHttp();
    const server = await serveHttp((_, response) => response.writeHead(308, { location: `${other.url}?a=b` }).end());
    const upstream = connection(httpSpec(server.url, { headers: { Authorization: 'Bearer sesame-open' } }));
    expect(await failure(upstream.connect())).toMatchObject({
      code: 'unreachable',
      message: `server "x" redirects to "${other.url}" (HTTP 308), which is not followed`,
      hint: `if you trust it, set "url" to "${other.url}"`,
    });
    expect(other.seen).toEqual([]);
  });
});

describe('a lost session', () => {
  test.each([
    [404, 'gone', 'text/plain'],
    [
      400,
      JSON.stringify({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32000, message: 'Bad Request: No valid session ID provided' },
      }),
      'application/json',
    ],
  ])('(HTTP %i) is begun anew once, however many calls met it, and no call fails', async (code, body, type) => {
    const server = await serveHttp(({ headers }, response) => {
      const session = headers['mcp-session-id'];
      if (session === undefined || server.sessions.has(String(session))) return false;
      return end(response, code, type, body);
    });
    const upstream = connection(httpSpec(server.url));
    await upstream.connect();
    server.sessions.clear();
    server.sessions.add('another');
    const numbers = Array.from({ length: 20 }, (_, n) => ({ n }));
    expect(await Promise.all(numbers.map((args) => call(upstream, 'x', args)))).toEqual(numbers);
    expect(server.asked().filter((what) => what === 'POST initialize')).toHaveLength(2);
    expect(upstream.state.kind).toBe('ready');
    await upstream.close();
    expect(server.seen.filter(({ verb }) => verb === 'DELETE').map(({ headers }) => headers['mcp-session-id'])).toEqual(
      ['session-2'],
    );
  });

  test('that is lost again at once fails the call', async () => {
    const server = await serveHttp(onCall((_, response) => end(response, 404, 'text/plain', '')));
    const upstream = connection(httpSpec(server.url));
    expect(await failure(call(upstream, 'x'))).toMatchObject({
      code: 'unreachable',
      message: 'server "x" no longer knows the session (HTTP 404)',
    });
    expect(server.asked().filter((what) => what === 'POST tools/call')).toHaveLength(2);
  });

  test('leaves calls alone that are still being answered', async () => {
    let finish = () => {};
    const server = await serveHttp(async (request, response) => {
      if (!isCall(request, 'slow')) return false;
      await new Promise<void>((resolve) => {
        finish = resolve;
      });
      return json(response, wire(request), text('slow but sure'));
    });
    const upstream = connection(httpSpec(server.url));
    const slow = call(upstream, 'slow');
    await until(() => server.seen.some((request) => isCall(request)));
    server.sessions.clear();
    server.sessions.add('another');
    expect(await call(upstream, 'x', { quick: 1 })).toEqual({ quick: 1 });
    finish();
    expect(await slow).toBe('slow but sure');
  });
});

describe('an HTTP upstream that goes away', () => {
  test('and comes back is found again at the next call', async () => {
    const server = await serveHttp();
    const upstream = connection(httpSpec(server.url));
    expect(await call(upstream, 'x', { a: 1 })).toEqual({ a: 1 });
    await server.stop();
    server.sessions.clear();
    await server.start();
    // Not a call: what may run twice is sent again when a kept-alive socket turns out to be closed.
    expect(await upstream.request('ping')).toBeTypeOf('object');
    expect(await call(upstream, 'x', { a: 2 })).toEqual({ a: 2 });
    expect(server.asked().filter((what) => what === 'POST initialize')).toHaveLength(2);
  });

  test('is named with its address, and calls fail at once when the next try is too far away', async () => {
    const server = await serveHttp();
    const spec = httpSpec(`${server.url}?key=sesame-open`, {
      reconnect: { interval: 60_000, maxRetries: 1 },
      timeout: 5000,
    });
    const upstream = connection(spec);
    await upstream.connect();
    await server.stop();
    const message = `server "x" cannot be reached at "${server.url}": ECONNREFUSED`;
    for (let n = 0; n < 2; n++) {
      const failed = await failure(call(upstream, 'x'));
      expect(failed).toMatchObject({ code: 'unreachable', cause: { message } });
      expect(failed.message).toMatch(/ECONNREFUSED; next try in \d\d s$/);
    }
    expect(upstream.state).toMatchObject({ kind: 'backoff', failures: 1, reason: message });
  });

  test('ends calls in flight, without waiting for their timeout', async () => {
    const server = await serveHttp(onCall(() => undefined));
    const upstream = connection(httpSpec(server.url));
    const waiting = failure(call(upstream, 'x'));
    await until(() => server.seen.some((request) => isCall(request)));
    await server.stop();
    expect(await waiting).toMatchObject({ code: 'unreachable' });
  });
});

test('a server that asks a lot during one call is answered by a few requests at a time', async () => {
  const COUNT = 200;
  const held: (() => void)[] = [];
  let answered = 0;
  let finish = () => {};
  const server = await serveHttp(async (request, response) => {
    if (isCall(request, 'ask')) {
      const events = stream(response);
      for (let n = 0; n < COUNT; n++) events.event({ jsonrpc: '2.0', id: `q${n}`, method: 'ping' });
      finish = () => {
        events.event(respond(wire(request), 'done'));
        events.end();
      };
      return true;
    }
    if (request.message === undefined || request.message.method !== undefined) return false;
    answered += 1;
    if (answered <= 32) await new Promise<void>((resolve) => held.push(resolve));
    return end(response, 202, 'text/plain', '');
  });
  const upstream = connection(httpSpec(server.url));
  const asking = call(upstream, 'ask');
  await until(() => answered >= 32);
  expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
  expect(answered).toBe(32);
  for (const release of held) release();
  await until(() => answered === COUNT);
  finish();
  expect(await asking).toBe('done');
});
