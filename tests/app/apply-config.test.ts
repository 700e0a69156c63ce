/** Another config in a running app: what is the same goes on, what is gone finishes its calls, what fails changes nothing. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type App, createApp } from '../../src/app/app.ts';
import { createReloader } from '../../src/app/reload-queue.ts';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import type { Config } from '../../src/config/config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog, SILENT } from '../../src/observe/log.ts';
import { isRecord } from '../../src/wire/message.ts';
import { withoutTimes } from '../setup/log-lines.ts';
import { PATIENCE, until } from '../setup/until.ts';

const FIXTURE = resolve(import.meta.dirname, '../fixtures/servers/stdio.mjs');
const stdio = (...args: string[]) => ({ command: process.execPath, args: [FIXTURE, ...args] });

interface Stage {
  app: App;
  file: string;
  write(document: unknown): void;
  load(): Config;
  reload(document: unknown): ReturnType<App['reload']>;
}

function stageApp(document: unknown): Stage {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-reload-'));
  const file = join(folder, 'config.json');
  const write = (text: unknown) => writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text));
  const load = () => loadConfig({ files: [file] }).config;
  write(document);
  const app = createApp(load(), { log: SILENT });
  onTestFinished(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const reload = (next: unknown) => {
    write(next);
    return app.reload(load());
  };
  return { app, file, write, load, reload };
}

function client(app: App, profile = 'default') {
  const heard: string[] = [];
  const { front, close } = app.open({
    profile,
    front: 'aggregate',
    downstream: { key: `k${Math.random()}`, notify: (method) => void heard.push(method) },
  });
  const request = (method: string, params = {}) =>
    front.request({ method, params }, { signal: AbortSignal.timeout(PATIENCE) }) as Promise<any>;
  return {
    heard,
    close,
    request,
    call: async (name: string, args: unknown = {}) => {
      const result = await request('tools/call', { name, arguments: args });
      return isRecord(result) ? (result.content as { text: string }[])[0]?.text : undefined;
    },
    tools: async () => (await request('tools/list')).tools.map(({ name }: { name: string }) => name.split('__')[0]),
  };
}

test('a server that is the same keeps its process; another description or filter does not restart it', async () => {
  const { app, reload } = stageApp({ mcpServers: { a: stdio() } });
  const { call, tools } = client(app);
  const pid = await call('a__pid');
  const change = reload({
    mcpServers: { b: stdio(), a: { ...stdio(), description: 'other words', tools: { deny: ['never'] } } },
  });
  expect(change).toEqual({ added: ['b'], changed: [], removed: [], restart: [] });
  expect(await call('a__pid')).toBe(pid);
  expect(new Set(await tools())).toEqual(new Set(['a', 'b']));
  await expect(call('a__never')).rejects.toThrow();
});

test('a changed server takes the next call, and the old one finishes the calls under way', async () => {
  const { app, reload } = stageApp({ mcpServers: { a: stdio() } });
  const { call } = client(app);
  const pid = await call('a__pid');
  const slow = call('a__sleep', { ms: 500 });
  await untilSent(app);
  expect(reload({ mcpServers: { a: stdio('other') } }).changed).toEqual(['a']);
  const next = await call('a__pid');
  expect(next).not.toBe(pid);
  expect(await slow).toBe('slept');
  await until(() => !isAlive(Number(pid)));
});

test('a subscription goes on with what took the place of its server, and can be called off', async () => {
  const { app, file, reload } = stageApp({ mcpServers: {} });
  const log = (name: string) => join(file, '..', name);
  const said = (name: string) => (existsSync(log(name)) ? readFileSync(log(name), 'utf8') : '');
  const server = (name: string, share = 'session') => ({ mcpServers: { a: { ...stdio(`log=${log(name)}`), share } } });
  reload(server('one'));
  const { request, call, heard } = client(app);
  const uri = exposeUri({ server: 'a', uri: 'x://y' }, 'wrap');
  await request('resources/subscribe', { uri });
  reload({ mcpServers: {} });
  reload(server('two'));
  await until(() => said('two').includes('"resources/subscribe"'));
  reload(server('three', 'all'));
  await until(() => said('three').includes('"resources/subscribe"'));
  await call('a__say', { method: 'notifications/resources/updated', params: { uri: 'x://y' } });
  expect(heard).toContain('notifications/resources/updated');
  expect(await request('resources/unsubscribe', { uri })).toEqual({});
  expect(said('three')).toContain('"resources/unsubscribe"');
  await request('resources/subscribe', { uri });
  reload(server('four'));
  expect(await request('resources/unsubscribe', { uri })).toEqual({});
  await call('a__echo');
  expect(said('four')).not.toContain('"resources/');
});

/** Resolves when a call is under way and has been sent, which takes less than a turn of the event loop. */
async function untilSent(app: App): Promise<void> {
  await until(() => app.status().calls.live.length === 1);
  await new Promise((resolve) => setImmediate(resolve));
}

