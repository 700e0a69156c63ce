/** MCP of 2026-07-28 over stdio, beside the era before it on the same streams. */
import { PassThrough } from 'node:stream';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { DEFAULTS } from '../../../src/config/config.ts';
import type { ClientSession } from '../../../src/front/front-interface.ts';
import { listenStdio } from '../../../src/listen/stdio.ts';
import { SILENT } from '../../../src/observe/log.ts';
import type { RequestOptions } from '../../../src/wire/peer.ts';
import { stopClock } from '../../setup/clock.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const META = 'io.modelcontextprotocol/';
const SUBSCRIPTION = `${META}subscriptionId`;
const envelope = (capabilities: object = { elicitation: {} }, more = {}) => ({
  [`${META}protocolVersion`]: '2026-07-28',
  [`${META}clientCapabilities`]: capabilities,
  [`${META}clientInfo`]: { name: 'modern', version: '1' },
  ...more,
});

function start(script: Script = {}) {
  const settings = { ...DEFAULTS, naming: { ...DEFAULTS.naming, style: 'plain' as const, resources: 'keep' as const } };
  const world = createWorld({ one: { tools: [{ name: 'work' }], ...script } }, { settings });
  const input = new PassThrough();
  const output = new PassThrough();
  const lines: any[] = [];
  let rest = '';
  let wake: () => void = () => undefined;
  output.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    lines.push(...parts.map((line) => JSON.parse(line)));
    wake();
  });
  const stop = new AbortController();
  const fronts = new Set<ClientSession>();
  const done = listenStdio({
    gateway: {
      open({ downstream }) {
        const identity = { key: downstream.key, capabilities: {} };
        const front = openFront('aggregate', { ...world.deps, identity }, downstream);
        fronts.add(front);
        return {
          front,
          close() {
            front.close();
            fronts.delete(front);
          },
        };
      },
    },
    profile: 'default',
    stop: stop.signal,
    maxBytes: 1_000_000,
    log: SILENT,
    input,
    output,
  });
  const send = (...messages: object[]) =>
    input.write(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''));
  const line = async (fits: (line: any) => boolean) => {
    for (;;) {
      const at = lines.findIndex(fits);
      if (at >= 0) return lines.splice(at, 1)[0];
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  let ids = 0;
  const ask = async (method: string, params: object = {}, meta: object | undefined = envelope()) => {
    const id = `r${++ids}`;
    send({ id, method, params: meta === undefined ? params : { ...params, _meta: meta } });
    return line((one) => one.id === id);
  };
  const end = async () => {
    input.end();
    await done;
  };
  return { world, lines, fronts, send, line, ask, end };
}

test('server/discover is answered, and every request stands for itself', async () => {
  const { ask, end, lines, fronts } = start({ answer: () => ({ content: [{ type: 'text', text: 'done' }] }) });
  const { result } = await ask('server/discover');
  expect(result).toMatchObject({
    resultType: 'complete',
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: {} },
  });
  expect((await ask('tools/list')).result.tools).toMatchObject([{ name: 'work' }]);
  expect((await ask('tools/call', { name: 'work' })).result).toMatchObject({
    resultType: 'complete',
    content: [{ text: 'done' }],
  });
  // One for the streams, one for what the client says of itself.
  expect(fronts.size).toBe(2);
  await end();
  expect([fronts.size, lines]).toEqual([0, []]);
});

describe('a request is refused', () => {
  test.each<[title: string, method: string, params: object, meta: object | undefined, code: number]>([
    ['without its envelope', 'server/discover', {}, {}, -32602],
    ['in another version', 'tools/list', {}, envelope({}, { [`${META}protocolVersion`]: '2099-01-01' }), -32022],
    ['for a method of the era before', 'ping', {}, envelope(), -32601],
    ['for a method that never was', 'nope', {}, envelope(), -32601],
    ['with a forged state', 'tools/call', { name: 'work', requestState: 'x' }, envelope(), -32602],
    ['for a stream of nothing', 'subscriptions/listen', {}, envelope(), -32602],
    ['for a tool that is not there', 'tools/call', { name: 'none' }, envelope(), -32602],
  ])('%s', async (_, method, params, meta, code) => {
    const { ask, end } = start();
    expect((await ask(method, params, meta)).error.code).toBe(code);
    await end();
  });
});

