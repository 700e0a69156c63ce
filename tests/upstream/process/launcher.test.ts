/** Servers that are started by programs which download them first. */
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, test, vi } from 'vitest';
import type { StdioServer } from '../../../src/config/config.ts';
import { isFetching, launcherOf } from '../../../src/upstream/process/launcher.ts';
import { call, cleanup, connection, fixture, recorder, stdioSpec, stopClock, until } from '../world.ts';

test.each([
  ['npx', ['-y', '@scope/server'], 'npx'],
  ['C:\\Program Files\\nodejs\\NPX.CMD', ['-y', 'x'], 'npx'],
  ['cmd', ['/c', 'npx', '-y', 'x'], 'npx'],
  ['/opt/bin/uvx', ['server'], 'uvx'],
  ['docker', ['run', '-i', '--rm', 'image'], 'docker'],
  ['docker', ['exec', '-i', 'container', 'server'], undefined],
  ['npm', ['--silent', 'exec', 'x'], 'npm'],
  ['npm', ['start'], undefined],
  ['node', ['npx.js'], undefined],
  ['constructor', [], undefined],
])('%s %j is started by %s', (command, args, launcher) => {
  expect(launcherOf(stdioSpec(command, args))).toBe(launcher);
});

test.each([
  ['has not said anything', [], false],
  ['looks for the image', ["Unable to find image 'a/b:latest' locally", 'latest: Pulling from a/b'], true],
  ['unpacks', ['latest: Pulling from a/b', '3f4: Download complete', '3f4: Pull complete'], true],
  ['has the image', ['latest: Pulling from a/b', 'Status: Downloaded newer image for a/b:latest', 'hello'], false],
])('a container engine that %s: %j', (_, stderr, fetching) => {
  expect(isFetching({ launcher: 'docker', pid: 1, stderr })).toBe(fetching);
});

/** A server that a slow launcher starts, as soon as `finish` was called. */
async function slowServer(flags: string[] = [], more: Partial<StdioServer> = {}, launcher = 'npx') {
  const folder = await mkdtemp(join(tmpdir(), 'mcpx-npx-'));
  cleanup(() => rm(folder, { recursive: true, force: true }));
  const script = launcher === 'docker' ? 'docker.mjs' : 'npx.mjs';
  const launchers = new URL('../../fixtures/launchers/', import.meta.url);
  await symlink(fileURLToPath(new URL(script, launchers)), join(folder, launcher));
  const [launches, downloaded, log] = ['launches', 'downloaded', 'log'].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const env = {
    PATH: `${folder}${delimiter}${process.env.PATH}`,
    MCPX_TEST_DOWNLOADED: downloaded,
    MCPX_TEST_LAUNCHES: launches,
  };
  const first = launcher === 'docker' ? 'run' : '-y';
  const spec = stdioSpec(launcher, [first, fixture('stdio.mjs'), `log=${log}`, ...flags], {
    ...more,
    env: { ...env, ...more.env },
  });
  const lines = (file: string) => () => {
    try {
      return readFileSync(file, 'utf8').trim().split('\n');
    } catch {
      return [];
    }
  };
  return { spec, finish: () => writeFileSync(downloaded, ''), launches: lines(launches), seen: lines(log) };
}

const MINUTE = 60_000;

describe.skipIf(process.platform === 'win32')('the first start by docker and uvx', () => {
  test.each([
    ['docker', { MCPX_TEST_PULLS: '1' }],
    ['uvx', {}],
  ])('goes on after the limit of a start while %s downloads, in one process', async (launcher, env) => {
    const { spec, finish, launches } = await slowServer([], { env }, launcher);
    stopClock();
    const upstream = connection(spec);
    const early = call(upstream, 'echo', {}).catch((error) => error);
    await until(() => launches().length === 1);
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(await early).toHaveProperty(
      'message',
      `server "x" is not ready yet: ${launcher} has been downloading it for 61 s`,
    );
    expect(upstream.state).toMatchObject({ kind: 'connecting', fetching: launcher });
    finish();
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    expect(launches()).toHaveLength(1);
  });

  test('is one container where it takes seconds to come up and its command is idle', async () => {
    const { spec, finish, launches } = await slowServer([], {}, 'docker');
    stopClock();
    const upstream = connection(spec);
    const answer = call(upstream, 'echo', { a: 1 });
    await until(() => launches().length === 1);
    await vi.advanceTimersByTimeAsync(4000);
    finish();
    expect(await answer).toEqual({ a: 1 });
    expect(launches()).toHaveLength(1);
  });

  test('fails at once with what docker says where there is no image', async () => {
    const { spec } = await slowServer([], { env: { MCPX_TEST_REFUSED: '1' } }, 'docker');
    const error = await connection(spec)
      .connect()
      .catch((reason) => reason);
    expect(error).toMatchObject({ code: 'unreachable' });
    expect(error.message).toContain('pull access denied for a/b');
  });
});

describe.skipIf(process.platform === 'win32')('the first start by npx', () => {
  test('goes on after the limit of a start while the server is downloaded, in one process', async () => {
    const { spec, finish, launches } = await slowServer();
    stopClock();
    const { log, lines } = recorder();
    const upstream = connection(spec, { log });
    const early = call(upstream, 'echo', {}).catch((error) => error);
    await until(() => launches().length === 1);
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(await early).toMatchObject({
      code: 'timeout',
      message: 'server "x" is not ready yet: npx has been downloading it for 61 s',
      hint: 'try again in a minute',
    });
    expect(upstream.state).toMatchObject({ kind: 'connecting', fetching: 'npx' });
    expect(lines.filter((line) => line.startsWith('info'))).toEqual(
      [10, 20, 30, 60, 120].map((s) => `info: server "x" is still starting after ${s} s: npx is downloading it`),
    );
    finish();
    expect(await call(upstream, 'echo', { a: 1 })).toEqual({ a: 1 });
    expect(launches()).toHaveLength(1);
  });

  test('is waited for as long as it takes where a person waits', async () => {
    const { spec, finish, launches } = await slowServer();
    stopClock();
    const told: string[] = [];
    const upstream = connection(spec, { attended: (line) => told.push(line) });
    const answer = call(upstream, 'echo', { a: 1 });
    await until(() => launches().length === 1);
    await vi.advanceTimersByTimeAsync(2 * MINUTE);
    expect(told[0]).toBe('server "x" is still starting after 10 s: npx is downloading it');
    finish();
    expect(await answer).toEqual({ a: 1 });
  });

  test.runIf(process.platform === 'linux')('fails when the server says nothing once it is downloaded', async () => {
    const { spec, finish, seen } = await slowServer(['hang-init']);
    finish();
    stopClock();
    const upstream = connection(spec);
    const failed = upstream.connect().catch((error) => error);
    await until(() => seen().length > 0);
    await vi.advanceTimersByTimeAsync(MINUTE + 1000);
    expect(await failed).toMatchObject({
      code: 'unreachable',
      message: 'server "x" did not start within 60000 ms',
      hint: 'run its command once in a terminal, so that npx has it, or raise "startupTimeout" of server "x" in the config',
    });
  });

  test('ends after ten minutes at the latest', async () => {
    const { spec, launches } = await slowServer();
    stopClock();
    const upstream = connection(spec, { attended: () => undefined });
    const failed = upstream.connect().catch((error) => error);
    await until(() => launches().length === 1);
    await vi.advanceTimersByTimeAsync(10 * MINUTE + 1000);
    expect(await failed).toMatchObject({
      code: 'unreachable',
      message: 'server "x" did not start: npx did not finish its download within 10 minutes',
    });
  });
});
