/** Files that people own: whole or not at all, with the right mode, one writer at a time. */
import { execFileSync, spawnSync } from 'node:child_process';
import fs, {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { McpxError } from '../src/errors.ts';
import {
  codeOf,
  createFile,
  ensureFolder,
  readIfPresent,
  removeAbandonedTemps,
  withLock,
  writeFileAtomic,
} from '../src/files.ts';

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'mcpx-files-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const modeOf = (file: string): number => statSync(file).mode & 0o777;
const onPosix = test.runIf(process.platform !== 'win32');

describe('writing a file', () => {
  test('replaces its text and leaves nothing else behind', () => {
    const home = folder();
    const file = join(home, 'a.json');
    writeFileAtomic(file, 'one');
    writeFileAtomic(file, 'two');
    expect(readFileSync(file, 'utf8')).toBe('two');
    expect(readdirSync(home)).toEqual(['a.json']);
  });

  test('one that fails leaves nothing behind either', () => {
    const home = folder();
    expect(() => writeFileAtomic(join(home, 'a.json'), 5 as never)).toThrow();
    expect(readdirSync(home)).toEqual([]);
  });

  onPosix('makes a new one private and keeps the mode of an existing one', () => {
    const file = join(folder(), 'a.json');
    writeFileAtomic(file, 'one');
    expect(modeOf(file)).toBe(0o600);
    chmodSync(file, 0o664);
    writeFileAtomic(file, 'two');
    expect(modeOf(file)).toBe(0o664);
  });

  onPosix('through a link changes what it points at, and leaves the link', () => {
    const home = folder();
    writeFileSync(join(home, 'real.json'), 'one');
    symlinkSync(join(home, 'real.json'), join(home, 'link.json'));
    writeFileAtomic(join(home, 'link.json'), 'two');
    expect(lstatSync(join(home, 'link.json')).isSymbolicLink()).toBe(true);
    expect(readFileSync(join(home, 'real.json'), 'utf8')).toBe('two');
  });

  test('that fails leaves the old text and no rest', () => {
    const home = folder();
    ensureFolder(join(home, 'taken', 'inner'));
    expect(() => writeFileAtomic(join(home, 'taken'), 'x')).toThrow();
    expect(readdirSync(home)).toEqual(['taken']);
    expect(() => writeFileAtomic(join(home, 'no', 'such', 'folder'), 'x')).toThrow(/ENOENT/);
  });
});

describe('creating a file', () => {
  test('happens once: the second one is told, and the first text stands', () => {
    const home = folder();
    const file = join(home, 'a.json');
    expect(createFile(file, 'one')).toBe(true);
    expect(createFile(file, 'two')).toBe(false);
    expect(readFileSync(file, 'utf8')).toBe('one');
    expect(readdirSync(home)).toEqual(['a.json']);
  });

  test('where there is no folder is an error', () => {
    expect(() => createFile(join(folder(), 'none', 'a.json'), 'x')).toThrow(/ENOENT/);
  });

  onPosix('a folder is private from the start', () => {
    const made = join(folder(), 'a', 'b');
    ensureFolder(made);
    expect(modeOf(made)).toBe(0o700);
  });
});

describe('a lock', () => {
  test('lets one action run at a time, and is gone afterwards', async () => {
    const file = join(folder(), 'data.json');
    let running = 0;
    let most = 0;
    const action = async (): Promise<void> => {
      running += 1;
      most = Math.max(most, running);
      await new Promise((resolve) => setImmediate(resolve));
      running -= 1;
    };
    await Promise.all(Array.from({ length: 5 }, () => withLock(file, action)));
    expect(most).toBe(1);
    expect(existsSync(`${file}.lock`)).toBe(false);
  });

  test('gives back what the action gives, and is released when it throws', async () => {
    const file = join(folder(), 'deep', 'data.json');
    expect(await withLock(file, () => 5)).toBe(5);
    await expect(withLock(file, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await withLock(file, async () => 6)).toBe(6);
  });

  test('of a process that is gone is taken over', async () => {
    const file = join(folder(), 'data.json');
    writeFileSync(`${file}.lock`, JSON.stringify({ pid: 2 ** 22 + 12_345, host: hostname(), id: 'x' }));
    expect(await withLock(file, () => 'mine')).toBe('mine');
    expect(readdirSync(join(file, '..'))).toEqual([]);
  });

  test('that is very old is taken over, whoever holds it', async () => {
    const file = join(folder(), 'data.json');
    writeFileSync(`${file}.lock`, 'no JSON');
    utimesSync(`${file}.lock`, new Date(0), new Date(0));
    expect(await withLock(file, () => 'mine')).toBe('mine');
  });

  test.each([
    ['a living process', JSON.stringify({ pid: process.pid, host: hostname(), id: 'x' })],
    ['another machine', JSON.stringify({ pid: 1, host: 'elsewhere', id: 'x' })],
    ['nobody knows', 'no JSON'],
    ['a process of another user', JSON.stringify({ pid: 1, host: hostname(), id: 'x' })],
  ])('of %s is respected', async (_who, owner) => {
    const file = join(folder(), 'data.json');
    writeFileSync(`${file}.lock`, owner);
    const error = await withLock(file, () => 'mine', { wait: 60 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(McpxError);
    expect((error as McpxError).message).toBe(`"${file}" is being changed by another process`);
    expect((error as McpxError).hint).toContain('.lock');
    expect(readFileSync(`${file}.lock`, 'utf8')).toBe(owner);
  });

  test('that was taken over by somebody else is not removed by the first holder', async () => {
    const file = join(folder(), 'data.json');
    await withLock(file, () => writeFileSync(`${file}.lock`, 'theirs'));
    expect(readFileSync(`${file}.lock`, 'utf8')).toBe('theirs');
  });
});

test('reading what is not there is no error, reading what may not be read is', () => {
  const home = folder();
  expect(readIfPresent(join(home, 'none'))).toBeUndefined();
  expect(() => readIfPresent(home)).toThrow(/EISDIR/);
  expect(codeOf('text')).toBeUndefined();
});

describe('temporary files', () => {
  /** The number of a process that has ended. */
  const dead = () => Number(spawnSync(process.execPath, ['-p', 'process.pid'], { encoding: 'utf8' }).stdout);

  test('of a process that was killed while it wrote are gone after the next write, and no other file', () => {
    const home = folder();
    const pid = dead();
    const left = `.config.json.${pid}.0a1b2c3d.tmp`;
    const others = [
      'config.json',
      '.config.json.swp',
      `.config.json.${process.pid}.0a1b2c3d.tmp`,
      `.other.${pid}.0a1b2c3d.tmp`,
    ];
    for (const name of [left, ...others]) writeFileSync(join(home, name), 'text of a config');
    writeFileAtomic(join(home, 'config.json'), 'new');
    expect(readdirSync(home).sort()).toEqual([...others].sort());
  });

  test('carry the machine and the process in their names, and are removed where the process is gone', () => {
    const home = folder();
    const seen: string[] = [];
    const { renameSync } = fs;
    fs.renameSync = () => {
      seen.push(...readdirSync(home));
      throw new Error('stopped in the middle');
    };
    syncBuiltinESMExports();
    try {
      expect(() => writeFileAtomic(join(home, 'a.json'), 'secret')).toThrow('stopped in the middle');
    } finally {
      fs.renameSync = renameSync;
      syncBuiltinESMExports();
    }
    const [, machine] = /^\.a\.json\.([\da-f]{8})\.\d+\.[\da-f]{8}\.tmp$/.exec(seen.join()) ?? [];
    expect(seen.join()).toContain(`.${process.pid}.`);
    expect(readdirSync(home)).toEqual([]);
    writeFileSync(join(home, `.a.json.${machine}.${dead()}.0a1b2c3d.tmp`), 'secret');
    writeFileSync(join(home, `.a.json.${machine}.${process.pid}.0a1b2c3d.tmp`), 'secret');
    removeAbandonedTemps(home);
    expect(readdirSync(home)).toEqual([`.a.json.${machine}.${process.pid}.0a1b2c3d.tmp`]);
  });

  test('of another machine are left alone for a day', () => {
    const home = folder();
    const name = `.a.json.00000000.${dead()}.0a1b2c3d.tmp`;
    writeFileSync(join(home, name), '');
    removeAbandonedTemps(home);
    expect(readdirSync(home)).toEqual([name]);
    const old = Date.now() / 1000 - 25 * 3600;
    utimesSync(join(home, name), old, old);
    removeAbandonedTemps(home);
    expect(readdirSync(home)).toEqual([]);
  });
});

const asRoot = test.runIf(process.getuid?.() === 0);

asRoot('the owner of a file stays its owner when root changes it (needs root)', () => {
  const file = join(folder(), 'config.json');
  writeFileSync(file, 'one');
  chownSync(file, 12345, 23456);
  chmodSync(file, 0o640);
  writeFileAtomic(file, 'two');
  const { uid, gid } = statSync(file);
  expect([readFileSync(file, 'utf8'), uid, gid, modeOf(file)]).toEqual(['two', 12345, 23456, 0o640]);
});

/** A file system of a few kilobytes; undefined where none can be mounted. */
function smallDisk(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return undefined;
  const place = mkdtempSync(join(tmpdir(), 'mcpx-disk-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', place], { stdio: 'ignore' });
  } catch {
    rmSync(place, { recursive: true });
    return undefined;
  }
  return place;
}

test('a full disk keeps the old text and leaves no temporary file (needs root and mount)', ({ skip }) => {
  const disk = smallDisk();
  if (disk === undefined) return skip('no small file system can be mounted here');
  onTestFinished(() => {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  });
  const file = join(disk, 'config.json');
  writeFileAtomic(file, 'one');
  for (const sync of [true, false])
    expect(() => writeFileAtomic(file, 'x'.repeat(64 * 1024), { sync })).toThrow(/ENOSPC/);
  expect(readdirSync(disk)).toEqual(['config.json']);
  expect(readFileSync(file, 'utf8')).toBe('one');
});