test('both eras are spoken on the same streams', async () => {
  const { ask, end } = start();
  expect((await ask('server/discover')).result.resultType).toBe('complete');
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
  expect((await ask('initialize', params, {})).result.protocolVersion).toBe('2025-06-18');
  expect((await ask('ping', {}, {})).result).toEqual({});
  expect((await ask('tools/list')).result.resultType).toBe('complete');
  await end();
});

test.each(['2026-07-28', '2099-01-01'])(
  'one that asked for %s and begins a session hears its news',
  async (version) => {
    const { ask, send, line, end, fronts } = start();
    await ask('server/discover', {}, envelope({}, { [`${META}protocolVersion`]: version }));
    const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'old', version: '1' } };
    await ask('initialize', params, {});
    send({ method: 'notifications/initialized' });
    await ask('tools/list', {}, {});
    for (const front of fronts) front.changed(['tools']);
    expect(await line(({ method }) => method !== undefined)).toMatchObject({
      method: 'notifications/tools/list_changed',
    });
    await end();
  },
);

test('a question of a server is a result, its answer comes with the same request, and nothing is asked on the stream', async () => {
  const { ask, end, lines } = start({
    answer: async (_method, _params, { onServerRequest }) => {
      const question = { jsonrpc: '2.0' as const, id: 1, method: 'elicitation/create', params: { message: 'who?' } };
      return { got: await onServerRequest?.(question, { signal: new AbortController().signal }) };
    },
  });
  const { result } = await ask('tools/call', { name: 'work' });
  expect(result.resultType).toBe('input_required');
  const [[key, question]] = Object.entries<any>(result.inputRequests) as [[string, any]];
  expect([question.method, question.params.message]).toEqual(['elicitation/create', 'who?']);
  const inputResponses = { [key]: { action: 'accept' } };
  const answered = await ask('tools/call', { name: 'work', inputResponses, requestState: result.requestState });
  expect(answered.result.got).toEqual({ action: 'accept' });
  expect(lines).toEqual([]);
  await end();
});

test('progress and wanted log messages come before the answer; a cancelled request is told upstream and gets none', async () => {
  let cancelled: () => void = () => undefined;
  const seen = new Promise<void>((resolve) => {
    cancelled = resolve;
  });
  const { send, line, ask, end, lines } = start({
    answer: (_method, params: any, { signal, progress, onNotification }) => {
      progress?.({ progress: 1 });
      onNotification?.({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'x' } });
      if (!params.arguments?.wait) return { content: [] };
      return new Promise((_, reject) => {
        signal?.addEventListener('abort', () => {
          cancelled();
          reject(new Error('stop'));
        });
      });
    },
  });
  await ask('tools/call', { name: 'work' }, envelope({}, { progressToken: 't' }));
  expect(lines.map(({ method }) => method)).toEqual(['notifications/progress']);
  lines.length = 0;
  await ask('tools/call', { name: 'work' }, envelope({}, { [`${META}logLevel`]: 'debug' }));
  expect(lines.map(({ method }) => method)).toEqual(['notifications/message']);
  lines.length = 0;
  const params = { name: 'work', arguments: { wait: true }, _meta: envelope({}, { progressToken: 'u' }) };
  send({ id: 'c', method: 'tools/call', params });
  await line(({ method }) => method === 'notifications/progress');
  send({ method: 'notifications/cancelled', params: { requestId: 'c' } });
  await seen;
  await end();
  expect(lines).toEqual([]);
});

test('a cancellation in one piece with its request is heard: nothing is asked of the server', async () => {
  const { world, ask, end, send, lines } = start({ answer: () => ({ content: [] }) });
  const call = { id: 'c', method: 'tools/call', params: { name: 'work', _meta: envelope() } };
  send(call, { method: 'notifications/cancelled', params: { requestId: 'c' } });
  await ask('tools/list');
  expect(world.sent.filter(({ method }) => method === 'tools/call')).toEqual([]);
  await end();
  expect(lines).toEqual([]);
});

