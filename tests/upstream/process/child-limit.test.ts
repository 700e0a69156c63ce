/** How many child processes run at once, in all and for one client. */
import { describe, expect, test } from 'vitest';
import { tokenHolder } from '../../../src/policy/shares.ts';
import { type ClientIdentity, createPool } from '../../../src/upstream/pool.ts';
import { type ChildLimit, createChildLimit } from '../../../src/upstream/process/child-limit.ts';
import { call, cleanup, isRunning, recorder, SETTINGS, serverSpec } from '../world.ts';

const { signal } = new AbortController();
const [a, b] = [tokenHolder('a'), tokenHolder('b')];

/** A process of that holder, which is idle since then. */
async function child(limit: ChildLimit, holder: string | undefined, since?: number) {
  const place = await limit.enter(holder, 'x', signal);
  if (typeof place !== 'function') throw place;
  const one = { holder, stopped: false, idleSince: () => since, stop: async () => undefined };
  const forget = limit.add(one);
  one.stop = async () => {
    one.stopped = true;
    forget();
    place();
    return undefined;
  };
  return one;
}

describe('the bound', () => {
  test('stops the process that its client has not used for the longest time, and none of others', async () => {
    const limit = createChildLimit({ limit: 8 });
    const others = await child(limit, b, 1);
    const own = [30, 10, 20, undefined, 40, 50].map((since) => child(limit, a, since));
    const before = await Promise.all(own);
    await child(limit, a);
    expect([...before, others].map(({ stopped }) => stopped)).toEqual([false, true, false, false, false, false, false]);
    await child(limit, a);
    expect(before.map(({ stopped }) => stopped)).toEqual([false, true, true, false, false, false]);
  });

  test('refuses one client whose processes are all in use, and lets others start theirs', async () => {
    const limit = createChildLimit({ limit: 4, patience: 1 });
    await Promise.all([child(limit, a), child(limit, a), child(limit, a)]);
    expect(await limit.enter(a, 'files', signal)).toMatchObject({
      code: 'overloaded',
      message: 'server "files" cannot be started: token "a" has 3 processes already, which is its share',
      hint: expect.stringContaining('"limits.children"'),
      data: { exhausted: 'client' },
    });
    await child(limit, b);
    expect(await limit.enter(b, 'files', signal)).toMatchObject({
      message: 'server "files" cannot be started: 4 processes run already',
      data: { exhausted: 'gateway' },
    });
  });

  test('takes an idle process of the client that has most where all places are taken', async () => {
    const limit = createChildLimit({ limit: 4, patience: 1 });
    const many = await Promise.all([child(limit, a, 1), child(limit, a, 2), child(limit, a, 3)]);
    const few = await child(limit, b, 0);
    await child(limit, tokenHolder('c'));
    expect([...many, few].map(({ stopped }) => stopped)).toEqual([true, false, false, false]);
  });

  test('lets a server that all share have the place of any that is idle, last of another such server', async () => {
    const limit = createChildLimit({ limit: 2 });
    const [shared, own] = [await child(limit, undefined, 1), await child(limit, a, 2)];
    await child(limit, undefined);
    expect([shared.stopped, own.stopped]).toEqual([false, true]);
    await child(limit, undefined);
    expect(shared.stopped).toBe(true);
  });

  test('lets a start wait for a process that is about to end', async () => {
    const limit = createChildLimit({ limit: 1 });
    const first = await child(limit, a);
    const next = child(limit, a);
    await first.stop();
    expect((await next).stopped).toBe(false);
  });

  test('does not let a start wait that nobody wants any more', async () => {
    const limit = createChildLimit({ limit: 1 });
    await child(limit, a);
    const given = new AbortController();
    const next = limit.enter(a, 'files', given.signal);
    given.abort();
    expect(await next).toMatchObject({ code: 'overloaded' });
  });
});

describe('the processes of a pool', () => {
  const pool = (options: { patience?: number } = {}) => {
    const childLimit = createChildLimit({ limit: 4, ...options });
    const servers = [serverSpec([], { share: 'session' })];
    const created = createPool({ servers, settings: SETTINGS, log: recorder().log, childLimit });
    cleanup(() => created.close({ eof: 0, term: 0 }));
    return (key: string, holder: string) => {
      const caller: ClientIdentity = { key, holder, capabilities: { roots: {} } };
      const found = created.get('x', caller);
      if (found === undefined) throw new Error('no connection');
      return found;
    };
  };
  const pidOf = async (on: Parameters<typeof call>[0]) => Number(await call(on, 'pid'));

  test('of one token stay within its share: the idlest makes room, and is started again when it is called', async () => {
    const get = pool();
    const pids = [];
    for (const key of ['k1', 'k2', 'k3', 'k4']) pids.push(await pidOf(get(key, a)));
    expect(pids.map(isRunning)).toEqual([false, true, true, true]);
    expect(get('k1', a).state.kind).toBe('idle');
    const again = await pidOf(get('k1', a));
    expect([again === pids[0], isRunning(pids[1] ?? 0), isRunning(again)]).toEqual([false, false, true]);
  });

  test('that are all in use leave none to their token: its call is told so, and starts one when a place is free', async () => {
    const get = pool({ patience: 1 });
    const hung = ['k1', 'k2', 'k3'].map((key) => {
      const given = new AbortController();
      return { given, over: call(get(key, a), 'never', {}, { signal: given.signal }).catch((error) => error) };
    });
    for (const key of ['k1', 'k2', 'k3']) await pidOf(get(key, a));
    const refused = 'server "x" cannot be started: token "a" has 3 processes already, which is its share';
    await expect(pidOf(get('k4', a))).rejects.toMatchObject({ code: 'overloaded', message: refused });
    expect(isRunning(await pidOf(get('other', b)))).toBe(true);
    hung[0]?.given.abort();
    await hung[0]?.over;
    await expect.poll(() => pidOf(get('k4', a)).then(isRunning, () => false)).toBe(true);
    for (const { given } of hung) given.abort();
    await Promise.all(hung.map(({ over }) => over));
  });

  test('that cannot be started give their places back', async () => {
    const childLimit = createChildLimit({ limit: 1, patience: 1 });
    const servers = [
      { ...serverSpec(), command: '/nowhere/to/be/found' },
      { ...serverSpec(), name: 'y' },
    ];
    const created = createPool({ servers, settings: SETTINGS, log: recorder().log, childLimit });
    cleanup(() => created.close({ eof: 0, term: 0 }));
    await expect(created.get('x')?.connect()).rejects.toMatchObject({ code: 'unreachable' });
    await created.get('y')?.connect();
    expect(created.get('y')?.state.kind).toBe('ready');
  });
});
