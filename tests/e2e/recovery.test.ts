/** Servers that die, hang, forget or flood: their own calls fail in words, everybody else's do not, and they come back. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { until } from '../setup/until.ts';
import { emptyPlace, fixture, openSession, type Said, type Session, startHttp } from './program.ts';

const node = process.execPath;
const stdio = (...flags: string[]) => ({ command: node, args: [fixture('stdio.mjs'), ...flags] });

const pidOf = async (session: Session, server: string) => Number((await session.exec(server, 'pid')).text);

/** The most that a process ever held, in MB: about 75 for itself, and no peer may cost more than 200. */
const peakMemory = (pid: number) =>
  (Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024) / 1e6;

describe.skipIf(process.platform === 'win32')('a server that is killed, on Linux and on macOS', () => {
  test('under load fails the calls it was working on, and no others', async () => {
    const session = await openSession(emptyPlace(), { mcpServers: { victim: stdio(), other: stdio() } });
    const pid = await pidOf(session, 'victim');
    const workers = 8;
    const said: Record<'victim' | 'other', Said[]> = { victim: [], other: [] };
    let stop = false;
    const load = (server: 'victim' | 'other') =>
      Promise.all(
        Array.from({ length: workers }, async (_, n) => {
          while (!stop) said[server].push(await session.exec(server, 'sleep', { ms: 10 + n }));
        }),
      );
    const running = Promise.all([load('victim'), load('other')]);
    const both = (count: number) => said.victim.length >= count && said.other.length >= count;
    await until(() => both(3 * workers));
    const [before, others] = [said.victim.length, said.other.length];
    process.kill(pid, 'SIGKILL');
    await until(() => both(before + 6 * workers) && said.other.length >= others + workers);
    stop = true;
    await running;

    const failures = said.victim.filter(({ isError }) => isError);
    expect(failures.length).toBeGreaterThan(0);
    expect(failures.length).toBeLessThanOrEqual(workers);
    for (const { text } of failures) expect(text).toContain('server "victim" was ended by SIGKILL');
    expect(said.victim.slice(0, before).filter(({ isError }) => isError)).toEqual([]);
    expect(said.victim.slice(-workers).filter(({ isError }) => isError)).toEqual([]);
    expect(await pidOf(session, 'victim')).not.toBe(pid);
    expect(said.other.filter(({ isError }) => isError)).toEqual([]);
  });

  test('between two calls is started again by the next one', async () => {
    const session = await openSession(emptyPlace(), { mcpServers: { victim: stdio() } });
    const pid = await pidOf(session, 'victim');
    process.kill(pid, 'SIGKILL');
    // The call may cross the death on its way; then it says so, and the next one must not.
    const [first, second] = [await session.exec('victim', 'pid'), await session.exec('victim', 'pid')];
    if (first.isError) expect(first.text).toContain('server "victim"');
    expect(second.isError).toBe(false);
    expect(Number(second.text)).not.toBe(pid);
  });
});

describe('a server that ends in the middle of a call', () => {
  test.each([
    ['exit', { code: 3, stderr: 'out of paper\n' }, /server "it" exited with code 3 \(stderr: out of paper\)/],
    ['half', {}, /server "it" exited with code 1/],
    ['close-stdout', {}, /server "it"/],
  ])(
    'by %s says so without waiting for the timeout, the call is not repeated, and the next one works',
    async (tool, args, message) => {
      const place = emptyPlace();
      const log = join(place.cwd, 'log');
      const session = await openSession(place, { mcpServers: { it: stdio(`log=${log}`) } });
      await session.exec('it', 'echo');
      const { text, isError } = await session.exec('it', tool, args);
      expect(isError).toBe(true);
      expect(text).toMatch(message);
      expect(await session.exec('it', 'echo', { a: 1 })).toMatchObject({ text: '{"a":1}', isError: false });
      const received = readFileSync(log, 'utf8').split('\n');
      expect(received.filter((line) => line.includes('tools/call') && line.includes(`"${tool}"`))).toHaveLength(1);
    },
  );
});

