/** An app with real servers behind it: what begins and ends with its clients. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import { loadConfig } from '../../src/config/load.ts';
import { SILENT } from '../../src/observe/log.ts';
import type { Params } from '../../src/wire/message.ts';
import { PATIENCE } from '../setup/until.ts';

const fixture = (file: string, ...args: string[]) => ({
  command: process.execPath,
  args: [resolve(import.meta.dirname, '../fixtures/servers', file), ...args],
});

function stageApp(servers: (folder: string) => Record<string, object>) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-app-'));
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers: servers(folder) }));
  const app = createApp(loadConfig({ files: [file] }).config, { log: SILENT });
  onTestFinished(async () => {
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return { app, folder };
}

test('nothing is started on behalf of a client that has left', async () => {
  const { app, folder } = stageApp((folder) => ({
    a: { ...fixture('stdio.mjs', `log=${join(folder, 'log')}`), share: 'session' },
  }));
  const downstream = { key: 'k', notify: () => undefined };
  const { front, close } = app.open({ profile: 'default', front: 'compact', downstream });
  const client = new AbortController();
  const { signal } = client;
  const request = (method: string, params: Params = {}) => front.request({ method, params }, { signal });
  await request('initialize', { capabilities: {}, clientInfo: { name: 'gone', version: '1' } });
  client.abort();
  close();
  const uri = exposeUri({ server: 'a', uri: 'x://y' }, 'wrap');
  await request('tools/list');
  await expect(request('resources/read', { uri })).rejects.toMatchObject({ code: 'cancelled' });
  const echo = { server_name: 'a', tool_name: 'echo', arguments: {} };
  expect(await request('tools/call', { name: 'exec', arguments: echo })).toMatchObject({ isError: true });
  const said = readFileSync(join(folder, 'log'), 'utf8');
  expect([said.split('"started"').length - 1, said.includes('gone (via mcpx)')]).toEqual([1, false]);
});

test('what a client subscribes to before its server was ever met is told to it', async () => {
  const { app } = stageApp(() => ({ a: fixture('two-eras.mjs', 'modern-only') }));
  const told: string[] = [];
  const downstream = { key: 'k', notify: (method: string) => void told.push(method) };
  const { front } = app.open({ profile: 'default', front: 'compact', downstream });
  const request = (method: string, params: Params) =>
    front.request({ method, params }, { signal: AbortSignal.timeout(PATIENCE) });
  // Until its era is known, a client with roots would get a connection of its own.
  await request('initialize', { capabilities: { roots: {} } });
  await request('resources/subscribe', { uri: exposeUri({ server: 'a', uri: 'test://thing' }, 'wrap') });
  await request('tools/call', { name: 'exec', arguments: { server_name: 'a', tool_name: 'touch', arguments: {} } });
  await expect.poll(() => told).toContain('notifications/resources/updated');
});
