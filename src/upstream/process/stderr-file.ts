/** Stores the stderr output of child processes in one size-limited file per server. */
import { renameSync, statSync } from 'node:fs';
import { appendFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileNameOf } from '../../config/server-names.ts';
import { messageOf } from '../../errors.ts';
import { ensureFolder } from '../../files.ts';
import type { Log } from '../../observe/log.ts';

export interface StderrFiles {
  write(server: string, line: string): void;
}

/** Returns the path of the file with the output of a server. */
export function stderrFile(folder: string, server: string): string {
  return join(folder, `${fileNameOf(server)}.log`);
}

export interface StderrFilesOptions {
  /** The folder, which is created with mode 0700 when the first line is written. */
  folder: string;
  log: Log;
  /** The maximum size of a file in bytes (default 1 MiB); the previous file is kept as `<server>.log.1`. */
  maxBytes?: number;
}

/** The maximum number of buffered characters per server; further lines are counted and dropped. */
const MAX_PENDING = 256 * 1024;

interface OneFile {
  path: string;
  pending: string;
  dropped: number;
  writing: boolean;
  /** The size in bytes; undefined until it has been read. */
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
      const file = files.get(server) ?? newFile(stderrFile(folder, server));
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
