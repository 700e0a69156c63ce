import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createPool, type Pool, type PoolOptions } from '../../src/upstream/pool.ts';
import {
  call,
  cleanup,
  connection,
  fixture,
  isRunning,
  recorder,
  SETTINGS,
  serverSpec,
  stdioSpec,
  stopClock,
  until,
} from './world.ts';

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

  test('starts a bounded number at once, and slow ones do not hold up the others', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-pool-')), 'log');
    const logged = (text: string) => (existsSync(log) ? readFileSync(log, 'utf8').split(text).length - 1 : 0);
    const connect = { ...SETTINGS.connect, concurrency: 2 };
    // Two that never finish their start take both places, for 250 ms; until the test moves the clock these do not pass.
    stopClock();
    const hanging = ['h1', 'h2'].map((name) =>
      serverSpec(['hang-init', `log=${log}`], { name, startupTimeout: 600_000 }),
    );
    const upstreams = pool([...hanging, named('c', [`log=${log}`])], { settings: { ...SETTINGS, connect } });
    const outcomes = Promise.allSettled(upstreams.all().map((upstream) => upstream.connect()));
    await until(() => logged('"initialize"') === 2);
    // By the time that a process which was started later is ready, a third one would have been logged.
    await connection(named('later')).connect();
    expect(logged('{"started"')).toBe(2);
    await vi.advanceTimersByTimeAsync(250);
    await get(upstreams, 'c').connect();
    expect(logged('{"started"')).toBe(3);
    vi.useRealTimers();
    await Promise.all(['h1', 'h2'].map((name) => get(upstreams, name).close({ eof: 0, term: 0 })));
    expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled']);
  });

  test('runs no more than the limit only to be listed, though most hang, and lists every other server', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-pool-')), 'log');
    const alive = () => {
      const lines = existsSync(log) ? readFileSync(log, 'utf8') : '';
      return Array.from(lines.matchAll(/"started":(\d+)/g), ([, pid]) => Number(pid)).filter(isRunning).length;
    };
    const settings = { ...SETTINGS, connect: { ...SETTINGS.connect, concurrency: 2 } };
    const hanging = ['h1', 'h2', 'h3', 'h4', 'h5'].map((name) =>
      serverSpec(['hang-init', `log=${log}`], { name, startupTimeout: 2_000 }),
    );
    const good = ['a', 'b'].map((name) => named(name, [`log=${log}`]));
    const upstreams = pool([...hanging, ...good], { settings, listingTime: 200 });
    const ended = Promise.allSettled([...hanging, ...good].map(({ name }) => get(upstreams, name).connect('list')));
    let [most, isOver] = [0, false];
    void ended.then(() => {
      isOver = true;
    });
    await until(() => {
      most = Math.max(most, alive());
      return isOver;
    });
    const expected = [...hanging.map(() => 'rejected'), ...good.map(() => 'fulfilled')];
    expect((await ended).map(({ status }) => status)).toEqual(expected);
    expect(most).toBeLessThanOrEqual(2);
  });

  test('a server that hangs while it is listed makes room for others, and is listed again after them', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-pool-')), 'log');
    const noted = (text: string) => (existsSync(log) ? readFileSync(log, 'utf8').split(` ${text}\n`).length - 1 : 0);
    const hanging = stdioSpec(process.execPath, [fixture('lists.mjs'), 'tools=hang', `note=${log}`], { name: 'hung' });
    const connect = { ...SETTINGS.connect, concurrency: 1 };
    stopClock();
    const upstreams = pool([hanging, named('good')], { settings: { ...SETTINGS, connect } });
    const hung = get(upstreams, 'hung');
    await hung.connect('list');
    const options = { repeatable: true, bypassQueue: true, purpose: 'list', timeout: 600_000 } as const;
    const list = hung.request('tools/list', {}, options).catch((error) => error);
    await until(() => noted('tools/list') === 1);
    const good = get(upstreams, 'good').connect('list');
    await vi.advanceTimersByTimeAsync(10_000);
    await good;
    expect(noted('end')).toBe(1);
    // A listed server is stopped once it has been quiet for a moment.
    await vi.advanceTimersByTimeAsync(50);
    await until(() => noted('tools/list') === 2);
    expect(noted('start')).toBe(2);
    const closing = upstreams.close({ eof: 0, term: 0 });
    vi.useRealTimers();
    await closing;
    expect(await list).toMatchObject({ code: 'unreachable' });
  });

  test('a call to a server that waits for its place is not held up', async () => {
    const connect = { ...SETTINGS.connect, concurrency: 1 };
    const upstreams = pool([serverSpec(['hang-init'], { name: 'hung', startupTimeout: 600_000 }), named('good')], {
      settings: { ...SETTINGS, connect },
    });
    const hung = get(upstreams, 'hung')
      .connect('list')
      .catch((error) => error);
    const listed = get(upstreams, 'good').connect('list');
    expect(await call(get(upstreams, 'good'), 'echo', { a: 1 })).toEqual({ a: 1 });
    await listed;
    await upstreams.close({ eof: 0, term: 0 });
    expect(await hung).toMatchObject({ code: 'unreachable' });
  });

  test('tells of states, notifications and requests by server', async () => {
    const heard: unknown[] = [];
    const upstreams = pool([named('a'), named('b')], {
      events: {
        state: ({ kind }, { name }) => heard.push([name, kind]),
        notification: ({ method, params }, { name }) => heard.push([name, method, params]),
        request: async ({ method }, _, { name: server }) => ({ server, method }),
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
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-pool-')), 'log');
    const upstreams = pool(['a', 'b', 'c'].map((name) => named(name, ['stubborn', `log=${log}`])));
    await Promise.all(upstreams.all().map((upstream) => upstream.connect()));
    const pids = upstreams.all().map((upstream) => upstream.diagnostics().pid ?? 0);
    const ending = upstreams.close({ eof: 0, term: 600_000 });
    // Each hears of the end while none has ended.
    await until(() => readFileSync(log, 'utf8').split('"SIGTERM"').length - 1 === 3);
    expect(pids.filter(isRunning)).toEqual(pids);
    await upstreams.close({ eof: 0, term: 0 });
    await ending;
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
