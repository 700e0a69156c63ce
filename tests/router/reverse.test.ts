/** Upstream → downstream, and what downstreams keep wanting of upstreams. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { SILENT } from '../../src/observe/log.ts';
import { createHeartbeat } from '../../src/router/heartbeat.ts';
import { answerQuestion, passToCall, towards, type WayBack, withServer } from '../../src/router/reverse.ts';
import { createWishes, isLogLevel } from '../../src/router/wishes.ts';
import type { Connection } from '../../src/upstream/connection.ts';
import type { Caller } from '../../src/upstream/pool.ts';
import type { Incoming } from '../../src/wire/peer.ts';

const incoming = { signal: new AbortController().signal };
const question = (method: string, params = {}) => ({ jsonrpc: '2.0' as const, id: 1, method, params });

describe('questions', () => {
  const asker = (capabilities: Record<string, unknown>, more: Partial<WayBack> & { client?: string } = {}) => {
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
    return { asked, asks: towards('github', way).asked! };
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
    const { asked } = towards('github', { caller: { key: 'k', capabilities: { roots: {} } } });
    await expect(asked!(question('roots/list'), incoming)).rejects.toMatchObject({ code: -32601 });
  });

  test('other methods are not found', async () => {
    const { asks } = asker({ roots: {} });
    await expect(asks(question('tools/list'), incoming)).rejects.toMatchObject({ code: -32601 });
  });

  test('what belongs to a call is asked, what belongs to none or to several is said as such', async () => {
    const ask = (about?: Incoming['about']) =>
      answerQuestion('github', question('roots/list'), { ...incoming, ...(about && { about }) });
    expect(await ask({ asked: async () => 'roots' })).toBe('roots');
    await expect(ask()).rejects.toThrow('no call is under way');
    await expect(ask({})).rejects.toThrow('no call is under way');
    await expect(ask({ ambiguous: true })).rejects.toThrow('several calls are under way');
  });

  test('the only client of a connection is asked where no call, or more than one, can be the reason', async () => {
    const owner = async () => 'the owner';
    const ask = (about?: Incoming['about']) =>
      answerQuestion('github', question('roots/list'), { ...incoming, ...(about && { about }) }, owner);
    expect(await ask()).toBe('the owner');
    expect(await ask({})).toBe('the owner');
    expect(await ask({ ambiguous: true })).toBe('the owner');
    expect(await ask({ asked: async () => 'the call' })).toBe('the call');
  });

  test('messages of a call go to its client', () => {
    const heard: unknown[] = [];
    const way = { caller: { key: 'k', capabilities: {} }, notify: (...said: unknown[]) => heard.push(said) };
    towards('github', way).heard?.({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info' } });
    expect(heard).toEqual([['notifications/message', withServer('github', { level: 'info' })]]);
  });
});

test('a log message, and what mcpx does not know, goes to whom it is about, and nothing else does', () => {
  const heard: unknown[] = [];
  const about = { heard: (one: unknown) => heard.push(one) };
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
      hello: { capabilities },
      connect: async () => void connected.push(name),
      request: async (method: string, params: unknown) => {
        told.push([name, method, params]);
        if (name === 'rude') throw new Error('no');
      },
    })) as unknown as Connection[];
    const get = (server: string, caller?: Caller) =>
      connections.find(({ name, owner }) => name === server && owner === caller?.key) ??
      connections.find(({ name, owner }) => name === server && owner === undefined);
    const wishes = createWishes({ pool: { all: () => connections, get }, log: SILENT });
    const subscribe = (key: string, asked: string) => {
      const caller = { key, capabilities: {} };
      wishes.subscribe(resource, { caller, asked, via: get(resource.server, caller) });
    };
    return { told, connected, wishes, subscribe, connections, first: connections[0] as Connection };
  }
  const resource = { server: 'a', uri: 'x://y' };

  test('a shared subscription ends with its last holder', () => {
    const { wishes, subscribe, told } = world({ a: 'ready' });
    subscribe('one', 'as asked');
    subscribe('two', 'as asked');
    expect(wishes.wanted(resource, 'one')).toBe('as asked');
    expect(wishes.unsubscribe(resource, 'one')).toBeUndefined();
    expect(wishes.unsubscribe(resource, 'one')).toBeUndefined();
    expect(wishes.wanted(resource, 'one')).toBeUndefined();
    wishes.leave('two');
    expect(told).toEqual([['a', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('the most talkative level wins, and filters per downstream', () => {
    const { wishes, told } = world({ a: 'ready', b: 'idle', rude: 'ready' });
    wishes.setLevel('error', 'one');
    wishes.setLevel('debug', 'two');
    expect(told).toEqual([
      ['a', 'logging/setLevel', { level: 'error' }],
      ['rude', 'logging/setLevel', { level: 'error' }],
      ['a', 'logging/setLevel', { level: 'debug' }],
      ['rude', 'logging/setLevel', { level: 'debug' }],
    ]);
    expect([wishes.hears('info', 'one'), wishes.hears('error', 'one'), wishes.hears('info', 'two')]).toEqual([
      false,
      true,
      true,
    ]);
    const heardBy = (holder: string) => ['debug', 'warn', undefined].filter((level) => wishes.hears(level, holder));
    expect(heardBy('never set one')).toEqual(['debug', 'warn', undefined]);
    expect([heardBy('one'), heardBy('two')]).toEqual([[], ['debug', 'warn', undefined]]);
    expect([isLogLevel('notice'), isLogLevel('loud'), isLogLevel(3)]).toEqual([true, false, false]);
  });

  test('the level of one downstream takes nothing from another that shares a server with it', () => {
    const { wishes, told } = world({ a: 'ready', 'a of two': 'ready' });
    const levels = () => told.splice(0).map((one) => Object.values(one as unknown[]).at(-1));
    wishes.join('one');
    expect(levels()).toEqual([]);
    wishes.setLevel('emergency', 'two');
    expect(levels()).toEqual([{ level: 'debug' }, { level: 'emergency' }]);
    wishes.setLevel('error', 'one');
    expect(levels()).toEqual([{ level: 'error' }]);
    wishes.leave('one');
    expect(levels()).toEqual([{ level: 'emergency' }]);
    wishes.join('three');
    expect(levels()).toEqual([{ level: 'debug' }]);
    wishes.leave('three');
    expect(levels()).toEqual([{ level: 'emergency' }]);
    // Nobody is there: it is left as it is until somebody comes.
    wishes.leave('two');
    expect(levels()).toEqual([]);
    wishes.join('four');
    expect(levels()).toEqual([{ level: 'debug' }]);
  });

  test('a server that was told no level, or has begun anew, says what it says by itself', () => {
    const { wishes, told, first } = world({ a: 'ready' });
    wishes.join('one');
    wishes.setLevel('error', 'two');
    wishes.leave('two');
    told.length = 0;
    wishes.connected(first);
    wishes.leave('one');
    wishes.join('three');
    expect(told).toEqual([]);
  });

  test('a new connection is told the level that somebody wants', () => {
    const { wishes, told, first } = world({ a: 'ready' });
    wishes.connected(first);
    expect(told).toEqual([]);
    wishes.setLevel('warning', 'one');
    told.length = 0;
    wishes.connected(first);
    expect(told).toEqual([['a', 'logging/setLevel', { level: 'warning' }]]);
  });

  test('every connection of a server is told, and those of one client what that client wants', () => {
    const { wishes, subscribe, told, first } = world({ 'a of one': 'ready', 'a of two': 'ready', a: 'ready' });
    wishes.setLevel('error', 'one');
    expect(told).toEqual([
      ['a of one', 'logging/setLevel', { level: 'error' }],
      ['a', 'logging/setLevel', { level: 'error' }],
    ]);
    told.length = 0;
    wishes.setLevel('debug', 'two');
    wishes.connected(first);
    expect(told).toEqual([
      ['a of two', 'logging/setLevel', { level: 'debug' }],
      ['a', 'logging/setLevel', { level: 'debug' }],
      ['a of one', 'logging/setLevel', { level: 'error' }],
    ]);
    told.length = 0;
    subscribe('one', 'as asked');
    wishes.leave('one');
    expect(told).toEqual([['a of one', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('each hears of the connection that it asked, which is told when the last of its own has left', () => {
    const { wishes, subscribe, told, connections } = world({ 'a of one': 'ready', a: 'ready' });
    const [own, shared] = connections;
    subscribe('one', 'asked by one');
    subscribe('two', 'asked by two');
    subscribe('three', 'asked by three');
    const heard = (spoke: Connection | undefined) => ['one', 'two'].map((key) => wishes.wanted(resource, key, spoke));
    expect(heard(own)).toEqual(['asked by one', undefined]);
    expect(heard(shared)).toEqual([undefined, 'asked by two']);
    expect(wishes.unsubscribe(resource, 'one')).toBe(own);
    expect(wishes.unsubscribe(resource, 'two')).toBeUndefined();
    wishes.leave('three');
    expect(told).toEqual([['a', 'resources/unsubscribe', { uri: 'x://y' }]]);
  });

  test('who wants news of something wants those of its parts, of the connection that it asked', () => {
    const { wishes, subscribe, connections } = world({ 'a of one': 'ready', a: 'ready' });
    const part = { server: 'a', uri: 'x://y/part' };
    subscribe('one', 'as asked');
    const heard = connections.map((spoke) => wishes.wantsWhole(part, 'one', spoke));
    expect(heard).toEqual([true, false]);
    expect(wishes.wanted(part, 'one')).toBeUndefined();
    expect([wishes.wantsWhole(part, 'two'), wishes.wantsWhole({ ...part, server: 'b' }, 'one')]).toEqual([
      false,
      false,
    ]);
    wishes.leave('one');
    expect(wishes.wantsWhole(part, 'one')).toBe(false);
  });

  test('in the modern era one connection speaks to all', () => {
    const { wishes, subscribe, connections } = world({ a: 'ready' });
    const base = { ...connections[0], offered: '', hello: { era: 'modern' } } as Connection;
    Object.assign(connections[0] as object, { offered: 'sampling' });
    subscribe('one', 'as asked');
    expect(wishes.wanted(resource, 'one', base)).toBe('as asked');
  });

  test('what was asked of a server that was replaced is asked of the new one as soon as it is there', () => {
    const { wishes, subscribe, told, connections, connected } = world({ 'a of one': 'ready', a: 'ready', b: 'ready' });
    subscribe('one', 'asked by one');
    subscribe('two', 'asked by two');
    const old = connections.splice(0, 2);
    wishes.replaced(['a']);
    expect(wishes.wanted(resource, 'one', old[0])).toBeUndefined();
    const [own, shared] = old.map((one) => ({ ...one, state: { kind: 'idle' } })) as [Connection, Connection];
    connections.push(own, shared);
    wishes.replaced(['a']);
    wishes.connected(connections[0] as Connection);
    expect([told, connected]).toEqual([[], ['a of one', 'a']]);
    Object.assign(shared, { state: { kind: 'ready' } });
    wishes.connected(shared);
    expect(told).toEqual([['a', 'resources/subscribe', { uri: 'x://y' }]]);
    Object.assign(own, { state: { kind: 'ready' } });
    wishes.connected(own);
    expect(told.slice(1)).toEqual([['a of one', 'resources/subscribe', { uri: 'x://y' }]]);
    expect(wishes.wanted(resource, 'one', own)).toBe('asked by one');
    expect(wishes.unsubscribe(resource, 'two')).toBe(shared);
  });

  test('what one client still waits for is no business of a connection of another', () => {
    const { wishes, subscribe, connections, connected } = world({ 'a of one': 'idle', 'a of two': 'ready' });
    subscribe('one', 'asked by one');
    wishes.replaced(['a']);
    connected.length = 0;
    wishes.connected(connections[1] as Connection);
    expect(connected).toEqual([]);
  });

  test('what the new one refuses is asked again when it is connected the next time, and need not be called off', async () => {
    const rude = { server: 'rude', uri: 'x://y' };
    const { wishes, told, first } = world({ rude: 'ready' });
    wishes.subscribe(rude, { caller: { key: 'one', capabilities: {} }, asked: 'as asked', via: first });
    wishes.replaced(['rude']);
    for (const _ of [1, 2]) {
      wishes.connected(first);
      await new Promise(setImmediate);
    }
    expect(told).toHaveLength(2);
    expect(wishes.unsubscribe(rude, 'one')).toBeUndefined();
  });

  test('a server without logging is not told a level', () => {
    const { wishes, told } = world({ a: 'ready' }, {});
    wishes.setLevel('debug', 'one');
    expect(told).toEqual([]);
  });
});
