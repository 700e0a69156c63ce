import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createPool, type Pool, type PoolOptions } from '../../src/upstream/pool.ts';
import { call, cleanup, isRunning, recorder, SETTINGS, serverSpec, stdioSpec, until } from './world.ts';

function pool(servers: PoolOptions['servers'], more: Partial<PoolOptions> = {}): Pool {
  const created = createPool({ servers, settings: SETTINGS, log: recorder().log, ...more });
  cleanup(() => created.close({ eof: 0, term: 0 }));
  return created;
}

const named = (name: string, flags: string[] = []) => serverSpec(flags, { name });

/** The connection of a server that must be there. */
function get(from: Pool, server: string) {
  const found = from.get(server);
  if (!found) throw new Error(`no ${server}`);
  return found;
}

describe('a pool', () => {
  test('has a connection for every enabled server, and starts nothing by itself', () => {
    const upstreams = pool([named('a'), { ...named('b'), disabled: true }, named('c')]);
    expect(upstreams.all().map(({ name, state }) => [name, state.kind])).toEqual([
      ['a', 'idle'],
      ['c', 'idle'],
    ]);
    expect(upstreams.get('a')).toBe(upstreams.get('a', { key: 'k', capabilities: {} }));
    for (const name of ['b', 'nobody', '__proto__', 'constructor', 'A', 'a\0'])
      expect(upstreams.get(name)).toBeUndefined();
  });

  test('works with the others when one is dead', async () => {
    const upstreams = pool([named('a'), stdioSpec('no-such-command', [], { name: 'dead' }), named('c')]);
    const outcomes = await Promise.allSettled(
      upstreams.all().map((upstream) => call(upstream, 'echo', { of: upstream.name })),
    );
    expect(outcomes).toMatchObject([
      { value: { of: 'a' } },
      { reason: { message: 'server "dead" could not be started: command "no-such-command" was not found' } },
      { value: { of: 'c' } },
    ]);
  });

  test('starts a bounded number at once', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-pool-')), 'log');
    const started = () => (existsSync(log) ? readFileSync(log, 'utf8').split('{"started"').length - 1 : 0);
    const connect = { ...SETTINGS.connect, concurrency: 2 };
    // Two that never finish their start take both places for a while.
    const hanging = ['h1', 'h2'].map((name) => serverSpec(['hang-init', `log=${log}`], { name, startupTimeout: 2500 }));
    const upstreams = pool([...hanging, named('c', [`log=${log}`])], { settings: { ...SETTINGS, connect } });
    const outcomes = Promise.allSettled(upstreams.all().map((upstream) => upstream.connect()));
    await until(() => started() === 2);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(started()).toBe(2);
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
    expect(started()).toBe(3);
  });

  test('tells of states, notifications and requests by server', async () => {
    const heard: unknown[] = [];
    const upstreams = pool([named('a'), named('b')], {
      events: {
        state: (server, state) => heard.push([server, state.kind]),
        notification: (server, { method, params }) => heard.push([server, method, params]),
        request: async (server, { method }) => ({ server, method }),
      },
    });
    await call(get(upstreams, 'b'), 'flood', { count: 1 });
    expect(await call(get(upstreams, 'b'), 'ask', { method: 'roots/list' })).toEqual({
      server: 'b',
      method: 'roots/list',
    });
    expect(heard).toEqual([
      ['b', 'connecting'],
      ['b', 'ready'],
      ['b', 'notifications/message', { level: 'info', data: 0 }],
    ]);
  });

  test('ends all at the same time', async () => {
    const upstreams = pool(['a', 'b', 'c'].map((name) => named(name, ['stubborn'])));
    await Promise.all(upstreams.all().map((upstream) => upstream.connect()));
    const pids = upstreams.all().map((upstream) => upstream.diagnostics().pid ?? 0);
    const started = Date.now();
    await upstreams.close({ eof: 500, term: 500 });
    expect(Date.now() - started).toBeLessThan(2500);
    expect(pids.filter(isRunning)).toEqual([]);
    expect(upstreams.all().map(({ state }) => state.kind)).toEqual(['closed', 'closed', 'closed']);
  });

  test('ends all at once on the way out', async () => {
    const upstreams = pool(['a', 'b'].map((name) => named(name, ['stubborn'])));
    await Promise.all(upstreams.all().map((upstream) => upstream.connect()));
    const pids = upstreams.all().map((upstream) => upstream.diagnostics().pid ?? 0);
    upstreams.killNow();
    await until(() => pids.filter(isRunning).length === 0);
  });
});
