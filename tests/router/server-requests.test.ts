/** Requests and notifications of servers, on their way to clients. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { createHeartbeat } from '../../src/router/heartbeat.ts';
import {
  answerQuestion,
  type ClientHandle,
  passToCall,
  toClient,
  withServer,
} from '../../src/router/server-requests.ts';
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