test('a server that is gone finishes its calls, is missing for others, and ends', async () => {
  const { app, reload } = stageApp({ mcpServers: { a: stdio(), b: stdio() } });
  const one = client(app);
  const pid = await one.call('a__pid');
  const slow = one.call('a__sleep', { ms: 300 });
  await untilSent(app);
  expect(reload({ mcpServers: { b: stdio() } }).removed).toEqual(['a']);
  await expect(one.call('a__echo')).rejects.toThrow();
  expect(await slow).toBe('slept');
  await until(() => !isAlive(Number(pid)));
  await until(() => one.heard.includes('notifications/tools/list_changed'));
});

test('profiles come, go and are switched off; their calls under way finish', async () => {
  const mcpServers = { a: stdio() };
  const { app, reload } = stageApp({ mcpServers, profiles: { default: {}, second: {} } });
  const { call } = client(app, 'second');
  const pid = await call('a__pid');
  const slow = call('a__sleep', { ms: 300 });
  await untilSent(app);
  reload({ mcpServers, profiles: { default: {}, second: { enabled: false }, third: {} } });
  expect(['default', 'second', 'third', 'fourth'].map((name) => app.profileState(name))).toEqual([
    ...['enabled', 'disabled', 'enabled', 'unknown'],
  ]);
  expect(await slow).toBe('slept');
  await until(() => !isAlive(Number(pid)));
  expect(await client(app, 'third').tools()).toContain('a');
  expect(reload({ mcpServers, profiles: { default: {} } }).removed).toEqual(['third/a']);
});

test('other rules hold at once, in sessions that are open too', async () => {
  const { app, reload } = stageApp({ mcpServers: { a: stdio() } });
  const { call } = client(app);
  expect(await call('a__echo', { n: 1 })).toBe('{"n":1}');
  reload({ mcpServers: { a: stdio() }, policy: { deny: ['a.echo'] } });
  await expect(call('a__echo', { n: 1 })).rejects.toThrow();
  reload({ mcpServers: { a: stdio() } });
  expect(await call('a__echo', { n: 2 })).toBe('{"n":2}');
});

test('an env file that changed restarts its server, and no other', async () => {
  const { app, file, reload } = stageApp({ mcpServers: {} });
  writeFileSync(join(file, '..', 'a.env'), 'WORD=one\n');
  const document = { mcpServers: { a: { ...stdio(), envFile: './a.env' }, b: stdio() } };
  reload(document);
  const { call } = client(app);
  const before = await call('b__pid');
  expect(JSON.parse((await call('a__env')) ?? '').WORD).toBe('one');
  writeFileSync(join(file, '..', 'a.env'), 'WORD=two\n');
  expect(reload(document)).toMatchObject({ changed: ['a'] });
  expect(JSON.parse((await call('a__env')) ?? '').WORD).toBe('two');
  expect(await call('b__pid')).toBe(before);
  expect(reload(document)).toMatchObject({ added: [], changed: [], removed: [] });
});

const AT_START: [path: string, settings: object][] = [
  ['http.host', { http: { host: '127.0.0.2' } }],
  ['http.port', { http: { port: 1234 } }],
  ['log', { log: { level: 'debug' } }],
  ['lock', { lock: 'off' }],
  ['watch', { watch: true }],
  ['connect.concurrency', { connect: { concurrency: 1 } }],
  ['stats', { stats: false }],
];

