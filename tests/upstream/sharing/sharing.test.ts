import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { StdioServer } from '../../../src/config/config.ts';
import { offeredKey, sharedKey } from '../../../src/mcp/capabilities.ts';
import { type ClientIdentity, createPool, type Pool, type PoolOptions } from '../../../src/upstream/pool.ts';
import { introductionOf, knowsNobody, shareRule } from '../../../src/upstream/sharing/sharing.ts';
import {
  call,
  cleanup,
  fixture,
  httpSpec,
  isRunning,
  recorder,
  SETTINGS,
  serverSpec,
  stdioSpec,
  until,
} from '../world.ts';

function pool(spec: StdioServer, more: Partial<PoolOptions> = {}): Pool {
  const created = createPool({ servers: [spec], settings: SETTINGS, log: recorder().log, ...more });
  cleanup(() => created.close({ eof: 0, term: 0 }));
  return created;
}

const caller = (key: string, capabilities: object = {}, more: Partial<ClientIdentity> = {}): ClientIdentity => ({
  key,
  capabilities: { ...capabilities },
  ...more,
});

function get(from: Pool, who?: ClientIdentity) {
  const found = from.get('x', who);
  if (!found) throw new Error('no connection');
  return found;
}

const pidOf = (from: Pool, who?: ClientIdentity) => call(get(from, who), 'pid') as Promise<number>;

describe('how a server is shared', () => {
  const client = { name: 'editor', version: '7' };
  test.each<[title: string, spec: Partial<StdioServer>, capabilities: object, expected: string]>([
    ['by all, as a rule', {}, { sampling: {}, elicitation: {} }, 'all'],
    ['by those with the same roots, when the client has some', {}, { roots: {} }, 'roots'],
    ['per session, when its arguments name the workspace', { args: ['${workspaceFolder}/x'] }, {}, 'session'],
    ['per session, when its environment does', { env: { A: '${workspaceFolderBasename}' } }, {}, 'session'],
    ['as the config says', { share: 'call', args: ['${workspaceFolder}'] }, { roots: {} }, 'call'],
    ['as the config says, by all', { share: 'all', args: ['${workspaceFolder}'] }, { roots: {} }, 'all'],
  ])('%s', (_, more, capabilities, expected) => {
    expect(shareRule({ ...serverSpec(), ...more })(caller('a', capabilities))).toBe(expected);
  });

  test('by all, roots or not, when it is of the modern era and remembers nobody', () => {
    const rule = shareRule(serverSpec());
    expect([rule(caller('a', { roots: {} }), 'modern'), rule(caller('a', { roots: {} }), 'legacy')]).toEqual([
      'all',
      'roots',
    ]);
    const own = shareRule(serverSpec(['${workspaceFolder}']));
    expect(own(caller('a'), 'modern')).toBe('session');
  });

  test('follows the URL of a remote server as well', () => {
    expect(shareRule(httpSpec('http://127.0.0.1/${workspaceFolder}'))(caller('a'))).toBe('session');
  });

  test.each([
    [{}, ''],
    [{ roots: {}, experimental: { a: 1 } }, 'roots'],
    [{ roots: { listChanged: true }, sampling: {} }, 'sampling+roots'],
    [{ sampling: {}, elicitation: {} }, 'elicitation+sampling'],
    [{ elicitation: { url: {}, form: {}, mine: 1 }, sampling: { tools: {} } }, 'elicitation.form.url+sampling.tools'],
    [{ sampling: 'yes' }, ''],
  ])('%j is one kind of offer', (capabilities, key) => {
    expect(offeredKey({ capabilities })).toBe(key);
  });

  test.each([
    ['', ''],
    ['roots', ''],
    ['sampling+roots', 'sampling'],
    ['sampling', 'sampling'],
  ])('%j is offered on a shared connection as %j', (key, shared) => {
    expect(sharedKey(key)).toBe(shared);
  });

  test('a shared connection speaks for mcpx, one of its own for the client', () => {
    const who = caller('a', { sampling: { mine: 1 }, roots: { listChanged: true }, tasks: {} }, { clientInfo: client });
    expect(introductionOf('all', who)).toEqual({ capabilities: { sampling: {} } });
    expect(introductionOf('session', who)).toEqual({
      capabilities: { sampling: { mine: 1 }, roots: { listChanged: true } },
      clientInfo: { name: 'editor (via mcpx)', version: '7' },
    });
    expect(introductionOf('session', undefined)).toEqual({ capabilities: {} });
  });
});

