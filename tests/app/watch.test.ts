/** Files that change in all the ways in which editors and tools write them. */
import {
  appendFileSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { watchFiles } from '../../src/app/watch.ts';

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
    await told;
    expect(changes).toBe(before + 1);
  };
  return { path, watch, next, count: () => changes };
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

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
  const { path, watch, next, count } = stageFolder();
  watch();
  await next(() => {
    for (let index = 0; index < 20; index += 1) appendFileSync(path('config.json'), ' ');
  });
  writeFileSync(path('other.json'), '{}');
  await pause(500);
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
  const { path, watch, next, count } = stageFolder();
  const watching = watch();
  writeFileSync(path('second.json'), '{}');
  watching.update([path('second.json')]);
  await next(() => writeFileSync(path('second.json'), '{"x": 1}'));
  watching.close();
  writeFileSync(path('second.json'), '{"x": 2222}');
  await pause(500);
  expect(count()).toBe(1);
});
