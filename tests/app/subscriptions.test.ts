/** Subscriptions of clients at real servers: they survive whatever becomes of the connection that carries them. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import { loadConfig } from '../../src/config/load.ts';
import { SILENT } from '../../src/observe/log.ts';
import { PATIENCE } from '../setup/until.ts';

const FIXTURE = resolve(import.meta.dirname, '../fixtures/servers/stdio.mjs');
const URI = 'test://thing';

function stageApp({ mcpServers = {}, settings = {} } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-subscriptions-'));
  const [file, log] = [join(folder, 'config.json'), join(folder, 'log')];
  const a = { command: process.execPath, args: [FIXTURE, `log=${log}`] };
  writeFileSync(file, JSON.stringify({ ...settings, mcpServers: { a, ...mcpServers } }));
  const app = createApp(loadConfig({ files: [file] }).config, { log: SILENT });
  onTestFinished(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  /** The processes that were started, each with the subscriptions that it was asked for. */
  const processes = () => {
    const started: { pid: number; asked: string[] }[] = [];
    for (const line of (existsSync(log) ? readFileSync(log, 'utf8') : '').trim().split('\n').filter(Boolean)) {
      const { started: pid, method } = JSON.parse(line);
      if (pid !== undefined) started.push({ pid, asked: [] });
      else if (/resources\/(un)?subscribe/.test(method)) started.at(-1)?.asked.push(method);
    }
    return started;
  };
  /** Opens the session of a client. */
  const open = async (key: string, capabilities: object = {}) => {
    const heard: string[] = [];
    const ask = async () => ({ roots: [{ uri: 'file:///same' }] });
    const downstream = { key, notify: (method: string) => void heard.push(method), ask };
    const { front, close } = app.open({ profile: 'default', front: 'aggregate', downstream });
    const request = (method: string, params: object = {}) =>
      front.request({ method, params: { ...params } }, { signal: AbortSignal.timeout(PATIENCE), ask }) as Promise<any>;
    await request('initialize', { capabilities });
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const call = async (tool: string, args: object = {}) =>
      (await request('tools/call', { name: `a__${tool}`, arguments: args })).content[0].text as string;
    const subscribe = () => request('resources/subscribe', { uri: exposeUri({ server: 'a', uri: URI }, 'wrap') });
    /** Makes the server announce an update of the resource. */
    const update = () => call('say', { method: 'notifications/resources/updated', params: { uri: URI } });
    return { heard, close, request, call, subscribe, update };
  };
  const states = () =>
    Object.fromEntries((app.status().profiles[0]?.servers ?? []).map(({ name, state }) => [name, state]));
  return { open, processes, states };
}

test('a restarted server is asked again, once for all sessions', async () => {
  const { open, processes } = stageApp();
  const [one, two] = [await open('one'), await open('two')];
  await one.subscribe();
  await two.subscribe();
  await one.call('exit', { code: 1 }).catch(() => undefined);
  await one.call('pid');
  await expect.poll(processes).toHaveLength(2);
  await one.update();
  await expect.poll(() => [one.heard, two.heard].flat()).toEqual(Array(2).fill('notifications/resources/updated'));
  expect(processes().map(({ asked }) => asked)).toEqual([
    ['resources/subscribe', 'resources/subscribe'],
    ['resources/subscribe'],
  ]);
});

test('a subscription follows its session to the process that has its roots', async () => {
  const { open, processes } = stageApp();
  const [one, two] = [await open('one', { roots: {} }), await open('two', { roots: {} })];
  const pid = await one.call('pid');
  expect(await two.call('pid')).toBe(pid);
  await one.subscribe();
  await two.subscribe();
  // The server asks for roots while it serves two clients, so that each goes to a process with its roots.
  await one.call('ask', { method: 'roots/list' });
  const next = await one.call('pid');
  expect(next).not.toBe(pid);
  // The new process is ready when the second session moves to it.
  expect(await two.call('pid')).toBe(next);
  await one.update();
  await expect.poll(() => [one.heard, two.heard].flat()).toEqual(Array(2).fill('notifications/resources/updated'));
  expect(processes().map(({ asked }) => asked.length)).toEqual([2, 2]);
});

test('a process without calls runs as long as a session is subscribed on it', async () => {
  const other = { command: process.execPath, args: [FIXTURE] };
  const { open, states } = stageApp({ mcpServers: { other }, settings: { connect: { idleStop: 200 } } });
  const one = await open('one');
  await one.subscribe();
  await one.request('tools/call', { name: 'other__pid', arguments: {} });
  // The other server was used last.
  await expect.poll(states, { timeout: PATIENCE }).toEqual({ a: 'ready', other: 'idle' });
  one.close();
  await expect.poll(states, { timeout: PATIENCE }).toEqual({ a: 'idle', other: 'idle' });
});