describe('a server that all share', () => {
  test('runs once per set of capabilities', async () => {
    const upstreams = pool(serverSpec());
    const plain = await pidOf(upstreams, caller('a'));
    expect(await pidOf(upstreams, caller('b', { experimental: {} }))).toBe(plain);
    const asked = caller('c', { sampling: {}, elicitation: {} });
    const other = await pidOf(upstreams, asked);
    expect(other).not.toBe(plain);
    expect(await pidOf(upstreams, caller('d', { elicitation: {}, sampling: {} }))).toBe(other);
    expect(get(upstreams, asked).handshake?.serverInfo.seen).toEqual({
      capabilities: { elicitation: {}, sampling: {} },
      clientInfo: { name: 'mcpx', version: '0.0.0-test' },
    });
    expect(get(upstreams, asked).owner).toBeUndefined();
    // A list request uses the connection that was used last.
    expect(await pidOf(upstreams)).toBe(other);
    expect(isRunning(plain)).toBe(true);
  });

  test('and was only listed so far stops when somebody calls it with other capabilities', async () => {
    const upstreams = pool(serverSpec());
    const listed = await pidOf(upstreams);
    const called = await pidOf(upstreams, caller('a', { sampling: {} }));
    await until(() => !isRunning(listed));
    expect(await pidOf(upstreams)).toBe(called);
  });
});

describe('a server per session', () => {
  const spec = serverSpec([], { share: 'session' });

  test('runs for each downstream, in its name, and ends when that leaves', async () => {
    const upstreams = pool(spec);
    const [a, b] = ['a', 'b'].map((key) =>
      caller(key, { roots: {} }, { clientInfo: { name: `client ${key}`, version: '1' } }),
    ) as [ClientIdentity, ClientIdentity];
    const pids = [await pidOf(upstreams, a), await pidOf(upstreams, b)];
    expect(pids[0]).not.toBe(pids[1]);
    expect(await pidOf(upstreams, a)).toBe(pids[0]);
    expect(get(upstreams, a)).toMatchObject({
      owner: 'a',
      handshake: { serverInfo: { seen: { capabilities: { roots: {} }, clientInfo: { name: 'client a (via mcpx)' } } } },
    });
    upstreams.release('a');
    await until(() => !isRunning(pids[0] as number));
    expect(isRunning(pids[1] as number)).toBe(true);
    expect(await pidOf(upstreams, a)).not.toBe(pids[0]);
  });

  test('lets the last call of a downstream that leaves come to its end', async () => {
    const upstreams = pool(spec);
    const who = caller('a');
    await pidOf(upstreams, who);
    const slow = call(get(upstreams, who), 'sleep', { ms: 300 });
    upstreams.release('a');
    expect(await slow).toBe('slept');
    await until(() => upstreams.all().length === 1);
  });

  test('knows the folder of its downstream', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcpx-root-'));
    const upstreams = pool(serverSpec([], { env: { ROOT: '${workspaceFolder}' } }));
    const env = (who: ClientIdentity) => call(get(upstreams, who), 'env') as Promise<{ ROOT: string }>;
    expect(await env(caller('a', {}, { roots: [pathToFileURL(folder).href] }))).toMatchObject({ ROOT: folder });
    expect(await env(caller('b', {}, { roots: ['https://example.com/'] }))).toMatchObject({ ROOT: process.cwd() });
  });

  test('tells the events of each, and whose they are', async () => {
    const heard: unknown[] = [];
    const upstreams = pool(spec, {
      events: {
        notification: ({ method }, { name, owner }) => heard.push([name, method, owner]),
        request: async ({ method }, _, { owner }) => ({ method, owner }),
      },
    });
    await call(get(upstreams, caller('a')), 'flood', { count: 1 });
    expect(heard).toEqual([['x', 'notifications/message', 'a']]);
    expect(await call(get(upstreams, caller('b')), 'ask', { method: 'roots/list' })).toEqual({
      method: 'roots/list',
      owner: 'b',
    });
  });
});

