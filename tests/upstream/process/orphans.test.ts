import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type ChildRecords, createChildRecords, identityOf } from '../../../src/upstream/process/orphans.ts';
import { cleanup, connection, isRunning, recorder, serverSpec, until } from '../world.ts';

const WINDOWS = process.platform === 'win32';

interface World {
  folder: string;
  records: ChildRecords;
  lines: string[];
  files(): string[];
  /** Changes the record of the only child. */
  change(edit: (record: any) => void): void;
}

function world(platform: NodeJS.Platform = process.platform): World {
  const folder = join(mkdtempSync(join(tmpdir(), 'mcpx-run-')), 'run');
  const { log, lines } = recorder();
  const files = () => (existsSync(folder) ? readdirSync(folder) : []);
  return {
    folder,
    records: createChildRecords({ folder, log, platform }),
    lines,
    files,
    change(edit) {
      const file = join(folder, files()[0] ?? '');
      const record = JSON.parse(readFileSync(file, 'utf8'));
      edit(record);
      writeFileSync(file, JSON.stringify(record));
    },
  };
}

/** A child that leads its own group and ends only when told. */
function child(script = 'setInterval(() => {}, 1000)'): ChildProcess & { pid: number } {
  const started = spawn(process.execPath, ['-e', script], { detached: true, stdio: 'ignore' });
  cleanup(() => started.kill('SIGKILL'));
  return started as ChildProcess & { pid: number };
}

const GONE = { pid: 4_000_000, started: '1' };

describe.skipIf(WINDOWS)('the record of a child', () => {
  test('is there as long as the child is, for its owner only', async () => {
    const { records, files, folder } = world();
    const upstream = connection(serverSpec(), { children: records });
    await upstream.connect();
    const { pid = 0 } = upstream.diagnostics();
    expect(files()).toEqual([`${process.pid}-${pid}.json`]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, files()[0] ?? '')).mode & 0o777).toBe(0o600);
    const record = JSON.parse(readFileSync(join(folder, files()[0] ?? ''), 'utf8'));
    expect(record).toMatchObject({ child: identityOf(pid), owner: identityOf(process.pid) });
    await upstream.close();
    expect(files()).toEqual([]);
  });

  test('of a living owner protects the child', async () => {
    const { records, files } = world();
    const { pid } = child();
    records.started(pid);
    expect(await records.reap()).toBe(0);
    expect(isRunning(pid)).toBe(true);
    expect(files()).toHaveLength(1);
  });

  test('of an owner that is gone leads to the end of the child and its group', async () => {
    const { records, files, change, lines } = world();
    const { pid } = child(`
      require('child_process').spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)']);
      setInterval(() => {}, 1000)`);
    records.started(pid);
    change((record) => {
      record.owner = GONE;
    });
    expect(await records.reap()).toBe(1);
    await until(() => !isRunning(pid));
    expect(files()).toEqual([]);
    expect(lines).toEqual([`info: ending process ${pid}, which an mcpx that was killed left behind`]);
  });

  test.each<[title: string, edit: (record: any) => void, left: number]>([
    [
      'whose number belongs to another process by now',
      (r) => Object.assign(r, { owner: GONE, child: { ...r.child, started: '1' } }),
      0,
    ],
    [
      'from before this machine was started',
      (r) => Object.assign(r, { owner: GONE, world: r.world.replace(/\/[^/]+\//, '/other/') }),
      0,
    ],
    ['of another machine', (r) => Object.assign(r, { owner: GONE, world: 'elsewhere/1/2' }), 1],
    ['of another container', (r) => Object.assign(r, { owner: GONE, world: `${r.world}0` }), 1],
    ['that makes no sense', (r) => Object.assign(r, { owner: GONE, child: { pid: 1, started: 5 } }), 0],
  ])('%s ends nothing', async (_, edit, left) => {
    const { records, files, change } = world();
    const { pid } = child();
    records.started(pid);
    change(edit);
    expect(await records.reap()).toBe(0);
    expect(isRunning(pid)).toBe(true);
    // A record that can no longer identify a process is removed.
    expect(files()).toHaveLength(process.platform === 'linux' || left === 0 ? left : 1);
  });

  test('is read with patience: other files, half files, no folder', async () => {
    const { records, files, folder } = world();
    expect(await records.reap()).toBe(0);
    mkdirSync(folder);
    writeFileSync(join(folder, 'readme'), 'hello');
    writeFileSync(join(folder, '1-2.json'), '{"child":');
    expect(await records.reap()).toBe(0);
    expect(files()).toEqual(['readme']);
  });

  test('is not needed for a child that is gone, and its loss is no trouble', async () => {
    const { records, files, folder, lines } = world();
    records.started(4_000_000);
    expect(files()).toEqual([]);
    writeFileSync(folder, 'in the way');
    records.started(child().pid);
    records.started(child().pid);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('cannot be recorded');
  });

  test('names a start by its date where there is no /proc', async () => {
    const { pid } = child();
    const identity = identityOf(pid, 'darwin');
    expect(identity?.started).toMatch(/\d\d:\d\d:\d\d \d{4}$/);
    expect(identityOf(pid, 'darwin')).toEqual(identity);
    expect(identityOf(4_000_000, 'darwin')).toBeUndefined();
    const { records, change } = world('darwin');
    records.started(pid);
    change((record) => {
      record.owner = GONE;
    });
    expect(await records.reap()).toBe(1);
    await until(() => !isRunning(pid));
  });
});

test('on Windows nothing is written down', async () => {
  const { records, files } = world('win32');
  records.started(process.pid);
  records.ended(process.pid);
  expect(await records.reap()).toBe(0);
  expect(files()).toEqual([]);
});