test('each request under way has a level of its own', async () => {
  const calls: { heard: NonNullable<RequestOptions['onNotification']>; end(): void }[] = [];
  const { send, line, end, lines } = start({
    answer: (_method, _params, { onNotification = () => undefined }) =>
      new Promise((resolve) => calls.push({ heard: onNotification, end: () => resolve({ content: [] }) })),
  });
  const levels = ['error', 'debug', 'alert'];
  for (const [index, level] of levels.entries()) {
    const meta = envelope({}, { [`${META}logLevel`]: level });
    send({ id: level, method: 'tools/call', params: { name: 'work', _meta: meta } });
    await expect.poll(() => calls.length).toBe(index + 1);
  }
  const unwanted: string[] = [];
  for (const [index, { heard }] of calls.entries()) {
    for (const level of ['debug', 'error']) {
      const data = `${level} of ${index}`;
      // Another request of the same client may want what this one does not.
      if (heard({ jsonrpc: '2.0', method: 'notifications/message', params: { level, data } }) === false)
        unwanted.push(data);
    }
  }
  expect(unwanted).toEqual(['debug of 0', 'debug of 2', 'error of 2']);
  await expect.poll(() => lines.length).toBe(3);
  expect(lines.splice(0).map(({ params }) => params.data)).toEqual(['error of 0', 'debug of 1', 'error of 1']);
  for (const call of calls) call.end();
  for (const id of levels) await line((one) => one.id === id);
  await end();
});

describe('a client', () => {
  const called = (name: string) => ({ name: 'work', _meta: envelope({}, { [`${META}clientInfo`]: { name } }) });
  const names = Array.from({ length: 10 }, (_, index) => `client ${index}`);

  test('is the same whatever log messages its requests want', async () => {
    const { ask, end, fronts } = start({ answer: () => ({ content: [] }) });
    for (const level of [undefined, 'debug', 'info', 'notice', 'warning', 'error'])
      await ask('tools/call', { name: 'work' }, envelope({}, level && { [`${META}logLevel`]: level }));
    expect(fronts.size).toBe(2);
    await end();
  });

  test('that keeps saying something else of itself has so many fronts, and those of requests under way', async () => {
    const calls: (() => void)[] = [];
    const { send, line, end, fronts } = start({
      answer: () => new Promise((resolve) => calls.push(() => resolve({ content: [] }))),
    });
    for (const id of names) send({ id, method: 'tools/call', params: called(id) });
    await expect.poll(() => calls.length).toBe(10);
    expect(fronts.size).toBe(11);
    for (const finish of calls) finish();
    for (const id of names) await line((one) => one.id === id);
    expect(fronts.size).toBe(9);
    await end();
    expect(fronts.size).toBe(0);
  });
});

