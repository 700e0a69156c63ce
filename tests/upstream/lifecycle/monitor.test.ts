import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { ConnectionState } from '../../../src/upstream/connection-interface.ts';
import { createPool } from '../../../src/upstream/pool.ts';
import { call, cleanup, connection, isRunning, recorder, SETTINGS, serverSpec, until } from '../world.ts';

/** How often the fixture server was started. */
function starts(): { flag: string; count(): number } {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-starts-')), 'log');
  return { flag: `log=${file}`, count: () => readFileSync(file, 'utf8').split('{"started"').length - 1 };
}

describe('a process that nobody uses', () => {
  const settings = { ...SETTINGS, connect: { ...SETTINGS.connect, idleStop: 200 } };

  test('ends, and a hundred calls at once start it once', async () => {
    const log = starts();
    const upstream = connection(serverSpec([log.flag]), { settings });
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    const { pid = 0 } = upstream.diagnostics();
    await until(() => upstream.state.kind === 'idle');
    await until(() => !isRunning(pid));
    expect(upstream.diagnostics().pid).toBeUndefined();
    const calls = Array.from({ length: 100 }, (_, n) => call(upstream, 'echo', { n }));
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => ({ n })));
    expect(log.count()).toBe(2);
  });

  test('is not ended under a call that takes longer', async () => {
    const upstream = connection(serverSpec(), { settings });
    expect(await call(upstream, 'sleep', { ms: 700 })).toBe('slept');
    await until(() => upstream.state.kind === 'idle');
  });

  test('ends in every connection of a pool', async () => {
    const pool = createPool({ servers: [serverSpec([], { share: 'session' })], settings, log: recorder().log });
    cleanup(() => pool.close({ eof: 0, term: 0 }));
    const keys = ['a', 'b', 'c'];
    const pids = await Promise.all(
      keys.map(async (key) => (await call(pool.get('x', { key, capabilities: {} }) as never, 'pid')) as number),
    );
    await until(() => pids.every((pid) => !isRunning(pid)));
    expect(pool.all().every(({ state }) => state.kind === 'idle')).toBe(true);
  });
});

describe.skipIf(process.platform === 'win32')('a process that hangs while nobody asks', () => {
  test('is found out, ended and started again', async () => {
    const health = { enabled: true, interval: 150, failures: 2 };
    const states: ConnectionState[] = [];
    const upstream = connection(serverSpec([], { reconnect: { interval: 50, maxRetries: 10 } }), {
      settings: { ...SETTINGS, health },
      events: { state: (state) => states.push(state) },
    });
    await upstream.connect();
    const { pid = 0 } = upstream.diagnostics();
    process.kill(pid, 'SIGSTOP');
    await until(() => states.some(({ kind }) => kind === 'backoff'));
    expect(states.find(({ kind }) => kind === 'backoff')).toMatchObject({
      reason: expect.stringMatching(/^server "x" is unhealthy: it failed 2 checks in a row/),
    });
    expect(await call(upstream, 'echo', { back: true })).toEqual({ back: true });
    expect(isRunning(pid)).toBe(false);
  });
});
