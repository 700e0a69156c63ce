/** Files that change in all the ways in which editors and tools write them. */
import { once } from 'node:events';
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  watch as watchFolder,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { watchFiles } from '../../src/app/watch-files.ts';
import { passTime } from '../setup/clock.ts';

function stageFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-watch-'));
  const path = (name: string) => join(folder, name);
  let changes = 0;
  let wake = () => {};
  writeFileSync(path('config.json'), '{}');
  const watch = (files = [path('config.json')]) => {
    const watching = watchFiles(files, () => {
      changes += 1;
      wake();
    });
    onTestFinished(() => {
      watching.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return watching;
  };
  const next = async (act: () => void) => {
    const before = changes;
    const told = new Promise<void>((resolve) => {
      wake = resolve;
    });
    act();
    await (vi.isFakeTimers() ? passTime(told) : told);
    expect(changes).toBe(before + 1);
  };
  /** Writes a file, waits until the system has told of it, and lets a minute pass. The clock must be stopped. */
  const writeAndWait = async (name: string, text: string) => {
    const watcher = watchFolder(folder);
    onTestFinished(() => watcher.close());
    const told = once(watcher, 'change');
    writeFileSync(path(name), text);
    await told;
    await vi.advanceTimersByTimeAsync(60_000);
  };
  return { path, watch, next, writeAndWait, count: () => changes };
}

/** Stops the clock of the watch, which also looks at intervals. */
function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
  onTestFinished(() => void vi.useRealTimers());
}

test.each<[string, (path: (name: string) => string) => void]>([
  ['in place', (path) => writeFileSync(path('config.json'), '{"a": 1}')],
  [
    'by temp and rename',
    (path) => {
      writeFileSync(path('.tmp'), '{"b": 1}');
      renameSync(path('.tmp'), path('config.json'));
    },
  ],
  [
    'by moving the old one away first',
    (path) => {
      renameSync(path('config.json'), path('config.json~'));
      writeFileSync(path('config.json'), '{"c": 1}');
    },
  ],
  ['by deleting it', (path) => unlinkSync(path('config.json'))],
])('a change is told: %s, and again the next time', async (_, write) => {
  const { path, watch, next } = stageFolder();
  watch();
  await next(() => write(path));
  await next(() => writeFileSync(path('config.json'), '{"again": true}'));
});

test('many writes in a row are one change, and other files are none', async () => {
  stopClock();
  const { path, watch, next, writeAndWait, count } = stageFolder();
  watch();
  await next(() => {
    for (let index = 0; index < 20; index += 1) appendFileSync(path('config.json'), ' ');
  });
  await writeAndWait('other.json', '{}');
  expect(count()).toBe(1);
});

test.skipIf(process.platform === 'win32')('a link to a folder that is swapped is a change', async () => {
  const { path, watch, next } = stageFolder();
  for (const name of ['one', 'two']) {
    mkdirSync(path(name));
    writeFileSync(join(path(name), 'config.json'), `{"from": "${name}"}`);
  }
  symlinkSync(path('one'), path('data'));
  watch([join(path('data'), 'config.json')]);
  await next(() => {
    symlinkSync(path('two'), path('data.new'));
    renameSync(path('data.new'), path('data'));
  });
});

test('other files can be watched instead, and nothing is told after the end', async () => {
  stopClock();
  const { path, watch, next, writeAndWait, count } = stageFolder();
  const watching = watch();
  writeFileSync(path('second.json'), '{}');
  watching.update([path('second.json')]);
  await next(() => writeFileSync(path('second.json'), '{"x": 1}'));
  watching.close();
  await writeAndWait('second.json', '{"x": 2222}');
  expect(count()).toBe(1);
});
