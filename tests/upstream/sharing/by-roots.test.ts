/** A server that is shared by clients with roots: by all until it asks for roots, then by those of one principal that have the same. */
import { describe, expect, test } from 'vitest';
import type { StdioServer } from '../../../src/config/config.ts';
import type { CallOptions } from '../../../src/upstream/call-options.ts';
import { type ClientIdentity, createPool, type Pool, type PoolOptions } from '../../../src/upstream/pool.ts';
import { call, cleanup, isRunning, recorder, SETTINGS, serverSpec, until } from '../world.ts';

function pool(spec: StdioServer, more: Partial<PoolOptions> = {}): Pool {
  const events = { request: (request: any, incoming: any) => incoming.about.asked(request, incoming) };
  const created = createPool({ servers: [spec], settings: SETTINGS, log: recorder().log, events, ...more });
  cleanup(() => created.close({ eof: 0, term: 0 }));
  return created;
}

/** A client, and how often it was asked for its roots. */
function client(from: Pool, caller: Partial<ClientIdentity> & { key: string }, folder = 'mine') {
  const who: ClientIdentity = { capabilities: { roots: { listChanged: true } }, ...caller };
  const own = { folder, asked: 0, refuses: false };
  const options: CallOptions = {
    conversation: who.key,
    client: who,
    onServerRequest: async () => {
      own.asked += 1;
      if (own.refuses) throw new Error('no');
      return { roots: [{ uri: `file:///${own.folder}` }] };
    },
  };
  const at = () => from.get('x', who) ?? expect.fail('no connection');
  const use = (tool: string, args: object = {}) => call(at(), tool, args as Record<string, unknown>, options);
  const pid = async () => Number(await use('pid'));
  /** The roots that its server was told last, in any call. */
  const told = async () => ((await use('told')) as any)?.roots?.map(({ uri }: any) => uri);
  return { own, who, at, use, pid, told, changed: () => from.rootsChanged(who.key) };
}

const once = (key: string): Partial<ClientIdentity> & { key: string } => ({ key, stateless: true });
const AWARE = serverSpec(['curious']);

describe("a server that asks for nobody's roots", () => {
  test('runs once for all clients that offer the same, with a session or without', async () => {
    const upstreams = pool(serverSpec());
    const first = client(upstreams, { key: 'a', principal: 'one' });
    const pid = await first.pid();
    expect(await client(upstreams, once('b')).pid()).toBe(pid);
    expect(await client(upstreams, { key: 'c', principal: 'two' }, 'other').pid()).toBe(pid);
    upstreams.release('a');
    expect(await client(upstreams, { key: 'd' }).pid()).toBe(pid);
    expect(first.own.asked).toBe(0);
    expect([first.at().owner, first.at().offered]).toEqual([undefined, 'roots']);
    const sampling = { roots: {}, sampling: {} };
    expect(await client(upstreams, { key: 'e', capabilities: sampling }).pid()).not.toBe(pid);
  });

  test('is stopped and started anew by a change of the config', async () => {
    const upstreams = pool(serverSpec());
    const { pid } = client(upstreams, { key: 'a' });
    const before = await pid();
    upstreams.update([serverSpec(['changed'])], SETTINGS);
    await until(() => !isRunning(before));
    expect(await pid()).not.toBe(before);
  });
});

describe('a server that asks for roots when it is connected', () => {
  test('knows them before the first call arrives', async () => {
    const one = client(pool(AWARE), { key: 'a' });
    expect(await one.told()).toEqual(['file:///mine']);
    expect(one.own.asked).toBe(1);
  });

  test('gets turns, and not only time, to check them before the first call arrives', async () => {
    const one = client(pool(serverSpec(['curious', 'checks=8'])), { key: 'a' });
    expect(await one.told()).toEqual(['file:///mine']);
    one.own.folder = 'next';
    one.changed();
    expect(await one.told()).toEqual(['file:///next']);
  });

  test('runs once for all sessions of a principal that have the same roots', async () => {
    const upstreams = pool(AWARE);
    const pids = await Promise.all([...'abcdefgh'].map((key) => client(upstreams, { key, principal: 'one' }).pid()));
    expect(new Set(pids).size).toBe(1);
    const other = client(upstreams, { key: 'i', principal: 'one' }, 'other');
    expect(await other.told()).toEqual(['file:///other']);
    expect(pids).not.toContain(await other.pid());
    const of = (pid: number | undefined) =>
      upstreams.all().find((one) => one.diagnostics().pid === pid) ?? expect.fail('no connection');
    const heardBy = (pid: number | undefined) => [...'ai'].filter((key) => upstreams.serves(of(pid), key));
    expect([heardBy(pids[0]), heardBy(await other.pid())]).toEqual([['a'], ['i']]);
    expect([upstreams.clientOf(of(pids[0])), upstreams.clientOf(of(await other.pid()))]).toEqual([undefined, 'i']);
  });

  test('is never shared by two principals', async () => {
    const upstreams = pool(AWARE);
    const [one, two] = [
      client(upstreams, { key: 'a', principal: 'one' }),
      client(upstreams, { key: 'b', principal: 'two' }),
    ];
    const pids = await Promise.all([one.pid(), two.pid()]);
    expect(new Set(pids).size).toBe(2);
    expect([await one.pid(), await two.pid()]).toEqual(pids);
    expect([one.own.asked, two.own.asked]).toEqual([1, 1]);
  });

  test('is kept between the requests of a client without a session', async () => {
    const upstreams = pool(AWARE);
    const first = client(upstreams, once('r1'));
    const pid = await first.pid();
    upstreams.release('r1');
    const second = client(upstreams, once('r2'));
    expect(await second.pid()).toBe(pid);
    // Another program may look the same, so each request is asked.
    expect([first.own.asked, second.own.asked]).toEqual([1, 1]);
    expect(await client(upstreams, { ...once('r3'), principal: 'two' }).pid()).not.toBe(pid);
  });

  test('moves with the roots of its only client', async () => {
    const one = client(pool(AWARE), { key: 'a' });
    const pid = await one.pid();
    one.own.folder = 'next';
    one.changed();
    expect(await one.told()).toEqual(['file:///next']);
    expect([await one.pid(), one.own.asked]).toEqual([pid, 2]);
  });

  test('stays with the others when the roots of one change', async () => {
    const upstreams = pool(AWARE);
    const [one, two] = [client(upstreams, { key: 'a' }), client(upstreams, { key: 'b' })];
    const pid = await one.pid();
    expect(await two.pid()).toBe(pid);
    two.own.folder = 'next';
    two.changed();
    expect(await two.told()).toEqual(['file:///next']);
    expect(await one.told()).toEqual(['file:///mine']);
    expect([await one.pid(), (await two.pid()) === pid]).toEqual([pid, false]);
    two.own.folder = 'mine';
    two.changed();
    expect(await two.pid()).toBe(pid);
  });

  test('serves a client that does not say its roots, and is told so', async () => {
    const one = client(pool(AWARE), { key: 'a' });
    one.own.refuses = true;
    expect(await one.use('told')).toMatchObject({ code: -32601 });
    expect(one.own.asked).toBe(1);
  });

  test('is asked for nothing more when the call that waits for the roots is given up', async () => {
    const upstreams = pool(AWARE);
    const given = new AbortController();
    const onServerRequest = () => new Promise<never>(() => given.abort());
    const at = upstreams.get('x', { key: 'a', capabilities: { roots: {} } });
    const waiting = at?.request(
      'tools/call',
      { name: 'pid', arguments: {} },
      { onServerRequest, signal: given.signal },
    );
    await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  });
});