test.each(['all', 'session', 'call'] as const)('nothing is started for %s after the end', async (share) => {
  const log = join(mkdtempSync(join(tmpdir(), 'mcpx-over-')), 'log');
  const upstreams = pool(serverSpec([`log=${log}`], { share }));
  await upstreams.close();
  const who = caller('late', { sampling: {} });
  await expect(call(get(upstreams, who), 'echo')).rejects.toThrow('server "x" is stopped');
  await expect(get(upstreams, who).connect()).rejects.toThrow('server "x" is stopped');
  expect(existsSync(log)).toBe(false);
});

describe('a server of the modern era', () => {
  const spec = () => stdioSpec(process.execPath, [fixture('two-eras.mjs'), 'modern-only']);
  const sets = [{}, { elicitation: { form: {} } }, { sampling: {}, roots: {} }];

  test('runs once for all sets of capabilities, and hears with each request who asks', async () => {
    const upstreams = pool(spec());
    const first = get(upstreams, caller('first'));
    await first.connect();
    const { pid } = first.diagnostics();
    for (const set of sets) {
      const seen = get(upstreams, caller('a', set));
      expect([seen.offered, seen.diagnostics().pid, seen.state.kind]).toEqual([
        offeredKey({ capabilities: set }),
        pid,
        'ready',
      ]);
      expect(get(upstreams, caller('b', set))).toBe(seen);
      const asked = seen.request('tools/call', { name: 'ask' }, { inputs: {} });
      if ('elicitation' in set) expect(await asked).toMatchObject({ resultType: 'input_required' });
      else await expect(asked).rejects.toMatchObject({ code: -32021 });
    }
    // One connection of each set: a list for one client is valid for all clients with the same capabilities.
    expect(upstreams.affected(first).map(({ offered }) => offered)).toEqual(['', 'elicitation.form', 'sampling+roots']);
  });

  test('is known as such from an earlier run', async () => {
    const upstreams = pool(spec(), { recall: () => ({ era: 'modern' }) });
    const [one, other] = sets.slice(1).map((set) => get(upstreams, caller('a', set)));
    await Promise.all([one?.connect(), other?.connect()]);
    expect(one?.diagnostics().pid).toBe(other?.diagnostics().pid);
    expect(one?.handshake?.era).toBe('modern');
  });
});

test.each<[Partial<StdioServer>, 'legacy' | 'modern', boolean]>([
  [{}, 'modern', true],
  [{}, 'legacy', false],
  [{ share: 'all' }, 'legacy', true],
  [{ share: 'session' }, 'modern', false],
  [{ cwd: '${workspaceFolder}' }, 'modern', false],
])('with %j and %s a server says the same to all who offer the same: %j', (more, era, same) => {
  expect(knowsNobody(serverSpec([], more), era)).toBe(same);
});

