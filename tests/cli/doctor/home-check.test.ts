/** The folder of mcpx: a disk that is full, secrets that others can read, and its sizes. */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { checkHome } from '../../../src/cli/doctor/home-check.ts';
import { environmentOf } from '../../../src/config/environment.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, statfsSync: vi.fn(fs.statfsSync) };
});

function place() {
  const home = mkdtempSync(join(tmpdir(), 'mcpx-doctor-home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return { folder: join(home, '.mcpx'), world: environmentOf({ home, env: {} }) };
}

test.each([
  [10, [{ code: 'disk-full', level: 'error' }]],
  [100, [{ code: 'disk-full', level: 'warning' }]],
  [1000, []],
])('a disk with %i MB left', async (megabytes, findings) => {
  const { folder, world } = place();
  const free = { bavail: megabytes, bsize: 1024 * 1024 } as ReturnType<typeof statfsSync>;
  vi.mocked(statfsSync).mockReturnValueOnce(free as never);
  const found = await checkHome(world);
  expect(found.findings).toMatchObject(findings);
  expect(found.facts[0]).toContain(`${megabytes} MB free`);
  for (const { message, command } of found.findings) {
    expect(message).toBe(`the disk of "${folder}" has only ${megabytes} MB left`);
    expect(command).toBe(`rm -rf ${join(folder, 'cache')} ${join(folder, 'logs')}`);
  }
});

test.skipIf(process.platform === 'win32')('secrets that others can read (needs POSIX modes)', async () => {
  const { folder, world } = place();
  mkdirSync(folder);
  const file = join(folder, 'secrets.env');
  writeFileSync(file, 'A=b\n');
  chmodSync(file, 0o644);
  expect((await checkHome(world)).findings).toMatchObject([
    { code: 'secrets-readable', level: 'warning', command: `chmod 600 ${file}` },
  ]);
  chmodSync(file, 0o600);
  expect((await checkHome(world)).findings).toEqual([]);
});

test('the sizes of its parts are shown, and no orphan is left', async () => {
  const { folder, world } = place();
  mkdirSync(join(folder, 'cache'), { recursive: true });
  writeFileSync(join(folder, 'cache', 'x.json'), 'x'.repeat(3000));
  const { facts } = await checkHome(world);
  expect(facts[0]).toContain('; cache 3 KB');
  expect(facts[1]).toBe('no process is left from an mcpx that was killed');
});