describe('an HTTP server', () => {
  const config = (port: number) => ({ mcpServers: { web: { type: 'http', url: `http://127.0.0.1:${port}/mcp` } } });

  test('that was restarted on its port is found again by the next call', async () => {
    const first = await startHttp();
    const session = await openSession(emptyPlace(), config(first.port));
    const pid = await pidOf(session, 'web');
    await first.kill();
    await startHttp(first.port);
    const again = await session.exec('web', 'pid');
    expect(again.isError).toBe(false);
    expect(Number(again.text)).not.toBe(pid);
  });

  test('that is down fails in words, and is used again when it is back', async () => {
    const first = await startHttp();
    const web = { ...config(first.port).mcpServers.web, timeout: 1500, startupTimeout: 1500 };
    const session = await openSession(emptyPlace(), { mcpServers: { web } });
    await first.kill();
    for (let call = 0; call < 3; call++) {
      const { text, isError } = await session.exec('web', 'echo');
      expect(isError).toBe(true);
      expect(text).toContain('"web');
    }
    await startHttp(first.port);
    // The pause before the next try may have grown to a few seconds by now.
    await expect.poll(() => session.exec('web', 'echo', { b: 2 })).toEqual({ text: '{"b":2}', isError: false });
  });

  test('that forgot its sessions is greeted once more, however many calls are under way', async () => {
    const { port } = await startHttp();
    const session = await openSession(emptyPlace(), config(port));
    const greetings = async () => Number((await session.exec('web', 'greetings')).text);
    const before = await greetings();
    await session.exec('web', 'forget');
    const calls = await Promise.all(Array.from({ length: 20 }, (_, n) => session.exec('web', 'echo', { n })));
    expect(calls.map(({ text }) => text)).toEqual(calls.map((_, n) => `{"n":${n}}`));
    expect(await greetings()).toBe(before + 1);
  });

  test('that dies during a call fails it, without waiting for the timeout', async () => {
    const { port } = await startHttp();
    const session = await openSession(emptyPlace(), config(port));
    const { text, isError } = await session.exec('web', 'exit');
    expect(isError).toBe(true);
    expect(text).toContain('"web');
    expect(text).not.toContain('within');
  });
});

test('a hundred calls to a cold server start it once', async () => {
  const place = emptyPlace();
  const log = join(place.cwd, 'log');
  const config = { mcpServers: { it: stdio(`log=${log}`) } };
  const first = await openSession(place, config);
  first.child.stdin?.end();
  await first.finished;
  const starts = () =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line.includes('"started"')).length;
  expect(starts()).toBe(1);
  const session = await openSession(place, config);
  const calls = await Promise.all(Array.from({ length: 100 }, (_, n) => session.exec('it', 'echo', { n })));
  expect(calls.map(({ text }) => text)).toEqual(calls.map((_, n) => `{"n":${n}}`));
  expect(starts()).toBe(2);
});

test('a healthy server does not wait for its turn behind many that hang', async () => {
  // Longer than a test may take: waiting for one of them would never end.
  const startupTimeout = '10m';
  const hung = Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [`hung${n}`, { ...stdio('hang-init', `n=${n}`), startupTimeout }]),
  );
  const session = await openSession(emptyPlace(), {
    mcpServers: { ...hung, healthy: stdio() },
    connect: { firstListWait: '100ms' },
  });
  expect(await session.exec('healthy', 'echo', { a: 1 })).toMatchObject({ text: '{"a":1}', isError: false });
});

test('a healthy server answers as usual beside a dead, a silent, a babbling, a flooding and an endless one', async () => {
  const babble = `setInterval(() => process.stdout.write('no JSON at all\\n'.repeat(500)), 5); process.stdin.resume().on('end', () => process.exit());`;
  const session = await openSession(emptyPlace(), {
    mcpServers: {
      healthy: stdio(),
      dead: { command: 'no-such-program-anywhere' },
      silent: { ...stdio('hang-init'), startupTimeout: '2s' },
      babbling: { command: node, args: ['-e', babble], startupTimeout: '2s' },
      flooding: stdio(),
      endless: { ...stdio(), timeout: '3s' },
    },
    connect: { firstListWait: '500ms' },
  });
  const trouble = Promise.all([
    session.exec('dead', 'x'),
    session.exec('silent', 'x'),
    session.exec('babbling', 'x'),
    session.exec('flooding', 'flood', { count: 20_000 }),
    session.exec('endless', 'endless'),
  ]);
  const calls: Said[] = [];
  let over = false;
  let meanwhile = 0;
  void trouble.then(() => {
    over = true;
    meanwhile = calls.length;
  });
  while (!over || calls.length < 50) calls.push(await session.exec('healthy', 'echo', { n: calls.length }));
  expect(calls.map(({ text }) => text)).toEqual(calls.map((_, n) => `{"n":${n}}`));
  expect(meanwhile).toBeGreaterThan(0);
  if (process.platform === 'linux') expect(peakMemory(session.pid)).toBeLessThan(300);
  const [dead, silent, babbling, flooding, endless] = await trouble;
  expect(dead.text).toContain('no-such-program-anywhere');
  expect(silent.text).toContain('"silent"');
  expect(babbling.text).toContain('"babbling"');
  expect(flooding).toMatchObject({ text: 'flooded', isError: false });
  expect(endless.isError).toBe(true);
  expect(endless.text).toContain('"endless');
});
