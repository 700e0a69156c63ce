/** The secret key that signs session ids and request state: 32 random bytes in a file that only its owner can read. */
import { hkdfSync, randomBytes, randomUUID } from 'node:crypto';
import { renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { messageOf } from '../../errors.ts';
import { codeOf, createFile, ensureFolder, readIfPresent } from '../../files.ts';
import type { Log } from '../../observe/log.ts';

export interface SecretKey {
  /** Derives a 32-byte key for one purpose. Keys of different purposes are independent. */
  derive(purpose: string): Buffer;
}

export interface SecretKeyOptions {
  /** The key file; if absent, the key is random and known to this process only. */
  file?: string | undefined;
  log?: Pick<Log, 'warn'> | undefined;
}

const BYTES = 32;
/** Maximum attempts; each failure means that another process changed the file at the same time. */
const ATTEMPTS = 5;

/** The file is read or created on the first use. */
export function createSecretKey({ file, log }: SecretKeyOptions = {}): SecretKey {
  let key: Buffer | undefined;
  return {
    derive(purpose) {
      key ??= file === undefined ? randomBytes(BYTES) : loadOrOwn(file, log);
      return Buffer.from(hkdfSync('sha256', key, '', purpose, BYTES));
    },
  };
}

/** Loads the key; if the file cannot be used, returns a random one for this process. */
function loadOrOwn(file: string, log: SecretKeyOptions['log']): Buffer {
  try {
    return load(file, log);
  } catch (error) {
    log?.warn(
      `the key file "${file}" cannot be used (${messageOf(error)}): session ids and request states become invalid at a restart`,
    );
    return randomBytes(BYTES);
  }
}

/** Loads or creates the key. Processes that start together get the same one: the first to create the file wins. */
function load(file: string, log: SecretKeyOptions['log']): Buffer {
  ensureFolder(dirname(file));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const found = readKey(file);
    if (typeof found === 'object') return found;
    if (found !== undefined) setAside(file, found, log);
    createFile(file, `${randomBytes(BYTES).toString('base64url')}\n`);
  }
  throw new Error('another process keeps changing it');
}

/** Returns the key, or the reason why it cannot be trusted; undefined if there is no file. */
function readKey(file: string): Buffer | string | undefined {
  const text = readIfPresent(file);
  if (text === undefined) return undefined;
  const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
  // Windows has no such permission bits.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) return 'other users can read it';
  const key = Buffer.from(text.trim(), 'base64url');
  return key.length === BYTES && key.toString('base64url') === text.trim() ? key : 'it holds no key';
}

/**
 * Moves an invalid file away. It is checked again after the move: another process may have replaced it with a valid
 * one, which is then restored.
 */
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
  log?.warn(`the key file "${file}" is not used, because ${reason}; it is now "${aside}", and a new key is in use`);
}
