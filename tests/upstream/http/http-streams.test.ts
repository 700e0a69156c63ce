import { once } from 'node:events';
import { type connect, createServer } from 'node:net';
import { describe, expect, test, vi } from 'vitest';
import { staticAuthorization } from '../../../src/upstream/http/authorization.ts';
import { networkError } from '../../../src/upstream/http/http-errors.ts';
import { createRedactor } from '../../../src/upstream/secret-redactor.ts';
import { openHttp } from '../../../src/upstream/transports/http.ts';
import type { Message } from '../../../src/wire/message.ts';
import { end, isCall, json, type Seen, serveHttp, stream } from '../http-world.ts';
import { call, cleanup, connection, httpSpec, recorder, stopClock, until } from '../world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );
const respond = ({ message }: Seen, value: unknown) => ({
  jsonrpc: '2.0',
  id: message?.id,
  result: { content: [{ type: 'text', text: JSON.stringify(value) }] },
});
const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' };

describe('the stream for everything else', () => {
  test('brings notifications, and is resumed after its last event', async () => {
    const methods: string[] = [];
    let gets = 0;
    const server = await serveHttp(({ verb }, response) => {
      if (verb !== 'GET') return false;
      const { event, end } = stream(response);
      gets += 1;
      response.write('retry: 5\n');
      event(changed, `e${gets}`);
      if (gets < 3) end();
      return true;
    });
    const upstream = connection(httpSpec(server.url), {
      events: { notification: ({ method }) => methods.push(method) },
    });
    await upstream.connect();
    await until(() => gets === 3 && methods.length === 3);
    const asked = server.seen.filter(({ verb }) => verb === 'GET');
    expect(asked.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'e1', 'e2']);
    expect(asked[0]?.headers).toMatchObject({ accept: 'text/event-stream', 'mcp-session-id': 'session-1' });
    await upstream.close();
  });

  test.each([405, 400, 501])('is not asked for again where there is none (HTTP %i)', async (code) => {
    const server = await serveHttp(({ verb }, response) =>
      verb === 'GET' ? end(response, code, 'text/plain', '') : false,
    );
    const upstream = connection(httpSpec(server.url));
    expect(await call(upstream, 'x', { a: 1 })).toEqual({ a: 1 });
    await until(() => server.asked().includes('GET'));
    expect(await call(upstream, 'x', { a: 2 })).toEqual({ a: 2 });
    expect(server.asked().filter((what) => what === 'GET')).toHaveLength(1);
  });

  test('that says the session is gone ends the conversation, and the next call begins another', async () => {
    const server = await serveHttp(({ verb }, response) =>
      verb === 'GET' ? end(response, 404, 'text/plain', '') : false,
    );
    const upstream = connection(httpSpec(server.url));
    await upstream.connect();
    await until(() => upstream.state.kind === 'backoff');
    expect(upstream.state).toMatchObject({ failures: 1, reason: 'server "x" no longer knows the session (HTTP 404)' });
    expect(await call(upstream, 'x', { a: 1 })).toEqual({ a: 1 });
  });
});

describe('the stream of an answer', () => {
  test('that breaks off is resumed where its events are numbered', async () => {
    let first: Seen | undefined;
    const server = await serveHttp((request, response) => {
      if (isCall(request)) {
        first = request;
        const { event, cut } = stream(response);
        response.write('retry: 5\nid: primer\ndata:\n\n');
        event(changed, 'e1');
        setTimeout(cut, 10);
        return true;
      }
      if (request.verb !== 'GET' || request.headers['last-event-id'] === undefined) return false;
      const { event, end } = stream(response);
      if (request.headers['last-event-id'] === 'e1') event(changed, 'e2');
      else if (first) event(respond(first, 'at last'), 'e3');
      return end();
    });
    const upstream = connection(httpSpec(server.url));
    expect(await call(upstream, 'x')).toBe('at last');
    expect(server.seen.filter((request) => isCall(request))).toHaveLength(1);
    const resumed = server.seen.flatMap(({ headers }) => headers['last-event-id'] ?? []);
    expect(resumed).toEqual(['e1', 'e2']);
  });

  test('that cannot be resumed fails the call', async () => {
    const server = await serveHttp((request, response) => {
      if (!isCall(request)) return false;
      const { event, cut } = stream(response);
      event(changed, 'e1');
      setTimeout(cut, 10);
      return true;
    });
    expect(await failure(call(connection(httpSpec(server.url)), 'x'))).toMatchObject({
      code: 'unreachable',
      message: 'server "x" answered HTTP 405 Method Not Allowed',
    });
  });

  test('that never brings news is given up', async () => {
    const server = await serveHttp((request, response) => {
      if (!isCall(request) && request.verb !== 'GET') return false;
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      return response.end('retry: 1\nid: same\n\n');
    });
    expect(await failure(call(connection(httpSpec(server.url)), 'x'))).toMatchObject({
      message: 'server "x" ended its reply without an answer',
    });
    expect(server.seen.filter(({ headers }) => headers['last-event-id'] === 'same').length).toBeLessThan(20);
  });
});

