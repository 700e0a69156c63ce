/** Both eras of the protocol against the official server of the second major, and the rules by which one follows the other. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, test, vi } from 'vitest';
import { McpxError, RpcError } from '../../../src/errors.ts';
import { createMemory, handshake } from '../../../src/upstream/era/era.ts';
import { createEraChannel } from '../../../src/upstream/era/era-channel.ts';
import type { Handshake } from '../../../src/upstream/handshake.ts';
import { createModernHeaders } from '../../../src/upstream/http/request-headers.ts';
import { openLink } from '../../../src/upstream/lifecycle/connect.ts';
import type { ServerNotification } from '../../../src/upstream/upstream-events.ts';
import type { Id, Message } from '../../../src/wire/message.ts';
import type { Receiver } from '../../../src/wire/peer.ts';
import { json, serveHttp, stream, type Wire } from '../http-world.ts';
import { serveSse } from '../sse-world.ts';
import {
  call,
  cleanup,
  connection,
  fixture,
  httpSpec,
  recorder,
  SETTINGS,
  serverSpec,
  stdioSpec,
  stopClock,
  until,
} from '../world.ts';

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error) => error,
  );

const META = 'io.modelcontextprotocol/';

/** The server over HTTP; its address when it listens. */
async function startHttp(...flags: string[]): Promise<{ url: string; said: () => string }> {
  const child = spawn(process.execPath, [fixture('two-eras.mjs'), 'http', ...flags], { stdio: 'pipe' });
  let said = '';
  for (const pipe of [child.stdout, child.stderr]) pipe.on('data', (chunk) => (said += chunk));
  cleanup(async () => {
    child.kill('SIGKILL');
    await once(child, 'exit');
  });
  await until(() => /port \d+/.test(said));
  return { url: `http://127.0.0.1:${/port (\d+)/.exec(said)?.[1]}/mcp`, said: () => said };
}

const overStdio = async (...flags: string[]) => stdioSpec(process.execPath, [fixture('two-eras.mjs'), ...flags]);
const overHttp = async (...flags: string[]) => httpSpec((await startHttp(...flags)).url);
const overAuto = async (...flags: string[]) => httpSpec((await startHttp(...flags)).url, { type: 'auto' });

