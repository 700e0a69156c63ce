/** The secret key of this mcpx, with which it seals what clients carry: 32 random bytes in a file that only its owner can read. */
import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../errors.ts';
import { codeOf, createFile, ensureFolder, readIfPresent } from '../files.ts';
import type { Log } from '../observe/log.ts';

export interface SecretKey {
  /** The key for one purpose, 32 bytes. Keys for two purposes tell nothing of each other. */
  derive(purpose: string): Buffer;
}

export interface SecretKeyOptions {
  /** Without one the key is known to this process only. */
  file?: string | undefined;
  log?: Pick<Log, 'warn'> | undefined;
}

const BYTES = 32;
/** Each failure means that another process changed the file at the same moment. */
const ATTEMPTS = 5;

/** Nothing is read or written before the first use. */
export function createSecretKey({ file, log }: SecretKeyOptions = {}): SecretKey {
  let key: Buffer | undefined;
  return {
    derive(purpose) {
      key ??= file === undefined ? randomBytes(BYTES) : loadOrOwn(file, log);
      return Buffer.from(hkdfSync('sha256', key, '', purpose, BYTES));
    },
  };
}

/** Where the file cannot be had, the key lives as long as the process. */
function loadOrOwn(file: string, log: SecretKeyOptions['log']): Buffer {
  try {
    return load(file, log);
  } catch (error) {
    log?.warn(
      `the key file "${file}" cannot be used (${messageOf(error)}): what clients carry is worth nothing after a restart`,
    );
    return randomBytes(BYTES);
  }
}

/** The key in the file. Processes that start together get the same one: the first to create the file wins. */
function load(file: string, log: SecretKeyOptions['log']): Buffer {
  ensureFolder(dirname(file));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = readKey(file);
    if (typeof found === 'object') return found;
    if (found !== undefined) setAside(file, found, log);
    createFile(file, `${randomBytes(BYTES).toString('base64url')}\n`);
  }
  throw new Error('it does not stay as it was written');
}

/** The key, or why it cannot be trusted; undefined where there is no file. */
function readKey(file: string): Buffer | string | undefined {
  const text = readIfPresent(file);
  if (text === undefined) return undefined;
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has no such bits.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return 'other users can read it';
  const key = Buffer.from(text.trim(), 'base64url');
  return key.length === BYTES && key.toString('base64url') === text.trim() ? key : 'it holds no key';
}

/** Moved first and looked at again: another process may have put a good one in its place, which is put back. */
function setAside(file: string, reason: string, log: SecretKeyOptions['log']): void {
  const moved = `${file}.${randomUUID()}`;
  try {
    renameSync(file, moved);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return;
    throw error;
  }
  if (typeof readKey(moved) === 'object') {
    createFile(file, readIfPresent(moved) ?? '');
    rmSync(moved, { force: true });
    return;
  }
  const aside = `${file}.damaged`;
  renameSync(moved, aside);
  log?.warn(`the key file "${file}" is not used, because ${reason}; it is now "${aside}", and a new key begins`);
}
