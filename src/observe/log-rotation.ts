/** Appends to a file of bounded size: a full file is renamed, and only a limited number of renamed files is kept. */
import { closeSync, openSync, readdirSync, renameSync, rmSync, statSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../errors.ts';
import { codeOf } from '../files.ts';

export interface Bounds {
  /** Maximum bytes of one file (default 16 MiB). */
  maxBytes?: number | undefined;
  /** Number of older files to keep (default 5). */
  keep?: number | undefined;
}

const MAX_BYTES = 16 * 1024 * 1024;
const KEEP = 5;

/** The error of a file that cannot be written. */
export class AppendError extends Error {
  /** The bytes that were not written; a disk that becomes full takes only a part. */
  readonly unwritten: Buffer;

  constructor(unwritten: Buffer, cause: unknown) {
    super(`cannot be written: ${messageOf(cause)}`, { cause });
    this.unwritten = unwritten;
  }
}

/**
 * Appends to the file, which only the owner can read. Throws an error whose message continues the file's name; throws
 * `AppendError` if bytes were not written.
 */
export function appendBounded(
  file: string,
  text: string | Buffer,
  { maxBytes = MAX_BYTES, keep = KEEP }: Bounds = {},
): void {
  const bytes = typeof text === 'string' ? Buffer.from(text) : text;
  try {
    rotate(file, bytes.length, { maxBytes, keep });
  } catch (cause) {
    throw new Error(`is full, cannot be set aside and grows: ${messageOf(cause)}`, { cause });
  } finally {
    append(file, bytes);
  }
}

function append(file: string, bytes: Buffer): void {
  let written = 0;
  try {
    const handle = openSync(file, 'a', 0o600);
    try {
      while (written < bytes.length) written += writeSync(handle, bytes, written);
    } finally {
      closeSync(handle);
    }
  } catch (cause) {
    throw new AppendError(bytes.subarray(written), cause);
  }
}

/** Renames a full file to a unique name, so that two processes with the same log overwrite nothing. */
function rotate(file: string, more: number, { maxBytes, keep }: { maxBytes: number; keep: number }): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size + more <= maxBytes) return;
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
  if (!setAside(file, `${file}.${stamp}-${process.pid}`)) return;
  const older = readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.`) && /\.\d{8}T\d+Z-\d+$/.test(name))
    .sort();
  for (const name of older.slice(0, Math.max(0, older.length - keep)))
    rmSync(join(dirname(file), name), { force: true });
}

/** Renames the file; returns false if another process did it first. */
function setAside(file: string, name: string): boolean {
  try {
    renameSync(file, name);
    return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}