describe('the official server of the second major', () => {
  test.each([
    ['stdio', overStdio, [], 'legacy'],
    ['stdio', overStdio, ['modern-only'], 'modern'],
    ['http', overHttp, [], 'modern'],
    ['http', overHttp, ['modern-only'], 'modern'],
    ['a URL without a type', overAuto, ['modern-only'], 'modern'],
  ] as const)('over %s (%#) works', async (_, specOf, flags, era) => {
    const upstream = connection(await specOf(...flags));
    const handshake = await upstream.connect();
    expect(handshake).toMatchObject({
      era,
      protocolVersion: era === 'modern' ? '2026-07-28' : '2025-11-25',
      serverInfo: { name: 'second', version: '2.0.0' },
      instructions: 'in two eras',
      capabilities: { tools: { listChanged: true } },
    });
    const { tools } = (await upstream.request('tools/list', {})) as { tools: { name: string }[] };
    expect(tools.map(({ name }) => name)).toContain('echo');
    expect(await call(upstream, 'echo', { word: '中' })).toBe('heard 中');
    expect(await upstream.request('tools/call', { name: 'fail' })).toMatchObject({ isError: true });
    await expect(upstream.request('no/such')).rejects.toMatchObject({ code: -32601 });
    const progress: unknown[] = [];
    const options = { progress: (params: unknown) => progress.push(params) };
    expect(await call(upstream, 'steps', {}, options)).toBe('done');
    expect(progress).toEqual([1, 2, 3].map((n) => expect.objectContaining({ progress: n, total: 3 })));
    expect(upstream.diagnostics().noise).toBe(0);
  });

  test.each([
    ['stdio', overStdio, ['modern-only']],
    ['http', overHttp, ['modern-only']],
  ] as const)('tells changes of its lists over %s in the modern era', async (_, specOf, flags) => {
    const heard: string[] = [];
    const upstream = connection(await specOf(...flags), {
      events: { notification: ({ method }) => heard.push(method) },
    });
    await upstream.connect();
    expect(await call(upstream, 'grow')).toBe('grown');
    await until(() => heard.includes('notifications/tools/list_changed'));
    expect(heard).not.toContain('notifications/subscriptions/acknowledged');
  });

  test.each([
    ['stdio', overStdio],
    ['http', overHttp],
  ] as const)('is subscribed to over %s as in the era before', async (_, specOf) => {
    const heard: unknown[] = [];
    const notification = ({ method, params }: ServerNotification) => {
      if (method === 'notifications/resources/updated') heard.push(params);
    };
    const upstream = connection(await specOf('modern-only'), { events: { notification } });
    const uri = 'test://thing';
    expect(await upstream.request('resources/subscribe', { uri })).toEqual({});
    await call(upstream, 'touch');
    await until(() => heard.length > 0);
    expect(heard[0]).toEqual({ uri });
    expect(await upstream.request('resources/unsubscribe', { uri })).toEqual({});
    expect(await upstream.request('logging/setLevel', { level: 'info' })).toEqual({});
    expect(upstream.diagnostics().noise).toBe(0);
  });

  test('says what it does on behalf of those who want to know, and of nobody else', async () => {
    const said: unknown[] = [];
    const notification = ({ method, params }: ServerNotification) => {
      if (method === 'notifications/message') said.push(params?.data);
    };
    const upstream = connection(await overHttp('modern-only'), { events: { notification } });
    const client = { key: 'k', capabilities: {} };
    expect(await call(upstream, 'log', {}, { client })).toBe('logged');
    expect(said).toEqual([]);
    expect(await call(upstream, 'log', {}, { client: { ...client, logLevel: 'info' } })).toBe('logged');
    expect(said).toEqual(['said']);
  });

  test('hears of a cancelled call in the modern era, by hanging up', async () => {
    const server = await startHttp('modern-only');
    const upstream = connection(httpSpec(server.url));
    await upstream.connect();
    const controller = new AbortController();
    const waiting = failure(call(upstream, 'wait', {}, { signal: controller.signal }));
    await until(() => server.said().includes('waiting'));
    controller.abort();
    expect(await waiting).toMatchObject({ code: 'cancelled' });
    await until(() => server.said().includes('aborted'));
    expect(await call(upstream, 'echo', { word: 'on' })).toBe('heard on');
    expect(upstream.diagnostics().noise).toBe(0);
  });

  test('gets what its tools want in headers, also before anybody has listed them', async () => {
    const upstream = connection(await overHttp('modern-only'));
    expect(await call(upstream, 'where', { region: 'Zürich' })).toBe('in Zürich');
    await upstream.request('tools/list', {});
    expect(await call(upstream, 'where', { region: 'bern' })).toBe('in bern');
  });

  test('asks who made the call, if that one can be asked, and gets the answer in the same call', async () => {
    const upstream = connection(await overStdio('modern-only'));
    const onServerRequest = async ({ method, params }: any) => {
      expect([method, params.message]).toEqual(['elicitation/create', 'who?']);
      return { action: 'accept', content: { name: 'Ada' } };
    };
    const client = { key: 'k', capabilities: { elicitation: { form: {} } } };
    expect(await call(upstream, 'ask', {}, { client, onServerRequest })).toBe('accept Ada');
    const unable = { key: 'k', capabilities: { sampling: {} } };
    await expect(call(upstream, 'ask', {}, { client: unable, onServerRequest })).rejects.toMatchObject({
      code: -32021,
    });
    await expect(call(upstream, 'ask', {}, { onServerRequest })).rejects.toMatchObject({ code: -32021 });
  });
});

describe('every modern request', () => {
  const modern = (result: object = {}) =>
    serveHttp(({ verb, message }, response) => {
      if (verb !== 'POST' || message?.id === undefined) return false;
      if (message.method === 'server/discover') {
        return json(response, message, { supportedVersions: ['2026-07-28'], capabilities: { tools: {} }, ...result });
      }
      if (message.method === 'subscriptions/listen') return stream(response);
      return json(response, message, { resultType: 'complete', content: [], seen: message.params });
    });

  test('says who we are, in its body and its headers, and needs no session', async () => {
    const server = await modern();
    const upstream = connection(httpSpec(server.url, { headers: { 'X-Key': 'k' } }));
    const result = await upstream.request('tools/call', { name: 'ä', arguments: {}, _meta: { own: 1 } });
    expect(result).toEqual({
      resultType: 'complete',
      content: [],
      seen: {
        name: 'ä',
        arguments: {},
        _meta: {
          own: 1,
          [`${META}protocolVersion`]: '2026-07-28',
          [`${META}clientCapabilities`]: {},
          [`${META}clientInfo`]: { name: 'mcpx', version: '0.0.0-test' },
        },
      },
    });
    await upstream.close();
    expect(server.asked()).toEqual(['POST server/discover', 'POST tools/call']);
    expect(server.seen[1]?.headers).toMatchObject({
      'x-key': 'k',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': `=?base64?${Buffer.from('ä').toString('base64')}?=`,
    });
    expect(server.seen[1]?.headers['mcp-session-id']).toBeUndefined();
  });

  test('works when the server says no more of itself than it must', async () => {
    const server = await modern({ serverInfo: { name: 'plain' } });
    expect(await connection(httpSpec(server.url)).connect()).toEqual({
      conversation: expect.any(String),
      era: 'modern',
      protocolVersion: '2026-07-28',
      capabilities: { tools: {} },
      serverInfo: { name: 'plain', version: '' },
    });
  });

  test('a lost conversation does not wait for its subscription', async () => {
    const server = await modern({ capabilities: { tools: { listChanged: true } } });
    const upstream = connection(httpSpec(server.url, { reconnect: { interval: 1, maxRetries: 10 } }));
    await upstream.connect();
    await until(() => server.asked().includes('POST subscriptions/listen'));
    await server.stop();
    await server.start();
    expect(await upstream.request('tools/call', { name: 'a' })).toMatchObject({ content: [] });
  });
});