test.each(AT_START)('%s needs a start, and is named', (path, settings) => {
  expect(stageApp({ mcpServers: {} }).reload({ mcpServers: {}, ...settings }).restart).toEqual([path]);
});

test('several settings that need a start are all named', () => {
  const settings = { http: { host: '127.0.0.2', port: 1234 }, stats: false };
  const { restart } = stageApp({ mcpServers: {} }).reload({ mcpServers: {}, ...settings });
  expect(restart).toEqual(['http.host', 'http.port', 'stats']);
});

test.each(['docs/configuration.md', 'docs/zh-CN/configuration.md'])(
  '%s has the settings that need a start, and no others',
  (file) => {
    const text = readFileSync(resolve(import.meta.dirname, '../..', file), 'utf8');
    const [, listed = ''] = /^\| (`http\.host`[^|]*)\|/m.exec(text) ?? [];
    expect(listed.match(/(?<=`)[\w.]+(?=`)/g)).toEqual(AT_START.map(([path]) => path));
  },
);

test.each([
  { limits: { resultStore: 1_000_000, resultChars: 5000, concurrentCalls: 5, children: 5, messageBytes: 100_000 } },
  {
    connect: { mode: 'eager', firstListWait: 5, idleStop: 60_000 },
    health: { interval: 5000 },
    search: { usage: false },
  },
  { http: { rate: 5, maxBody: 100_000, hosts: ['a.test'] }, policy: { deny: ['a.b'] }, front: { kind: 'aggregate' } },
])('what holds without a start is not named: %o', (settings) => {
  expect(stageApp({ mcpServers: {} }).reload({ mcpServers: {}, ...settings }).restart).toEqual([]);
});

test('a config that cannot be used is told, and the old one goes on', async () => {
  const { app, write, load, file } = stageApp({ mcpServers: { a: stdio() } });
  const { call } = client(app);
  const pid = await call('a__pid');
  const logged: string[] = [];
  const log = createLog({ write: (line) => logged.push(line) });
  const events: unknown[] = [];
  app.watch(undefined, (event) => event.type === 'reload' && events.push(event.ok));
  const { reload } = createReloader({ app, load, log });
  for (const [broken, words] of [
    ['{ "mcpServers": { ', /the old one stays in effect: a "\}" is missing/],
    [{ mcpServers: { a: { command: 5 } } }, /the old one stays/],
    [{ mcpServers: {}, audit: { file: join(file, 'x') } }, /the audit log .* cannot be written/],
  ] as const) {
    write(broken);
    await expect(reload('test')).rejects.toThrow();
    expect(logged.at(-1)).toMatch(words);
    expect(await call('a__pid')).toBe(pid);
  }
  write({ mcpServers: { a: stdio(), b: stdio() } });
  await reload('test');
  expect(withoutTimes(logged.at(-1) ?? '')).toBe('mcpx info: reloaded (test): added "b"\n');
  expect(events).toEqual([false, false, false, true]);
});

test('reloads that overlap are settled one after the other', async () => {
  const { app, load, write } = stageApp({ mcpServers: { a: stdio() } });
  const order: string[] = [];
  const reloader = createReloader({ app, load, log: SILENT });
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const first = reloader.alone(async (reload) => {
    order.push('first begins');
    await held;
    reload('first');
    order.push('first ends');
  });
  write({ mcpServers: { b: stdio() } });
  const second = reloader.reload('second').then((change) => order.push(`second ${change.added.length}`));
  await new Promise((resolve) => setImmediate(resolve));
  expect(order).toEqual(['first begins']);
  release();
  await Promise.all([first, second]);
  expect(order).toEqual(['first begins', 'first ends', 'second 0']);
});

test('what waits when preparing fails is not applied', async () => {
  const { app, load, write } = stageApp({ mcpServers: { a: stdio() } });
  write({ mcpServers: { b: stdio() } });
  const prepare = () => {
    throw new Error('no');
  };
  await expect(createReloader({ app, load, log: SILENT, prepare }).reload('x')).rejects.toThrow('no');
  expect(app.status().profiles[0]?.servers.map(({ name }) => name)).toEqual(['a']);
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
