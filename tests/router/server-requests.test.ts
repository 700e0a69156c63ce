/** Upstream → downstream, and what downstreams keep wanting of upstreams. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { isLogLevel } from '../../src/mcp/log-levels.ts';
import { SILENT } from '../../src/observe/log.ts';
import { createHeartbeat } from '../../src/router/heartbeat.ts';
import {
  answerQuestion,
  type ClientHandle,
  passToCall,
  toClient,
  withServer,
} from '../../src/router/server-requests.ts';
import { createSubscriptions } from '../../src/router/subscriptions.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';
import type { ClientIdentity } from '../../src/upstream/pool.ts';
import type { Incoming } from '../../src/wire/peer.ts';

const incoming = { signal: new AbortController().signal };
const question = (method: string, params = {}) => ({ jsonrpc: '2.0' as const, id: 1, method, params });

describe('questions', () => {
  const asker = (capabilities: Record<string, unknown>, more: Partial<ClientHandle> & { client?: string } = {}) => {
    const asked: unknown[] = [];
    const { client: name, ...others } = more;
    const way = {
      caller: { key: 'k', capabilities, ...(name !== undefined && { clientInfo: { name, version: '1' } }) },
      ...others,
      ask: async (method: string, params: unknown) => {
        asked.push({ method, params });
        return { answer: 42 };
      },
    };
    return { asked, asks: toClient('github', way).onServerRequest! };
  };

  test.each([
    ['roots/list', 'roots'],
    ['sampling/createMessage', 'sampling'],
    ['elicitation/create', 'elicitation'],
  ])('%s goes to a client with %s, and says which server asks', async (method, capability) => {
    const { asked, asks } = asker({ [capability]: {} });
    expect(await asks(question(method, { x: 1, _meta: { y: 2 } }), incoming)).toEqual({ answer: 42 });
    expect(asked).toEqual([{ method, params: { x: 1, _meta: { y: 2, 'dev.mcpx/server': 'github' } } }]);
  });

  const form = { message: 'who?', requestedSchema: {} };
  const page = { mode: 'url', message: 'who?', url: 'https://example.com/', elicitationId: 'e' };
  const says = async (params: object, more: Parameters<typeof asker>[1] = {}) => {
    const { asked, asks } = asker({ elicitation: { form: {}, url: {} } }, more);
    await asks(question('elicitation/create', params), incoming);
    return (asked as { params: object }[])[0]?.params;
  };
  const _meta = { 'dev.mcpx/server': 'github' };

  test.each([
    ['form', form],
    ['page', page],
  ])('a %s that a user is shown begins with the server that asks, once', async (_, params) => {
    const named = { ...params, message: '"github" asks: who?', _meta };
    expect(await says(params)).toEqual(named);
    expect(await says(named)).toEqual(named);
  });

  test('the message of a server that mcpx stands for is left as it is', async () => {
    const more = { isTransparent: () => true, client: 'claude-code' };
    expect(await says(form, more)).toEqual({ ...form, _meta });
  });

  test('Claude Code is told the label of the question, and no other client is', async () => {
    const label = { displayName: 'github', description: 'a server behind mcpx' };
    const spoofed = { ...form, _meta: { 'anthropic/permissionDisplay': { displayName: 'bank' } } };
    for (const params of [form, page, spoofed])
      expect(await says(params, { client: 'claude-code' })).toMatchObject({
        message: '"github" asks: who?',
        _meta: { ..._meta, 'anthropic/permissionDisplay': label },
      });
    expect(await says(form, { client: 'another' })).toEqual({ ...form, message: '"github" asks: who?', _meta });
  });

  test('the messages of a sampling request are not touched', async () => {
    const { asked, asks } = asker({ sampling: {} });
    await asks(question('sampling/createMessage', { message: 'odd' }), incoming);
    expect(asked).toEqual([{ method: 'sampling/createMessage', params: { message: 'odd', _meta } }]);
  });

  test('a client that cannot answer is not asked', async () => {
    const { asked, asks } = asker({});
    await expect(asks(question('sampling/createMessage'), incoming)).rejects.toMatchObject({ code: -32601 });
    expect(asked).toEqual([]);
  });

  test('a client without a way back is an error, not a wait', async () => {
    const { onServerRequest } = toClient('github', { caller: { key: 'k', capabilities: { roots: {} } } });
    await expect(onServerRequest!(question('roots/list'), incoming)).rejects.toMatchObject({ code: -32601 });
  });

  test('other methods are not found', async () => {
    const { asks } = asker({ roots: {} });
    await expect(asks(question('tools/list'), incoming)).rejects.toMatchObject({ code: -32601 });
  });

  test('what belongs to a call is asked, what belongs to none or to several is said as such', async () => {
    const ask = (about?: Incoming['attribution']) =>
      answerQuestion('github', question('roots/list'), { ...incoming, ...(about && { attribution: about }) });
    expect(await ask({ onServerRequest: async () => 'roots' })).toBe('roots');
    await expect(ask()).rejects.toThrow('no call is under way');
    await expect(ask({})).rejects.toThrow('no call is under way');
    await expect(ask({ ambiguous: true })).rejects.toThrow('several calls are under way');
  });

  test('the only client of a connection is asked where no call, or more than one, can be the reason', async () => {
    const owner = async () => 'the owner';
    const ask = (about?: Incoming['attribution']) =>
      answerQuestion('github', question('roots/list'), { ...incoming, ...(about && { attribution: about }) }, owner);
    expect(await ask()).toBe('the owner');
    expect(await ask({})).toBe('the owner');
    expect(await ask({ ambiguous: true })).toBe('the owner');
    expect(await ask({ onServerRequest: async () => 'the call' })).toBe('the call');
  });

  test('messages of a call go to its client', () => {
    const heard: unknown[] = [];
    const way = { caller: { key: 'k', capabilities: {} }, notify: (...said: unknown[]) => heard.push(said) };
    toClient('github', way).onNotification?.({
      jsonrpc: '2.0',
      method: 'notifications/message',
      params: { level: 'info' },
    });
    expect(heard).toEqual([['notifications/message', withServer('github', { level: 'info' })]]);
  });
});

test('a log message, and what mcpx does not know, goes to whom it is about, and nothing else does', () => {
  const heard: unknown[] = [];
  const about = { onNotification: (one: unknown) => heard.push(one) };
  const message = { method: 'notifications/message', params: { level: 'info' } };
  expect(passToCall({ ...message, about }, {})).toBe('passed');
  expect(passToCall({ ...message, about: undefined }, {})).toBeUndefined();
  expect(passToCall({ ...message, about: {} }, {})).toBeUndefined();
  expect(passToCall({ ...message, about: { ambiguous: true } }, {})).toBe('dropped');
  expect(passToCall({ method: 'notifications/resources/updated', params: undefined, about }, {})).toBeUndefined();
  const unknown = { method: 'notifications/acme/changed', params: { x: 1 } };
  expect(passToCall({ ...unknown, about }, {})).toBe('passed');
  expect(passToCall({ ...unknown, about: undefined }, { principals: new Set(['a', 'b']) })).toBe('dropped');
  expect(heard).toEqual([
    { jsonrpc: '2.0', ...message },
    { jsonrpc: '2.0', ...unknown },
  ]);
});

describe('the heartbeat', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('speaks up after silence, always increasing, and stays below the next real step', () => {
    const sent: number[] = [];
    const heart = createHeartbeat(({ progress }) => sent.push(Number(progress)));
    vi.advanceTimersByTime(31_000);
    heart.progress({ progress: 1, total: 3 });
    vi.advanceTimersByTime(14_000);
    heart.progress({ progress: 2, total: 3 });
    vi.advanceTimersByTime(16_000);
    heart.progress({ progress: 3, total: 3 });
    heart.stop();
    vi.advanceTimersByTime(60_000);
    expect(sent).toHaveLength(6);
    expect([...sent].sort((a, b) => a - b)).toEqual(sent);
    expect(new Set(sent).size).toBe(sent.length);
    expect(vi.getTimerCount()).toBe(0);
  });

  test.each([
    ['begins at nothing', [0, 0.5, 2]],
    ['counts bytes', [10_000_000_000, 10_000_000_001]],
    ['counts what hardly fits a number', [2 ** 53 - 4]],
  ])('increases also before a server that %s', (_, own) => {
    const sent: number[] = [];
    const heart = createHeartbeat(({ progress }) => sent.push(Number(progress)));
    for (const progress of own) {
      vi.advanceTimersByTime(31_000);
      heart.progress({ progress });
    }
    vi.advanceTimersByTime(31_000);
    heart.stop();
    expect(sent).toHaveLength(own.length * 3 + 2);
    for (const [index, progress] of sent.entries()) expect(progress).toBeGreaterThan(sent[index - 1] ?? 0);
  });
});

describe('wishes', () => {
  /** Connections by `server` or `server of owner`. */
  function world(states: Record<string, 'ready' | 'idle'>, capabilities: Record<string, unknown> = { logging: {} }) {
    const told: unknown[] = [];
    const connected: string[] = [];
    const connections = Object.entries(states).map(([name, kind]) => ({
      name: name.split(' of ')[0],
      owner: name.split(' of ')[1],
      state: { kind },
      handshake: { capabilities },
      connect: async () => void connected.push(name),
      request: async (method: string, params: unknown) => {
        told.push([name, method, params]);
        if (name === 'rude') throw new Error('no');
      },
    })) as unknown as Connection[];
    const get = (server: string, caller?: ClientIdentity) =>
      connections.find(({ name, owner }) => name === server && owner === caller?.key) ??
      connections.find(({ name, owner }) => name === server && owner === undefined);
    const subscriptions = createSubscriptions({
      pool: { all: () => connections, get, rootsChanged: () => undefined },
      log: SILENT,
    });
    const subscribe = (key: string, asked: string) => {
      const identity = { key, capabilities: {} };
      subscriptions.subscribe(resource, { client: { identity }, asked, via: get(resource.server, identity) });
    };
    return { told, connected, subscriptions, subscribe, connections, first: connections[0] as Connection };
  }
  const resource = { server: 'a', uri: 'x://y' };

  test('a shared subscription ends with its last holder', () => {
    const { subscriptions, subscribe, told } = world({ a: 'ready' });
    subscribe('one', 'as asked');
    subscribe('two', 'as asked');
    expect(subscriptions.wanted(resource, 'one')).toBe('as asked');
    expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
    expect(subscriptions.unsubscribe(resource, 'one')).toBeUndefined();
    expect(subscriptions.wanted(resource, 'one')).toBeUndefined();
    subscriptions.leave('two');
    expect(told).toEqual([['a', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('the most talkative level wins, and filters per downstream', () => {
    const { subscriptions, told } = world({ a: 'ready', b: 'idle', rude: 'ready' });
    subscriptions.setLevel('error', 'one');
    subscriptions.setLevel('debug', 'two');
    expect(told).toEqual([
      ['a', 'logging/setLevel', { level: 'error' }],
      ['rude', 'logging/setLevel', { level: 'error' }],
      ['a', 'logging/setLevel', { level: 'debug' }],
      ['rude', 'logging/setLevel', { level: 'debug' }],
    ]);
    expect([
      subscriptions.hears('info', 'one'),
      subscriptions.hears('error', 'one'),
      subscriptions.hears('info', 'two'),
    ]).toEqual([false, true, true]);
    const heardBy = (holder: string) =>
      ['debug', 'warn', undefined].filter((level) => subscriptions.hears(level, holder));
    expect(heardBy('never set one')).toEqual(['debug', 'warn', undefined]);
    expect([heardBy('one'), heardBy('two')]).toEqual([[], ['debug', 'warn', undefined]]);
    expect([isLogLevel('notice'), isLogLevel('loud'), isLogLevel(3)]).toEqual([true, false, false]);
  });

  test('the level of one downstream takes nothing from another that shares a server with it', () => {
    const { subscriptions, told } = world({ a: 'ready', 'a of two': 'ready' });
    const levels = () => told.splice(0).map((one) => Object.values(one as unknown[]).at(-1));
    subscriptions.join('one');
    expect(levels()).toEqual([]);
    subscriptions.setLevel('emergency', 'two');
    expect(levels()).toEqual([{ level: 'debug' }, { level: 'emergency' }]);
    subscriptions.setLevel('error', 'one');
    expect(levels()).toEqual([{ level: 'error' }]);
    subscriptions.leave('one');
    expect(levels()).toEqual([{ level: 'emergency' }]);
    subscriptions.join('three');
    expect(levels()).toEqual([{ level: 'debug' }]);
    subscriptions.leave('three');
    expect(levels()).toEqual([{ level: 'emergency' }]);
    // Nobody is there: it is left as it is until somebody comes.
    subscriptions.leave('two');
    expect(levels()).toEqual([]);
    subscriptions.join('four');
    expect(levels()).toEqual([{ level: 'debug' }]);
  });

  test('a server that was told no level, or has begun anew, says what it says by itself', () => {
    const { subscriptions, told, first } = world({ a: 'ready' });
    subscriptions.join('one');
    subscriptions.setLevel('error', 'two');
    subscriptions.leave('two');
    told.length = 0;
    subscriptions.connected(first);
    subscriptions.leave('one');
    subscriptions.join('three');
    expect(told).toEqual([]);
  });

  test('a new connection is told the level that somebody wants', () => {
    const { subscriptions, told, first } = world({ a: 'ready' });
    subscriptions.connected(first);
    expect(told).toEqual([]);
    subscriptions.setLevel('warning', 'one');
    told.length = 0;
    subscriptions.connected(first);
    expect(told).toEqual([['a', 'logging/setLevel', { level: 'warning' }]]);
  });

  test('every connection of a server is told, and those of one client what that client wants', () => {
    const { subscriptions, subscribe, told, first } = world({ 'a of one': 'ready', 'a of two': 'ready', a: 'ready' });
    subscriptions.setLevel('error', 'one');
    expect(told).toEqual([
      ['a of one', 'logging/setLevel', { level: 'error' }],
      ['a', 'logging/setLevel', { level: 'error' }],
    ]);
    told.length = 0;
    subscriptions.setLevel('debug', 'two');
    subscriptions.connected(first);
    expect(told).toEqual([
      ['a of two', 'logging/setLevel', { level: 'debug' }],
      ['a', 'logging/setLevel', { level: 'debug' }],
      ['a of one', 'logging/setLevel', { level: 'error' }],
    ]);
    told.length = 0;
    subscribe('one', 'as asked');
    subscriptions.leave('one');
    expect(told).toEqual([['a of one', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('each hears of the connection that it asked, which is told when the last of its own has left', () => {
    const { subscriptions, subscribe, told, connections } = world({ 'a of one': 'ready', a: 'ready' });
    const [own, shared] = connections;
    subscribe('one', 'asked by one');
    subscribe('two', 'asked by two');
    subscribe('three', 'asked by three');
    const heard = (spoke: Connection | undefined) =>
      ['one', 'two'].map((key) => subscriptions.wanted(resource, key, spoke));
    expect(heard(own)).toEqual(['asked by one', undefined]);
    expect(heard(shared)).toEqual([undefined, 'asked by two']);
    expect(subscriptions.unsubscribe(resource, 'one')).toBe(own);
    expect(subscriptions.unsubscribe(resource, 'two')).toBeUndefined();
    subscriptions.leave('three');
    expect(told).toEqual([['a', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('who wants news of something wants those of its parts, of the connection that it asked', () => {
    const { subscriptions, subscribe, connections } = world({ 'a of one': 'ready', a: 'ready' });
    const part = { server: 'a', uri: 'x://y/part' };
    subscribe('one', 'as asked');
    const heard = connections.map((spoke) => subscriptions.wantsWhole(part, 'one', spoke));
    expect(heard).toEqual([true, false]);
    expect(subscriptions.wanted(part, 'one')).toBeUndefined();
    expect([subscriptions.wantsWhole(part, 'two'), subscriptions.wantsWhole({ ...part, server: 'b' }, 'one')]).toEqual([
      false,
      false,
    ]);
    subscriptions.leave('one');
    expect(subscriptions.wantsWhole(part, 'one')).toBe(false);
  });

  test('in the modern era one connection speaks to all', () => {
    const { subscriptions, subscribe, connections } = world({ a: 'ready' });
    const base = { ...connections[0], offered: '', handshake: { era: 'modern' } } as Connection;
    Object.assign(connections[0] as object, { offered: 'sampling' });
    subscribe('one', 'as asked');
    expect(subscriptions.wanted(resource, 'one', base)).toBe('as asked');
  });

  test('what was asked of a server that was replaced is asked of the new one as soon as it is there', () => {
    const { subscriptions, subscribe, told, connections, connected } = world({
      'a of one': 'ready',
      a: 'ready',
      b: 'ready',
    });
    subscribe('one', 'asked by one');
    subscribe('two', 'asked by two');
    const old = connections.splice(0, 2);
    subscriptions.replaced(['a']);
    expect(subscriptions.wanted(resource, 'one', old[0])).toBeUndefined();
    const [own, shared] = old.map((one) => ({ ...one, state: { kind: 'idle' } })) as [Connection, Connection];
    connections.push(own, shared);
    subscriptions.replaced(['a']);
    subscriptions.connected(connections[0] as Connection);
    expect([told, connected]).toEqual([[], ['a of one', 'a']]);
    Object.assign(shared, { state: { kind: 'ready' } });
    subscriptions.connected(shared);
    expect(told).toEqual([['a', 'resources/subscribe', { uri: 'x://y' }]]);
    Object.assign(own, { state: { kind: 'ready' } });
    subscriptions.connected(own);
    expect(told.slice(1)).toEqual([['a of one', 'resources/subscribe', { uri: 'x://y' }]]);
    expect(subscriptions.wanted(resource, 'one', own)).toBe('asked by one');
    expect(subscriptions.unsubscribe(resource, 'two')).toBe(shared);
  });

  test('what one client still waits for is no business of a connection of another', () => {
    const { subscriptions, subscribe, connections, connected } = world({ 'a of one': 'idle', 'a of two': 'ready' });
    subscribe('one', 'asked by one');
    subscriptions.replaced(['a']);
    connected.length = 0;
    subscriptions.connected(connections[1] as Connection);
    expect(connected).toEqual([]);
  });

  test('what the new one refuses is asked again when it is connected the next time, and need not be called off', async () => {
    const rude = { server: 'rude', uri: 'x://y' };
    const { subscriptions, told, first } = world({ rude: 'ready' });
    subscriptions.subscribe(rude, {
      client: { identity: { key: 'one', capabilities: {} } },
      asked: 'as asked',
      via: first,
    });
    subscriptions.replaced(['rude']);
    for (const _ of [1, 2]) {
      subscriptions.connected(first);
      await new Promise(setImmediate);
    }
    expect(told).toHaveLength(2);
    expect(subscriptions.unsubscribe(rude, 'one')).toBeUndefined();
  });

  test('a server without logging is not told a level', () => {
    const { subscriptions, told } = world({ a: 'ready' }, {});
    subscriptions.setLevel('debug', 'one');
    expect(told).toEqual([]);
  });
});