describe('the other era', () => {
  const sent = (server: { asked(): string[] }) => server.asked().filter((what) => /discover|initialize$/.test(what));

  test.each([
    ['a status without words', 400, ''],
    ['a status that is often used for it', 404, 'not found'],
    ['a failure of its own', 500, 'oops'],
    ['an error in words', 400, '{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"no session"}}'],
    ['something that is no answer', 200, '<html>'],
  ])('follows over HTTP when the modern one is answered with %s', async (_, status, body) => {
    const server = await serveHttp(({ message }, response) => {
      if (message?.method !== 'server/discover') return false;
      return response.writeHead(status, { 'content-type': 'text/plain' }).end(body);
    });
    expect((await connection(httpSpec(server.url)).connect()).era).toBe('legacy');
    expect(sent(server)).toEqual(['POST server/discover', 'POST initialize']);
  });

  test('follows over HTTP when the modern one is met with silence', async () => {
    const server = await serveHttp(({ message }) => (message?.method === 'server/discover' ? undefined : false));
    stopClock();
    const connecting = connection(httpSpec(server.url, { startupTimeout: 600 })).connect();
    await until(() => sent(server).includes('POST server/discover'));
    await vi.advanceTimersByTimeAsync(300);
    expect((await connecting).era).toBe('legacy');
  });

  test.each([401, 403])('does not follow when the first is refused with %i', async (status) => {
    const server = await serveHttp((_, response) => response.writeHead(status).end());
    expect(await failure(connection(httpSpec(server.url)).connect())).toMatchObject({ code: 'auth' });
    expect(sent(server)).toEqual(['POST server/discover']);
  });

  test('is not asked for in the same process where the legacy handshake works', async () => {
    const upstream = connection(serverSpec());
    expect((await upstream.connect()).era).toBe('legacy');
  });

  const open = async (
    spec: Parameters<typeof openLink>[0]['spec'],
    remembered?: Pick<Handshake, 'era' | 'transport'>,
  ) => {
    const link = await openLink({
      spec,
      settings: SETTINGS,
      log: recorder().log,
      recall: () => remembered,
      signal: new AbortController().signal,
      opened: (transport) => cleanup(() => transport.close({ eof: 100, term: 100 })),
      handlers: {},
    });
    return link.handshake;
  };

  test.each([
    ['legacy', 'modern', ['POST initialize', 'POST server/discover']],
    ['modern', 'modern', ['POST server/discover']],
  ] as const)('is tried first where it is remembered (%s)', async (era, found, asked) => {
    const server = await serveHttp(({ message }, response) => {
      if (message?.method === 'server/discover') {
        return json(response, message, { supportedVersions: ['2026-07-28'], capabilities: {} });
      }
      const error = { code: -32022, message: 'other version', data: { supported: ['2026-07-28'] } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: message?.id, error });
      return response.writeHead(400, { 'content-type': 'application/json' }).end(body);
    });
    expect((await open(httpSpec(server.url, { type: 'auto' }), { era, transport: 'http' })).era).toBe(found);
    expect(sent(server)).toEqual(asked);
  });

  test('that is remembered over stdio is tried in the same process, and so is the one after it', async () => {
    expect((await open(await overStdio(), { era: 'modern' })).era).toBe('modern');
    expect((await open(serverSpec(), { era: 'modern' })).era).toBe('legacy');
  });

  test('is not blamed for what the legacy one said', async () => {
    const error = (await failure(connection(serverSpec(['refuse-init'])).connect())) as Error;
    expect(error.message).toBe('server "x" refused "initialize": go away');
  });
});

