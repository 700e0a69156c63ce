import { describe, expect, test } from 'vitest';
import { serveHttp } from '../http-world.ts';
import { event, serveSse } from '../sse-world.ts';
import { call, connection, httpSpec, SETTINGS, until } from '../world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

const sseSpec = (url: string, more = {}) => httpSpec(url, { type: 'sse', ...more });

describe('a conversation over the old SSE transport', () => {
  test('carries the headers on both kinds of requests, and loses nothing of the answers', async () => {
    const server = await serveSse();
    const upstream = connection(sseSpec(server.url, { headers: { Authorization: 'Bearer secret-1' } }));
    expect(await upstream.request('tools/call', { name: 'echo', arguments: { a: '中' } })).toEqual({
      content: [{ type: 'text', text: '{"a":"中"}' }],
      unknown: { kept: true },
    });
    expect(upstream.handshake).toMatchObject({
      era: 'legacy',
      protocolVersion: '2024-11-05',
      serverInfo: { name: 'old' },
    });
    await upstream.close();
    expect(server.seen.map(({ verb, message }) => `${verb} ${message?.method ?? ''}`)).toEqual([
      'GET ',
      'POST initialize',
      'POST notifications/initialized',
      'POST tools/call',
    ]);
    for (const { headers } of server.seen) expect(headers.authorization).toBe('Bearer secret-1');
    await until(() => server.streams[0]?.destroyed === true);
  });

  test('brings notifications, requests and answers in any order', async () => {
    const server = await serveSse(({ message }, response, stream) => {
      if (message?.method !== 'tools/call') return false;
      response.writeHead(202).end();
      event(stream, { jsonrpc: '2.0', method: 'notifications/message', params: { data: 1 } });
      event(stream, { jsonrpc: '2.0', id: 'q', method: 'ping' });
      stream?.write('event: message\ndata: no json\n\n');
      if (message.params?.name === 'second') {
        for (const { message: one } of server.seen.filter(({ message }) => message?.method === 'tools/call')) {
          event(stream, {
            jsonrpc: '2.0',
            id: one?.id,
            result: { content: [{ type: 'text', text: one?.params?.name }] },
          });
        }
      }
      return true;
    });
    const notifications: string[] = [];
    const upstream = connection(sseSpec(server.url), {
      events: { notification: ({ method }) => notifications.push(method) },
    });
    await upstream.connect();
    expect(await Promise.all([call(upstream, 'first'), call(upstream, 'second')])).toEqual(['first', 'second']);
    expect(notifications).toEqual(['notifications/message', 'notifications/message']);
    await until(() => server.seen.some(({ message }) => message?.id === 'q' && message.result !== undefined));
    expect(upstream.diagnostics().noise).toBe(2);
  });

  test('that breaks off fails what is under way at once, and the next call begins another', async () => {
    const server = await serveSse(({ message }, response, stream) => {
      if (message?.params?.name !== 'cut') return false;
      response.writeHead(202).end();
      return stream?.destroy();
    });
    const upstream = connection(sseSpec(server.url));
    expect(await failure(call(upstream, 'cut'))).toMatchObject({ code: 'unreachable' });
    expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
    expect(server.streams).toHaveLength(2);
  });

  test('whose session is forgotten begins another without losing the call', async () => {
    const server = await serveSse(({ path, message }, response) => {
      if (message?.method !== 'tools/call' || path !== '/messages?session=1') return false;
      return response.writeHead(404).end('unknown session');
    });
    const upstream = connection(sseSpec(server.url));
    expect(await call(upstream, 'echo', { n: 2 })).toEqual({ n: 2 });
    expect(server.streams).toHaveLength(2);
  });

  test.each([
    [401, 'auth', 'server "x" wants other credentials (HTTP 401 Unauthorized)'],
    [403, 'auth', 'server "x" forbids access (HTTP 403 Forbidden)'],
    [500, 'unreachable', 'server "x" answered HTTP 500 Internal Server Error: broken'],
  ])('that is refused with %i says so', async (status, code, message) => {
    const server = await serveSse((_, response) => response.writeHead(status).end('broken'));
    expect(await failure(connection(sseSpec(server.url)).connect())).toMatchObject({ code, message });
  });

  test('that is refused at the endpoint says so, without the secrets', async () => {
    const server = await serveSse(({ verb, headers }, response) => {
      if (verb === 'GET') return false;
      return response.writeHead(400).end(`bad ${headers.authorization}`);
    });
    const upstream = connection(sseSpec(server.url, { headers: { Authorization: 'Bearer secret-1' } }));
    const error = (await failure(upstream.connect())) as Error;
    expect(error.message).toContain('HTTP 400');
    expect(error.message).not.toContain('secret-1');
  });

  test('with something that is no event stream says so', async () => {
    const server = await serveSse((_, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<p>'));
    expect(await failure(connection(sseSpec(server.url)).connect())).toMatchObject({
      code: 'protocol',
      message: 'server "x" answered with content type "text/html", not with an event stream',
    });
  });

  test('never sends the headers to another origin', async () => {
    const other = await serveHttp();
    const server = await serveSse(({ verb }, response) => {
      if (verb !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.write(`event: endpoint\ndata: ${other.url}\n\n`);
    });
    const error = (await failure(connection(sseSpec(server.url)).connect())) as Error;
    expect(error.message).toContain('origin');
    expect(other.seen).toEqual([]);
  });

  test('with nobody there names the address', async () => {
    const error = (await failure(connection(sseSpec('http://127.0.0.1:9/sse')).connect())) as Error;
    expect(error.message).toContain('cannot be reached at "http://127.0.0.1:9/sse"');
  });

  test('drops an event over the limit, and the others come through', async () => {
    const server = await serveSse(({ message }, response, stream) => {
      if (message?.params?.name !== 'big') return false;
      response.writeHead(202).end();
      return event(stream, { jsonrpc: '2.0', id: message.id, result: 'x'.repeat(200_000) });
    });
    const settings = { ...SETTINGS, limits: { ...SETTINGS.limits, messageBytes: 100_000 } };
    const upstream = connection(sseSpec(server.url), { settings });
    expect(await failure(call(upstream, 'big', {}, { timeout: 300 }))).toMatchObject({ code: 'timeout' });
    expect(await call(upstream, 'echo', { n: 3 })).toEqual({ n: 3 });
    expect(await failure(call(upstream, 'echo', { text: 'x'.repeat(100_001) }))).toMatchObject({
      code: 'overloaded',
      hint: 'raise "limits.messageBytes" in the config',
    });
  });
});

describe('a URL without a type', () => {
  const auto = (url: string) => httpSpec(url, { type: 'auto' });

  test('is Streamable HTTP where that is spoken', async () => {
    const server = await serveHttp();
    const upstream = connection(auto(server.url));
    expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
    expect(server.asked()).not.toContain('GET /sse');
  });

  test.each([400, 404, 405])('is the old transport where a POST is refused with %i', async (status) => {
    const server = await serveSse(({ verb, path }, response) => {
      if (verb !== 'POST' || path !== '/sse') return false;
      return response.writeHead(status).end('no');
    });
    const upstream = connection(auto(server.url));
    expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
    expect(server.streams).toHaveLength(1);
    await upstream.close();
    await until(() => server.streams[0]?.destroyed === true);
  });

  test('that is neither says what Streamable HTTP was told', async () => {
    const server = await serveHttp((_, response) => response.writeHead(404).end('nothing here'));
    const error = (await failure(connection(auto(server.url)).connect())) as Error;
    expect(error.message).toBe('server "x" answered HTTP 404 Not Found: nothing here');
  });

  test('that wants credentials is not tried again in another way', async () => {
    const server = await serveHttp((_, response) => response.writeHead(401).end());
    expect(await failure(connection(auto(server.url)).connect())).toMatchObject({ code: 'auth' });
    expect(server.asked()).not.toContain('GET');
  });

  test('can be closed while it is being found out', async () => {
    const server = await serveSse(({ verb }) => (verb === 'GET' ? undefined : false));
    const upstream = connection(auto(server.url));
    const connecting = failure(upstream.connect());
    await until(() => server.seen.some(({ verb }) => verb === 'GET'));
    await upstream.close({ eof: 10, term: 10 });
    expect(await connecting).toMatchObject({ code: 'unreachable' });
  });
});

test('a server that asks a lot over the old transport is answered by a few requests at a time', async () => {
  const COUNT = 200;
  const held: (() => void)[] = [];
  let answered = 0;
  const server = await serveSse(async ({ message }, response, stream) => {
    if (message?.params?.name === 'ask')
      for (let n = 0; n < COUNT; n++) event(stream, { jsonrpc: '2.0', id: `q${n}`, method: 'ping' });
    if (message === undefined || message.method !== undefined) return false;
    answered += 1;
    if (answered <= 32) await new Promise<void>((resolve) => held.push(resolve));
    return [response.writeHead(202).end()];
  });
  const upstream = connection(sseSpec(server.url));
  await call(upstream, 'ask');
  await until(() => answered >= 32);
  expect(await call(upstream, 'echo', { n: 1 })).toEqual({ n: 1 });
  expect(answered).toBe(32);
  for (const release of held) release();
  await until(() => answered === COUNT);
});
