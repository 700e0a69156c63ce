/** What children write to stderr, in one bounded file per server, for whoever looks into the folder. */
import { renameSync, statSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileNameOf } from '../config/names.ts';
import { messageOf } from '../errors.ts';
import { ensureFolder } from '../files.ts';
import type { Log } from '../observe/log.ts';

export interface StderrFiles {
  write(server: string, line: string): void;
}

export interface StderrFilesOptions {
  /** Made when the first line is written; 0700. */
  folder: string;
  log: Log;
  /** Bytes of one file (default 1 MiB); the one before is kept as `<server>.log.1`. */
  maxBytes?: number;
}

/** Characters that may wait for the disk, per server; what comes beyond is counted and dropped. */
const MAX_PENDING = 256 * 1024;

interface OneFile {
  path: string;
  pending: string;
  dropped: number;
  writing: boolean;
  /** Bytes; undefined until it was looked at. */
  size: number | undefined;
}

export function createStderrFiles({ folder, log, maxBytes = 1024 * 1024 }: StderrFilesOptions): StderrFiles {
  const files = new Map<string, OneFile>();
  let told = false;

  const flush = async (file: OneFile) => {
    file.writing = true;
    try {
      ensureFolder(folder);
      while (file.pending !== '') await append(file, take(file), maxBytes);
    } catch (error) {
      file.pending = '';
      if (!told) log.warn(`what servers write to stderr cannot be kept in "${folder}": ${messageOf(error)}`);
      told = true;
    }
    file.writing = false;
  };

  return {
    write(server, line) {
      const file = files.get(server) ?? newFile(join(folder, `${fileNameOf(server)}.log`));
      files.set(server, file);
      if (file.pending.length > MAX_PENDING) file.dropped += 1;
      else file.pending += `${new Date().toISOString()} ${line}\n`;
      if (!file.writing) void flush(file);
    },
  };
}

function newFile(path: string): OneFile {
  return { path, pending: '', dropped: 0, writing: false, size: undefined };
}

function take(file: OneFile): string {
  const { pending, dropped } = file;
  file.pending = '';
  file.dropped = 0;
  return dropped === 0 ? pending : `${pending}… ${dropped} lines were dropped\n`;
}

async function append(file: OneFile, text: string, maxBytes: number): Promise<void> {
  file.size ??= statSync(file.path, { throwIfNoEntry: false })?.size ?? 0;
  if (file.size > 0 && file.size + text.length > maxBytes) {
    renameSync(file.path, `${file.path}.1`);
    file.size = 0;
  }
  await appendFile(file.path, text, { mode: 0o600 });
  file.size += Buffer.byteLength(text);
}