describe('what is remembered', () => {
  const handshake = (era: Handshake['era']): Handshake => ({
    era,
    protocolVersion: '1',
    capabilities: {},
    serverInfo: { name: 'n', version: '1' },
  });

  test('is the last conversation, else what was stored; and each is tried once', () => {
    let latest: Handshake | undefined;
    const stored = { era: 'modern' as const, transport: 'sse' as const };
    const memory = createMemory(
      () => stored,
      () => latest,
    );
    const spec = serverSpec();
    expect([memory(spec), memory(spec)]).toEqual([stored, undefined]);
    latest = handshake('legacy');
    expect([memory(spec), memory(spec)]).toEqual([latest, undefined]);
    latest = handshake('legacy');
    expect(memory(spec)).toBe(latest);
  });

  test('spares a URL without a type the wrong transport, in this process and in the next', async () => {
    const server = await serveSse(({ message }, response, stream) => {
      if (message?.params?.name !== 'cut') return false;
      response.writeHead(202).end();
      return stream?.destroy();
    });
    const posts = () => server.seen.filter(({ verb, path }) => verb === 'POST' && path === '/sse').length;
    const spec = httpSpec(server.url, { type: 'auto', reconnect: { interval: 1, maxRetries: 10 } });
    const first = connection(spec);
    expect(await first.connect()).toMatchObject({ era: 'legacy', transport: 'sse' });
    expect(posts()).toBe(2);
    await failure(call(first, 'cut'));
    expect(await call(first, 'echo', { n: 1 })).toEqual({ n: 1 });
    const next = connection(spec, { recall: () => first.handshake });
    expect(await call(next, 'echo', { n: 2 })).toEqual({ n: 2 });
    expect(posts()).toBe(2);
  });

  test('does no harm where a server has become another one', async () => {
    const server = await serveHttp();
    const recall = () => ({ era: 'legacy' as const, transport: 'sse' as const });
    const upstream = connection(httpSpec(server.url, { type: 'auto' }), { recall });
    expect(await call(upstream, 'echo', { n: 3 })).toEqual({ n: 3 });
    expect(upstream.handshake?.transport).toBe('http');
  });
});

describe('a handshake', () => {
  const opening = { name: 'x', capabilities: {}, first: 'modern' as const, timeout: 1000 };
  const channel = { speak: () => undefined, listen: () => undefined };
  const asker = (answers: Record<string, unknown>) => ({
    request: async (method: string) => {
      if (answers[method] instanceof Error) throw answers[method];
      return answers[method];
    },
    notify: () => undefined,
  });
  const legacy = { protocolVersion: '2025-11-25' };

  test.each([
    [{ supportedVersions: ['2099-01-01'] }],
    [{ supportedVersions: 'all' }],
    ['yes'],
    [new RpcError(-32022, 'no', { supported: ['2025-11-25'] })],
    [new McpxError('timeout', 'nothing')],
    [new McpxError('protocol', 'odd')],
  ])('goes on with the legacy one after %j', async (answer) => {
    const peer = asker({ 'server/discover': answer, initialize: legacy });
    expect((await handshake(peer, { ...opening, channel })).era).toBe('legacy');
  });

  test('does not go on when nobody is there', async () => {
    const gone = new McpxError('unreachable', 'gone');
    const peer = asker({ 'server/discover': gone, initialize: legacy });
    expect(await failure(handshake(peer, { ...opening, channel }))).toBe(gone);
  });
});

function channel() {
  const sent: Message[] = [];
  const got: [Message, Id | undefined][] = [];
  let far: Receiver | undefined;
  const inner = {
    start(receiver: Receiver) {
      far = receiver;
    },
    send: (message: Message) => void sent.push(message),
    close: async () => undefined,
  };
  const eras = createEraChannel(inner);
  const failed: Id[] = [];
  const errors: Error[] = [];
  eras.start({
    message: (message, origin) => got.push([message, origin]),
    invalid: () => undefined,
    failed(id, error) {
      failed.push(id);
      errors.push(error);
    },
    closed: () => undefined,
  });
  cleanup(() => eras.close());
  return { eras, sent, got, failed, errors, far: far as unknown as Required<Receiver> };
}
const ids = (sent: Message[]) => sent.map((message) => 'id' in message && message.id);

