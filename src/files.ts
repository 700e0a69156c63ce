/** Files that people own: written by temp + rename with the right mode, created once, changed under a lock. */
import { createHash, randomUUID } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  closeSync,
  copyFileSync,
  constants as fsConstants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { McpxError } from './errors.ts';

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/** Creates a folder and its parents, readable by its owner only; one that exists keeps its mode. */
export function ensureFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
}

export interface WriteOptions {
  /** Whether the text has to survive a crash of the machine (default true). */
  sync?: boolean;
}

/** Replaces a file in one step: a reader sees the old text or the new one, never a part. A symbolic link stays a link; owner and mode stay as well. */
export function writeFileAtomic(file: string, text: string, { sync = true }: WriteOptions = {}): void {
  const target = followLink(file);
  const temp = writeTemp(target, text, { sync, like: statSync(target, { throwIfNoEntry: false }) });
  try {
    renameWithRetry(temp, target);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/** Creates a file that did not exist; false when another process was first, and then its text stands. */
export function createFile(file: string, text: string): boolean {
  const temp = writeTemp(file, text, { sync: true });
  try {
    publish(temp, file);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(temp, { force: true });
  }
}

/** A hard link fails when the name is taken, and shows the whole text at once. Some file systems have none. */
function publish(temp: string, file: string): void {
  try {
    linkSync(temp, file);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    copyFileSync(temp, file, fsConstants.COPYFILE_EXCL);
  }
}

export interface LockOptions {
  /** ms to wait for another holder (default 10 s). */
  wait?: number;
}

/** ms after which a lock counts as abandoned even if its process seems alive: an action must be shorter. */
const ABANDONED = 2 * 60_000;
const LOCK_POLL = 25;

/** Runs an action while holding `<file>.lock`, so that two processes never change one file at once. */
export async function withLock<T>(file: string, action: () => T | Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = `${file}.lock`;
  const owner = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  const deadline = Date.now() + (options.wait ?? 10_000);
  ensureFolder(dirname(lock));
  while (!createFile(lock, owner)) {
    if (removeAbandoned(lock)) continue;
    if (Date.now() >= deadline) throw busy(file, lock);
    await sleep(LOCK_POLL);
  }
  try {
    return await action();
  } finally {
    // Somebody may have judged the lock abandoned and taken it: only our own is removed.
    if (readIfPresent(lock) === owner) rmSync(lock, { force: true });
  }
}

function busy(file: string, lock: string): McpxError {
  return new McpxError('conflict', `"${file}" is being changed by another process`, {
    hint: `if no other mcpx is running, delete "${lock}"`,
  });
}

/** Moves the lock aside first and looks again, so that a fresh lock that took its place is put back. */
function removeAbandoned(lock: string): boolean {
  const seen = readIfPresent(lock);
  if (seen === undefined) return true;
  if (!isAbandoned(seen, lock)) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, aside);
    if (readIfPresent(aside) !== seen) publish(aside, lock);
  } catch {
    // Another process removed it, or holds a new one: the next turn of the loop sees which.
  }
  rmSync(aside, { force: true });
  return true;
}

function isAbandoned(owner: string, lock: string): boolean {
  const modified = statSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (Date.now() - modified > ABANDONED) return true;
  try {
    const { pid, host } = JSON.parse(owner) as { pid: number; host: string };
    return host === hostname() && !isAlive(pid);
  } catch {
    return false;
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) === 'EPERM';
  }
}

/** The text of a file, or undefined where there is none. */
export function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // Below something that is no folder there is nothing either.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** The system's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function followLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file; // does not exist yet
  }
}

interface TempOptions {
  sync: boolean;
  /** The file that it takes the place of. */
  like?: Stats | undefined;
}

/** Whatever fails, a disk that is full for one: no part of it stays behind. */
function writeTemp(file: string, text: string, { sync, like }: TempOptions): string {
  removeAbandonedTemps(dirname(file), basename(file));
  const name = `.${basename(file)}.${machine()}.${process.pid}.${randomUUID().slice(0, 8)}.tmp`;
  const temp = join(dirname(file), name);
  const mode = like === undefined ? PRIVATE_FILE : like.mode & 0o777;
  const handle = openSync(temp, 'wx', mode);
  try {
    try {
      writeFileSync(handle, text);
      if (sync) fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    if (like !== undefined) keepOwner(temp, like);
    chmodSync(temp, mode); // the umask may have taken bits away
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  return temp;
}

/** Root edits files of others. Anybody else may give a file to a group of theirs at most. */
function keepOwner(temp: string, { uid, gid }: Stats): void {
  const made = statSync(temp);
  if (made.uid === uid && made.gid === gid) return;
  try {
    chownSync(temp, process.getuid?.() === 0 ? uid : made.uid, gid);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error;
  }
}

/** `.name.machine.process.random.tmp`; the machine is missing in names of older versions. */
const TEMP = /^\.(.+?)\.(?:([\da-f]{8})\.)?(\d+)\.[\da-f]{8}\.tmp$/;
/** ms after which a temporary file of another machine, or of a number that another process has now, counts as abandoned. */
const OLD_TEMP = 24 * 60 * 60_000;

/** Removes temporary files that processes left which were killed while they wrote; `name`: only those of that file. Never throws. */
export function removeAbandonedTemps(folder: string, name?: string): void {
  try {
    const here = machine();
    for (const entry of readdirSync(folder)) {
      const [, of, where = here, pid] = TEMP.exec(entry) ?? [];
      if (pid === undefined || (name !== undefined && of !== name)) continue;
      const path = join(folder, entry);
      const gone = where === here && !isAlive(Number(pid));
      const age = Date.now() - (statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0);
      if (gone || age > OLD_TEMP) rmSync(path, { force: true });
    }
  } catch {
    // The folder is not there or not ours; whoever writes to it says so.
  }
}

/** Where numbers of processes mean the same: a container has its own. */
function machine(): string {
  return createHash('sha256').update(`${hostname()}/${processNamespace()}`).digest('hex').slice(0, 8);
}

function processNamespace(): string {
  try {
    return readlinkSync('/proc/self/ns/pid');
  } catch {
    return '';
  }
}

/** On Windows a virus scanner or an editor may hold the target for a moment. */
function renameWithRetry(from: string, to: string): void {
  for (let attempt = 1; ; attempt += 1) {
    try {
      renameSync(from, to);
      return;
    } catch (error) {
      const busyFile = ['EPERM', 'EACCES', 'EBUSY'].includes(codeOf(error) ?? '');
      if (process.platform !== 'win32' || !busyFile || attempt >= 10) throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, attempt * 10);
    }
  }
}