describe('a call that is cancelled', () => {
  test('is cancelled at the upstream under its own id, and its request is dropped', async () => {
    let dropped = false;
    const server = await serveHttp((request, response) => {
      if (!isCall(request)) return false;
      response.on('close', () => {
        dropped = true;
      });
      return true;
    });
    const upstream = connection(httpSpec(server.url));
    const controller = new AbortController();
    const waiting = failure(call(upstream, 'x', {}, { signal: controller.signal }));
    await until(() => server.seen.some((request) => isCall(request)));
    controller.abort('enough');
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    await until(() => dropped);
    const id = server.seen.find((request) => isCall(request))?.message?.id;
    const told = server.seen.find(({ message }) => message?.method === 'notifications/cancelled');
    expect(told?.message?.params).toEqual({ requestId: id, reason: 'enough' });
    expect(upstream.state.kind).toBe('ready');
  });
});

describe('the end of an HTTP conversation', () => {
  test('does not wait for an upstream that ignores it', async () => {
    const server = await serveHttp(({ verb }) => verb === 'DELETE' || verb === 'GET');
    const upstream = connection(httpSpec(server.url));
    await upstream.connect();
    const waiting = failure(call(upstream, 'x'));
    stopClock();
    const patient = upstream.close();
    await until(() => server.asked().includes('DELETE'));
    const hurried = upstream.close({ eof: 50, term: 50 });
    await vi.advanceTimersByTimeAsync(50);
    await Promise.all([patient, hurried]);
    expect(await waiting).toMatchObject({ code: 'unreachable' });
    expect(await failure(call(upstream, 'x'))).toMatchObject({ message: 'server "x" is stopped' });
  });
});

describe('the HTTP transport itself', () => {
  const options = {
    ...{ name: 'x', maxBytes: 16 * 1024 * 1024, log: recorder().log },
    ...{ redactor: createRedactor([]), authorization: staticAuthorization({}, 'x') },
  };
  const note = (text: string): Message => ({ jsonrpc: '2.0', method: 'n', params: { text } });

  test('refuses more for an upstream that does not read', async () => {
    const sockets: ReturnType<typeof connect>[] = [];
    const deaf = createServer((socket) => void sockets.push(socket.pause()));
    deaf.listen(0, '127.0.0.1');
    await once(deaf, 'listening');
    cleanup(() => {
      for (const socket of sockets) socket.destroy();
      deaf.close();
    });
    const url = `http://127.0.0.1:${(deaf.address() as { port: number }).port}/`;
    const transport = openHttp({ type: 'http', url, headers: {} }, options);
    transport.start({ message: () => {}, invalid: () => {}, closed: () => {} });
    cleanup(() => transport.close());
    const send = () => transport.send(note('x'.repeat(1024 * 1024)));
    expect(() => {
      for (let n = 0; n < 20; n++) send();
    }).toThrow(expect.objectContaining({ code: 'overloaded', message: expect.stringContaining('does not read') }));
  });

  test('refuses a message over the limit', () => {
    const transport = openHttp(
      { type: 'http', url: 'http://127.0.0.1:9/', headers: {} },
      { ...options, maxBytes: 100 },
    );
    const hint = 'raise "limits.messageBytes" in the config';
    expect(() => transport.send(note('x'.repeat(200)))).toThrow(expect.objectContaining({ code: 'overloaded', hint }));
  });

  test.each([
    ['not a url', 'server "x" has no valid URL'],
    ['ftp://example.test/', 'server "x" has a URL that is neither http nor https'],
  ])('refuses the URL %s', (url, message) => {
    expect(() => openHttp({ type: 'http', url, headers: {} }, options)).toThrow(
      expect.objectContaining({ code: 'config', message }),
    );
  });

  test('names a header that cannot be sent, without its value', async () => {
    const server = await serveHttp();
    const upstream = connection(httpSpec(server.url, { headers: { 'X-Key': 'a\nb' } }));
    const thrown = await failure(upstream.connect());
    expect(thrown).toMatchObject({ code: 'config', message: expect.stringContaining('x-key') });
    expect(thrown.message).not.toContain('a\nb');
  });

  test('refuses a session id that it could not send back', async () => {
    const server = await serveHttp(({ message }, response) => {
      response.setHeader('mcp-session-id', 'a b');
      return json(response, message ?? {}, { protocolVersion: '2025-11-25' });
    });
    expect(await failure(connection(httpSpec(server.url)).connect())).toMatchObject({
      code: 'protocol',
      message: 'server "x" sent a session id that cannot be used',
    });
  });

  test('speaks TLS to an https address, and says so when that fails', async () => {
    const server = await serveHttp();
    const thrown = await failure(connection(httpSpec(server.url.replace('http:', 'https:'))).connect());
    expect(thrown).toMatchObject({ code: 'unreachable', message: expect.stringMatching(/^server "x" broke off: E/) });
    expect(server.seen).toEqual([]);
  });

  test('says of a certificate that it is not trusted, and what to do', () => {
    const error = Object.assign(new Error('self-signed certificate'), { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' });
    expect(networkError('x', 'https://example.test/mcp', error)).toMatchObject({
      code: 'unreachable',
      message: 'server "x" has a certificate that is not trusted: DEPTH_ZERO_SELF_SIGNED_CERT',
      hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
      data: { delivered: false },
    });
  });

  test('counts a host of which no address answers as not reached', () => {
    const error = Object.assign(new AggregateError([]), { code: 'ECONNREFUSED' });
    expect(networkError('x', 'http://localhost/mcp', error)).toMatchObject({
      message: 'server "x" cannot be reached at "http://localhost/mcp": ECONNREFUSED',
      data: { delivered: false },
    });
  });
});
