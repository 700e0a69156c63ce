/** When `serve` reads its config again. */
import { once } from 'node:events';
import { mkdtempSync, rmSync, watch, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createApp } from '../../src/app/app.ts';
import { createReloading } from '../../src/cli/reload-triggers.ts';
import { loadConfig } from '../../src/config/load.ts';
import { createLog, SILENT } from '../../src/observe/log.ts';

function stage(document: object) {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-reloading-'));
  const file = join(folder, 'config.json');
  const write = (next: object) => writeFileSync(file, JSON.stringify(next));
  write(document);
  const load = () => loadConfig({ files: [file] }).config;
  const config = load();
  const app = createApp(config, { log: SILENT });
  const lines: string[] = [];
  let wake = () => {};
  const log = createLog({
    write: (line) => {
      lines.push(line);
      wake();
    },
  });
  const reloading = createReloading({ app, config, load, prepare: () => () => {}, log });
  onTestFinished(async () => {
    reloading.close();
    await app.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const logged = async (pattern: RegExp) => {
    while (!lines.some((line) => pattern.test(line))) {
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { folder, write, reloading, logged, lines };
}

const server = (more = {}) => ({ command: process.execPath, args: ['-e', ''], ...more });

test('with "watch" the config and the env files of servers are watched, those of the new config too', async () => {
  const { folder, write, logged } = stage({ watch: true, mcpServers: {} });
  writeFileSync(join(folder, 'a.env'), 'A=1\n');
  write({ watch: true, mcpServers: { a: server({ envFile: './a.env' }) } });
  await logged(/reloaded \(a file changed\): added "a"/);
  writeFileSync(join(folder, 'a.env'), 'A=22\n');
  await logged(/reloaded \(a file changed\): changed "a"/);
  write({ watch: true, mcpServers: { a: 5 } });
  await logged(/the config was not reloaded/);
});

test('without it nothing is read until somebody asks', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const { folder, write, reloading, lines } = stage({ mcpServers: {} });
  // The watcher of the folder has reported the change, and a minute passes.
  const watcher = watch(folder);
  onTestFinished(() => watcher.close());
  const told = once(watcher, 'change');
  write({ mcpServers: { a: server() } });
  await told;
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  expect(lines).toEqual([]);
  expect(await reloading.reload('SIGHUP')).toMatchObject({ added: ['a'] });
});
