/** Appends to a file that never grows for ever: a full one is set aside, and only so many of those are kept. */
import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { messageOf } from '../errors.ts';

export interface Bounds {
  /** Bytes of one file (default 16 MiB). */
  maxBytes?: number | undefined;
  /** How many older ones are kept (default 5). */
  keep?: number | undefined;
}

const MAX_BYTES = 16 * 1024 * 1024;
const KEEP = 5;

/** Only its owner reads the file. Throws what is wrong with it, in words that follow its name; lines are lost only where it cannot be written. */
export function appendBounded(file: string, text: string, { maxBytes = MAX_BYTES, keep = KEEP }: Bounds = {}): void {
  try {
    rotate(file, Buffer.byteLength(text), { maxBytes, keep });
  } catch (cause) {
    throw new Error(`is full, cannot be set aside and grows: ${messageOf(cause)}`, { cause });
  } finally {
    append(file, text);
  }
}

function append(file: string, text: string): void {
  try {
    appendFileSync(file, text, { mode: 0o600 });
  } catch (cause) {
    throw new Error(`cannot be written: ${messageOf(cause)}`, { cause });
  }
}

/** Full files get names of their own, so that two processes with one log overwrite nothing. */
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

/** False where another process was quicker. */
function setAside(file: string, name: string): boolean {
  try {
    renameSync(file, name);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