describe('a server per call', () => {
  test('runs for one call each, and not longer', async () => {
    const states: string[] = [];
    const upstreams = pool(serverSpec([], { share: 'call' }), {
      events: { state: ({ kind }) => states.push(kind) },
    });
    const pids = await Promise.all([1, 2, 3].map(() => pidOf(upstreams, caller('a'))));
    expect(new Set(pids).size).toBe(3);
    await until(() => pids.every((pid) => !isRunning(pid)));
    await until(() => upstreams.all().length === 1);
    // Calls come and go; only what lasts is a state of the server.
    expect(states).toEqual([]);
    expect(get(upstreams, caller('a')).state.kind).toBe('idle');
    expect((await get(upstreams, caller('a')).connect()).serverInfo.name).toBe('fixture');
  });

  test('is listed over a connection that lasts', async () => {
    const upstreams = pool(serverSpec([], { share: 'call' }));
    const pid = await pidOf(upstreams);
    expect(await pidOf(upstreams)).toBe(pid);
  });

  test('does not run more often at once than it may', async () => {
    const log = join(mkdtempSync(join(tmpdir(), 'mcpx-calls-')), 'log');
    const upstreams = pool(serverSpec([`log=${log}`], { share: 'call', concurrency: 1 }));
    const calls = [1, 2, 3].map(() => call(get(upstreams, caller('a')), 'sleep', { ms: 50 }));
    await Promise.all(calls);
    const started = () => (existsSync(log) ? readFileSync(log, 'utf8').split('{"started"').length - 1 : 0);
    expect(started()).toBe(3);
    await upstreams.close({ eof: 0, term: 0 });
    expect(upstreams.all().every(({ state }) => state.kind === 'closed')).toBe(true);
  });
});

test('changed roots are told to the running servers of that client alone', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-roots-'));
  const log = join(folder, 'log');
  const upstreams = pool(serverSpec([`log=${log}`], { share: 'session' }));
  const [own, other] = [get(upstreams, caller('a')), get(upstreams, caller('b'))];
  get(upstreams, caller('not started'));
  await Promise.all([own.connect(), other.connect()]);
  upstreams.rootsChanged('a');
  upstreams.rootsChanged('not started');
  await Promise.all([own.request('ping'), other.request('ping')]);
  expect(readFileSync(log, 'utf8').split('notifications/roots/list_changed')).toHaveLength(2);
});

describe('while a client has a question to answer', () => {
  const answering: PoolOptions['events'] = {
    request: async (request, incoming) => incoming.attribution?.onServerRequest?.(request, incoming),
  };
  const elicits = (key: string) => caller(key, { elicitation: {} });

  /** A call of that client whose question is not answered before `answer` is called. */
  async function hold(upstreams: Pool, who: ClientIdentity) {
    let asks = () => {};
    let answer = () => {};
    const asking = new Promise<void>((resolve) => {
      asks = resolve;
    });
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const onServerRequest = async () => {
      asks();
      await answered;
      return { action: 'accept' };
    };
    const options = { onServerRequest, conversation: who.key };
    const done = call(get(upstreams, who), 'ask', { method: 'elicitation/create' }, options);
    await asking;
    return async () => {
      answer();
      expect(await done).toEqual({ action: 'accept' });
    };
  }

  test('others are served by another process, which ends afterwards, and it keeps its own', async () => {
    const upstreams = pool(serverSpec(), { events: answering });
    const pid = await pidOf(upstreams, elicits('a'));
    const answer = await hold(upstreams, elicits('a'));
    const other = await pidOf(upstreams, elicits('b'));
    expect(other).not.toBe(pid);
    expect(await pidOf(upstreams, elicits('c'))).toBe(other);
    expect(await pidOf(upstreams, elicits('a'))).toBe(pid);
    // Its state is that of the server, for whoever looks.
    expect(get(upstreams)).toBe(get(upstreams, elicits('a')));
    await answer();
    await until(() => !isRunning(other));
    expect(await pidOf(upstreams, elicits('b'))).toBe(pid);
  });

  test('the other process goes on while a client is subscribed on it', async () => {
    const subscribed = new Set<unknown>();
    const upstreams = pool(serverSpec(), { events: answering, isSubscribed: (one) => subscribed.has(one) });
    const answer = await hold(upstreams, elicits('a'));
    const other = get(upstreams, elicits('b'));
    const pid = (await call(other, 'pid')) as number;
    subscribed.add(other);
    await answer();
    await (await hold(upstreams, elicits('a')))();
    expect([isRunning(pid), other.state.kind]).toEqual([true, 'ready']);
  });
});
