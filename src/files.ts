/** Writes files of the user: atomic replacement by rename with the right mode, exclusive creation, changes under a lock. */
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
  readSync,
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

/** Creates a folder and its parents, readable by the owner only; an existing folder keeps its mode. */
export function ensureFolder(folder: string): void {
  mkdirSync(folder, { recursive: true, mode: PRIVATE_FOLDER });
}

export interface WriteOptions {
  /** True if the text has to survive a crash of the machine (default true). */
  sync?: boolean;
}

/**
 * Replaces a file atomically: a reader sees the old text or the new one, never a part. A symbolic link stays a link;
 * owner and mode are kept.
 */
export function writeFileAtomic(file: string, text: string | Uint8Array, { sync = true }: WriteOptions = {}): void {
  const target = followLink(file);
  const temp = writeTemp(target, text, { sync, like: statSync(target, { throwIfNoEntry: false }) });
  try {
    renameWithRetry(temp, target);
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
}

/** Creates a file that did not exist; returns false if another process created it first, and keeps that file's text. */
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

/**
 * Gives the file its final name. A hard link fails if the name is taken, and shows the whole text at once; some file
 * systems have no links.
 */
function publish(temp: string, file: string): void {
  try {
    linkSync(temp, file);
  } catch (error) {
    if (codeOf(error) === 'EEXIST') throw error;
    copyFileSync(temp, file, fsConstants.COPYFILE_EXCL);
  }
}

export interface LockOptions {
  /** Milliseconds to wait for another holder (default 10 s). */
  wait?: number;
}

/** Milliseconds after which a lock counts as abandoned even if its process seems alive: an action must be shorter. */
const ABANDONED = 2 * 60_000;
const LOCK_POLL = 25;

/** Runs an action while holding `<file>.lock`, so that two processes never change one file at once. */
export async function withLock<T>(file: string, action: () => T | Promise<T>, options: LockOptions = {}): Promise<T> {
  const lock = `${file}.lock`;
  const owner = JSON.stringify({ pid: process.pid, host: hostname(), id: randomUUID() });
  const deadline = performance.now() + (options.wait ?? 10_000);
  ensureFolder(dirname(lock));
  while (!createFile(lock, owner)) {
    if (removeAbandoned(lock)) continue;
    if (performance.now() >= deadline) throw busy(file, lock);
    await sleep(LOCK_POLL);
  }
  try {
    return await action();
  } finally {
    // Another process may have judged the lock abandoned and taken it, so only our own lock is removed.
    if (readIfPresent(lock) === owner) rmSync(lock, { force: true });
  }
}

function busy(file: string, lock: string): McpxError {
  return new McpxError('conflict', `"${file}" is being changed by another process`, {
    hint: `if no other mcpx is running, delete "${lock}"`,
  });
}

/** Removes an abandoned lock. It is moved aside and compared first, so that a new lock that replaced it is put back. */
function removeAbandoned(lock: string): boolean {
  const seen = readIfPresent(lock);
  if (seen === undefined) return true;
  if (!isAbandoned(seen, lock)) return false;
  const aside = `${lock}.${randomUUID()}`;
  try {
    renameSync(lock, aside);
    if (readIfPresent(aside) !== seen) publish(aside, lock);
  } catch {
    // Another process removed the lock or holds a new one; the next iteration finds out.
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

/** Returns the text of a file, or undefined if it does not exist. */
export function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    // ENOTDIR: a parent of the path is not a folder, so the file cannot exist.
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
}

/** Bytes that are read at a time to find the end of a line. */
const CHUNK = 64 * 1024;

/** Returns the first line of a file, without reading the rest; undefined if the file does not exist. */
export function readFirstLine(file: string): string | undefined {
  let handle: number;
  try {
    handle = openSync(file, 'r');
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes(codeOf(error) ?? '')) return undefined;
    throw error;
  }
  try {
    const chunks: Buffer[] = [];
    for (;;) {
      const chunk = Buffer.allocUnsafe(CHUNK);
      const read = chunk.subarray(0, readSync(handle, chunk));
      const end = read.indexOf('\n');
      chunks.push(end < 0 ? read : read.subarray(0, end));
      if (end >= 0 || read.length === 0) return Buffer.concat(chunks).toString('utf8');
    }
  } finally {
    closeSync(handle);
  }
}

/** Returns the system's code of an error, such as `ENOENT`. */
export function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}

function followLink(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file; // the file does not exist yet
  }
}

interface TempOptions {
  sync: boolean;
  /** The file to be replaced. */
  like?: Stats | undefined;
}

/** Writes a temporary file and returns its path. If a step fails, for example on a full disk, it is removed again. */
function writeTemp(file: string, text: string | Uint8Array, { sync, like }: TempOptions): string {
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
    chmodSync(temp, mode); // the umask may have removed bits
  } catch (error) {
    rmSync(temp, { force: true });
    throw error;
  }
  return temp;
}

/**
 * Keeps owner and group of the replaced file. Only root can keep the owner; other users can only set a group of their
 * own.
 */
function keepOwner(temp: string, { uid, gid }: Stats): void {
  const made = statSync(temp);
  if (made.uid === uid && made.gid === gid) return;
  try {
    chownSync(temp, process.getuid?.() === 0 ? uid : made.uid, gid);
  } catch (error) {
    if (codeOf(error) !== 'EPERM') throw error;
  }
}

/** Temporary files are named `.name.machine.process.random.tmp`; those of child records and older versions lack the machine. */
const TEMP = /^\.(.+?)\.(?:([\da-f]{8})\.)?(\d+)\.[\da-f]{8}\.tmp$/;
/**
 * Milliseconds after which a temporary file counts as abandoned if it is of another machine, or if its process id was
 * reused.
 */
const OLD_TEMP = 24 * 60 * 60_000;

/** Removes temporary files that were left by killed processes; with `name`, only those of that file. Never throws. */
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
    // The folder is missing or not accessible; a write to it reports that.
  }
}

/** Identifies the host and process namespace in which a process id is valid: each container has its own ids. */
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

/**
 * Renames a file. On Windows a virus scanner or an editor may hold the target for a moment, so the rename is retried.
 */
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