describe('a subscription', () => {
  const capabilities = { tools: {}, resources: { subscribe: true } };
  const listed = { resources: [{ uri: 'test://a' }, { uri: 'test://b' }] };
  const answer: Script['answer'] = (method) => (method === 'resources/list' ? listed : {});
  const listen = (notifications: object) => ({
    method: 'subscriptions/listen',
    params: { notifications, _meta: envelope() },
  });

  test('is acknowledged, tells what it is for under its id, and ends with the streams', async () => {
    const { world, send, line, end, fronts, lines } = start({ capabilities, answer });
    const wish = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['test://a'] };
    send({ id: 's', ...listen(wish) });
    expect(await line(({ method }) => method?.endsWith('acknowledged'))).toMatchObject({
      params: {
        notifications: { toolsListChanged: true, resourceSubscriptions: ['test://a'] },
        _meta: { [SUBSCRIPTION]: 's' },
      },
    });
    for (const front of fronts) {
      front.changed(['tools', 'resources']);
      for (const uri of ['test://a', 'test://b'])
        front.onNotification('one', 'notifications/resources/updated', { uri });
    }
    const updated = await line(({ method }) => method === 'notifications/resources/updated');
    expect(updated.params).toMatchObject({ uri: 'test://a', _meta: { [SUBSCRIPTION]: 's' } });
    const changed = await line(({ method }) => method === 'notifications/tools/list_changed');
    expect(changed.params._meta).toEqual({ [SUBSCRIPTION]: 's' });
    stopClock();
    onTestFinished(() => void vi.useRealTimers());
    // The clock is moved by 20 ms only, so an end that waits for longer never comes.
    const ended = end();
    await vi.advanceTimersByTimeAsync(20);
    await ended;
    expect(lines).toMatchObject([{ id: 's', result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 's' } } }]);
    expect(world.sent.map(({ method }) => method)).toContain('resources/unsubscribe');
  });

  test('tells of the parts of what it is for, and of those of nothing else', async () => {
    const { send, line, end, fronts, lines, ask } = start({ capabilities, answer });
    for (const uri of ['test://a', 'test://b', 'test://a/part']) {
      send({ id: uri, ...listen({ resourceSubscriptions: [uri] }) });
      await line(({ method }) => method?.endsWith('acknowledged'));
    }
    for (const front of fronts) {
      front.onNotification('one', 'notifications/resources/updated', { uri: 'test://a/part' });
      front.onNotification('one', 'notifications/resources/updated', { uri: 'test://b/part' });
    }
    await ask('tools/list');
    expect(lines.map(({ params }) => [params._meta[SUBSCRIPTION], params.uri])).toEqual([
      ['test://a', 'test://a/part'],
      ['test://a/part', 'test://a/part'],
      ['test://b', 'test://b/part'],
    ]);
    await end();
  });

  test('tells what came in one piece with the answer of the server, after the acknowledgement', async () => {
    const early: Script['answer'] = (method, params, options) => {
      if (method === 'resources/subscribe')
        for (const front of fronts)
          front.onNotification('one', 'notifications/resources/updated', { uri: params?.uri });
      return answer(method, params, options);
    };
    const { send, line, end, fronts, lines } = start({ capabilities, answer: early });
    send({ id: 's', ...listen({ resourceSubscriptions: ['test://a'] }) });
    const updated = await line(({ method }) => method === 'notifications/resources/updated');
    expect(updated.params).toMatchObject({ uri: 'test://a', _meta: { [SUBSCRIPTION]: 's' } });
    expect(lines).toMatchObject([{ method: 'notifications/subscriptions/acknowledged' }]);
    await end();
  });

  test('ends when the client cancels it; what others want goes on', async () => {
    const { world, send, line, end, fronts, lines, ask } = start({ capabilities, answer });
    const wish = { resourceSubscriptions: ['test://a'] };
    for (const id of ['s', 't']) {
      send({ id, ...listen(wish) });
      await line(({ method }) => method?.endsWith('acknowledged'));
    }
    send({ method: 'notifications/cancelled', params: { requestId: 's' } });
    await ask('tools/list');
    for (const front of fronts) front.onNotification('one', 'notifications/resources/updated', { uri: 'test://a' });
    await ask('tools/list');
    expect(lines.map(({ params }) => params._meta[SUBSCRIPTION])).toEqual(['t']);
    const unsubscribed = () => world.sent.some(({ method }) => method === 'resources/unsubscribe');
    expect(unsubscribed()).toBe(false);
    send({ method: 'notifications/cancelled', params: { requestId: 't' } });
    await expect.poll(unsubscribed).toBe(true);
    await end();
  });

  test('goes on whatever else its client says of itself', async () => {
    const { send, line, end, fronts, ask } = start({ capabilities, answer });
    send({ id: 's', ...listen({ resourceSubscriptions: ['test://a'] }) });
    await line(({ method }) => method?.endsWith('acknowledged'));
    for (let index = 0; index < 10; index += 1)
      await ask('tools/list', {}, envelope({}, { [`${META}clientInfo`]: { name: `client ${index}` } }));
    for (const front of fronts) front.onNotification('one', 'notifications/resources/updated', { uri: 'test://a' });
    const updated = await line(({ method }) => method === 'notifications/resources/updated');
    expect(updated.params).toMatchObject({ uri: 'test://a', _meta: { [SUBSCRIPTION]: 's' } });
    await end();
  });

  test('to nothing ends at once', async () => {
    const { ask, end } = start();
    expect((await ask('subscriptions/listen', { notifications: {} })).result.resultType).toBe('complete');
    await end();
  });
});
