/** Appends to a file that never grows for ever: a full one is set aside, and only so many of those are kept. */
import { appendFileSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';

export interface Bounds {
  /** Bytes of one file (default 16 MiB). */
  maxBytes?: number | undefined;
  /** How many older ones are kept (default 5). */
  keep?: number | undefined;
}

const MAX_BYTES = 16 * 1024 * 1024;
const KEEP = 5;

/** Only its owner reads the file. Throws where it cannot be written. */
export function appendBounded(file: string, text: string, { maxBytes = MAX_BYTES, keep = KEEP }: Bounds = {}): void {
  rotate(file, Buffer.byteLength(text), { maxBytes, keep });
  appendFileSync(file, text, { mode: 0o600 });
}

/** Full files get names of their own, so that two processes with one log overwrite nothing. */
function rotate(file: string, more: number, { maxBytes, keep }: { maxBytes: number; keep: number }): void {
  const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (size === 0 || size + more <= maxBytes) return;
  const stamp = new Date().toISOString().replaceAll(/[-:.]/g, '');
  renameSync(file, `${file}.${stamp}-${process.pid}`);
  const older = readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.`) && /\.\d{8}T\d+Z-\d+$/.test(name))
    .sort();
  for (const name of older.slice(0, Math.max(0, older.length - keep))) rmSync(join(dirname(file), name));
}
