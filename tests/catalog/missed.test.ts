/** A name that is not known makes a server be asked again, within bounds. */
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { ClientSession } from '../../src/front/front-interface.ts';
import { CALLER, createWorld, openFront, type Script } from '../world.ts';

/** A server that has more tools each time that somebody adds one, and counts how often it is asked. */
function growing(): Script & { names: string[]; lists: number } {
  const script = {
    names: ['old'],
    lists: 0,
    answer(method: string) {
      if (method !== 'tools/list') return undefined;
      script.lists++;
      return { tools: script.names.map((name) => ({ name, inputSchema: { type: 'object' } })) };
    },
  };
  return script;
}

const call = (front: ClientSession, name: string, args: unknown = {}) =>
  front.request(
    { method: 'tools/call', params: { name, arguments: args } },
    { signal: new AbortController().signal },
  ) as Promise<any>;

describe('a tool that a server has just added', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] }));
  afterEach(() => void vi.useRealTimers());

  /** A world whose list is older than a moment. */
  async function later(script: Script) {
    const world = createWorld({ one: script });
    await world.catalog.settle(1000);
    await vi.advanceTimersByTimeAsync(1000);
    const downstream = { key: 'k', notify: () => undefined };
    return { ...world, front: (kind: 'compact' | 'aggregate') => openFront(kind, world.deps, downstream) };
  }

  test.each([
    ['exec', 'compact', 'exec', { server_name: 'one', tool_name: 'new' }],
    ['exec without a server', 'compact', 'exec', { tool_name: 'new' }],
    ['tools/call', 'aggregate', 'one__new', {}],
  ] as const)('is called at once by %s', async (_, kind, name, args) => {
    const script = growing();
    const { catalog, front } = await later(script);
    script.names.push('new');
    expect((await call(front(kind), name, args)).isError).not.toBe(true);
    expect(script.lists).toBe(2);
    catalog.close();
  });

  test('is called at once by the router, for REST and the shell', async () => {
    const script = growing();
    const { catalog, router } = await later(script);
    script.names.push('new');
    await router.call({ server: 'one', tool: 'new', arguments: {}, caller: CALLER });
    catalog.close();
  });

  test('is waited for where a change was announced, however young the list is', async () => {
    const script = growing();
    const { catalog, router } = createWorld({ one: script });
    await catalog.settle(1000);
    script.names.push('new');
    catalog.noticed('one', 'notifications/tools/list_changed');
    const called = router.call({ server: 'one', tool: 'new', arguments: {}, caller: CALLER });
    await vi.advanceTimersByTimeAsync(300);
    await called;
    expect(script.lists).toBe(2);
    catalog.close();
  });

  test('is not lost where the catalog ends meanwhile', async () => {
    const { catalog, router } = createWorld({ one: growing() });
    await catalog.settle(1000);
    catalog.noticed('one', 'notifications/tools/list_changed');
    const called = router.call({ server: 'one', tool: 'new', arguments: {}, caller: CALLER });
    catalog.close();
    await expect(called).rejects.toThrow('has no tool "new"');
  });
});

test('names that are not there do not flood a server', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const script = growing();
  const { catalog, router } = createWorld({ one: script });
  await catalog.settle(1000);
  const miss = () =>
    expect(router.call({ server: 'one', tool: 'none', arguments: {}, caller: CALLER })).rejects.toThrow('has no tool');
  await Promise.all(Array.from({ length: 50 }, miss));
  expect(script.lists).toBe(1);
  for (let second = 0; second < 3; second++) {
    await vi.advanceTimersByTimeAsync(1000);
    await Promise.all(Array.from({ length: 50 }, miss));
  }
  expect(script.lists).toBe(4);
  catalog.close();
});