describe('the subscription to changes', () => {
  test('is asked for where a list can change, and again when it ends', async () => {
    const { eras, sent, got, far } = channel();
    eras.speak({});
    eras.listen({ tools: {}, prompts: { listChanged: false } });
    expect(sent).toEqual([]);
    eras.listen({ tools: { listChanged: true }, resources: { listChanged: true } });
    expect(sent[0]).toMatchObject({
      params: { notifications: { toolsListChanged: true, resourcesListChanged: true } },
    });
    far.message({ jsonrpc: '2.0', method: 'notifications/subscriptions/acknowledged' }, 'mcpx-listen-1');
    const change = { jsonrpc: '2.0' as const, method: 'notifications/tools/list_changed' };
    far.message(change, 'mcpx-listen-1');
    expect(got).toEqual([[change, undefined]]);
    far.message({ jsonrpc: '2.0', id: 'mcpx-listen-1', result: {} });
    await until(() => sent.length === 2);
    expect(ids(sent)).toEqual(['mcpx-listen-1', 'mcpx-listen-2']);
  });

  test('is given up when the upstream refuses it in words, and passes the failures of others on', async () => {
    const { eras, sent, failed, far } = channel();
    eras.speak({});
    eras.listen({ tools: { listChanged: true } });
    far.failed('mcpx-listen-1', new RpcError(-32601, 'no'));
    far.failed(7, new Error('other'));
    far.closed();
    expect([ids(sent), failed]).toEqual([['mcpx-listen-1'], [7]]);
  });
});

describe('a call whose headers are refused', () => {
  const refusal = new RpcError(-32020, 'headers and body disagree');
  const call: Message = { jsonrpc: '2.0', id: 5, method: 'tools/call', params: { name: 't' } };

  function refused() {
    const world = channel();
    world.eras.speak({ who: 'we' });
    world.eras.send(call);
    world.far.failed(5, refusal);
    return world;
  }

  test('is sent again once, after the whole list was seen', () => {
    const { sent, failed, far } = refused();
    far.message({ jsonrpc: '2.0', id: 'mcpx-list-1', result: { tools: [], nextCursor: '' } });
    far.message({ jsonrpc: '2.0', id: 'mcpx-list-2', result: { tools: [] } });
    expect(ids(sent)).toEqual([5, 'mcpx-list-1', 'mcpx-list-2', 5]);
    expect(sent[3]).toEqual({ ...call, params: { name: 't', _meta: { who: 'we' } } });
    far.failed(5, refusal);
    expect(failed).toEqual([5]);
  });

  test('fails when the list does', () => {
    const { far, failed } = refused();
    far.failed('mcpx-list-1', new Error('no'));
    expect(failed).toEqual([5]);
  });

  test('that is given up meanwhile is not sent again', () => {
    const { eras, far, sent } = refused();
    eras.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } });
    far.message({ jsonrpc: '2.0', id: 'mcpx-list-1', result: { tools: [] } });
    expect(ids(sent)).toEqual([5, 'mcpx-list-1', false]);
  });
});

describe('headers that repeat arguments', () => {
  const request = (args: unknown): Wire & Message => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 't', arguments: args as never, _meta: { [`${META}protocolVersion`]: '2026-07-28' } },
  });
  const properties = {
    a: { type: 'string', 'x-mcp-header': 'A' },
    deep: { type: 'object', properties: { n: { type: 'integer', 'x-mcp-header': 'Deep-N' } } },
    list: { type: 'array', items: { type: 'string' } },
    odd: { description: 'said in the body only' },
  };

  test.each([
    [
      { a: 'x', deep: { n: 3 }, list: ['y'], odd: 'z' },
      { 'mcp-param-a': 'x', 'mcp-param-deep-n': '3' },
    ],
    [{ a: true }, { 'mcp-param-a': 'true' }],
    [{ a: null, deep: 'no' }, {}],
    [{ a: ' padded ' }, { 'mcp-param-a': `=?base64?${Buffer.from(' padded ').toString('base64')}?=` }],
    [{ a: '=?base64?x?=' }, { 'mcp-param-a': `=?base64?${Buffer.from('=?base64?x?=').toString('base64')}?=` }],
    [{ a: '' }, { 'mcp-param-a': '=?base64??=' }],
    [undefined, {}],
  ])('%j', (args, expected) => {
    const headers = createModernHeaders(() => undefined);
    headers.learn({ tools: [{ name: 't', inputSchema: { properties } }, 'odd'] });
    const base = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 't' };
    expect(headers.of(request(args))).toEqual({ ...base, ...expected });
    headers.learn({ tools: [{ name: 't', inputSchema: {} }] });
    headers.learn('odd');
    expect(headers.of(request(args))).toEqual(base);
  });

  test('are none in the legacy era', () => {
    const headers = createModernHeaders(() => undefined);
    expect(headers.of({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 't' } })).toEqual({});
    expect(headers.of({ jsonrpc: '2.0', id: 1, result: {} })).toEqual({});
  });
});