describe('a server that asks for roots in the middle of a call', () => {
  const ask = { method: 'roots/list' };

  test('goes on with its client, and with those that have the same roots', async () => {
    const upstreams = pool(serverSpec());
    const one = client(upstreams, { key: 'a' });
    const pid = await one.pid();
    expect(await one.use('ask', ask)).toEqual({ roots: [{ uri: 'file:///mine' }] });
    const two = client(upstreams, { key: 'b' });
    expect([await one.pid(), await two.pid()]).toEqual([pid, pid]);
    expect(await client(upstreams, { key: 'c' }, 'other').pid()).not.toBe(pid);
  });

  test('serves nobody any more when it has served several, and ends', async () => {
    const upstreams = pool(serverSpec());
    const [one, two] = [client(upstreams, { key: 'a' }), client(upstreams, { key: 'b' }, 'other')];
    const pid = await one.pid();
    expect(await two.pid()).toBe(pid);
    expect(await one.use('ask', ask)).toEqual({ roots: [{ uri: 'file:///mine' }] });
    expect(new Set([pid, await one.pid(), await two.pid()]).size).toBe(3);
    await until(() => !isRunning(pid));
  });

  test('asks nobody while it works for several', async () => {
    const upstreams = pool(serverSpec());
    const [one, two] = [client(upstreams, { key: 'a' }), client(upstreams, { key: 'b' })];
    await Promise.all([one.pid(), two.pid()]);
    const slow = one.use('sleep', { ms: 300 });
    const refused = await two.use('ask', ask);
    expect(refused).toMatchObject({ code: -32601, message: expect.stringContaining('several clients') });
    expect(await slow).toBe('slept');
    expect(await two.use('ask', ask)).toEqual({ roots: [{ uri: 'file:///mine' }] });
  });
});

test('a client that goes to another connection is announced there', async () => {
  const moved: string[] = [];
  const events: PoolOptions['events'] = {
    request: async (request, incoming) => incoming.attribution?.onServerRequest?.(request, incoming),
    moved: ({ state }) => void moved.push(state.kind),
  };
  const upstreams = pool(serverSpec(), { events });
  const [one, two] = [client(upstreams, { key: 'a' }), client(upstreams, { key: 'b' })];
  await Promise.all([one.pid(), two.pid()]);
  await one.use('ask', { method: 'roots/list' });
  expect(moved).toEqual([]);
  await one.pid();
  await one.pid();
  expect(moved).toEqual(['idle']);
  await two.pid();
  expect(moved).toEqual(['idle', 'ready']);
});

test('what a session subscribed to goes on as long as the session', async () => {
  const upstreams = pool(AWARE, { isSubscribed: () => true });
  const one = client(upstreams, { key: 'a' });
  const pid = await one.pid();
  expect(one.at().hasSubscribers).toBe(true);
  upstreams.release('a');
  await until(() => !isRunning(pid));
});

test('a connection that stopped for want of use, and that nobody has, is forgotten', async () => {
  const upstreams = pool(AWARE);
  const one = client(upstreams, once('r1'));
  await one.pid();
  const before = upstreams.all().length;
  const [connection] = upstreams.all().filter(({ offered, state }) => offered === 'roots' && state.kind === 'ready');
  upstreams.release('r1');
  await connection?.stopIdle();
  await upstreams.emptied();
  expect(upstreams.all().length).toBe(before - 1);
});
