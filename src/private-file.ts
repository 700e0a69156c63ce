/** A JSON file that only its user may read (mode 0600): cached until it changes, changed under a lock, moved aside if it is damaged. */
import { chmodSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { McpxError, messageOf } from './errors.ts';
import { codeOf, ensureFolder, readIfPresent, withLock, writeFileAtomic } from './files.ts';

export interface PrivateFile<T> {
  /** Returns the content; the file is read again only if it was replaced since. Throws McpxError if it cannot be read. */
  read(): T;
  /** Replaces the content under a lock and returns the new one. Rejects if the file cannot be written. */
  change(edit: (current: T) => T): Promise<T>;
}

export interface PrivateFileOptions<T> {
  file: string;
  /** Converts the parsed JSON; throws if it is not valid. */
  parse(value: unknown): T;
  empty: T;
  /** The command that restores the content of a damaged file, for the warning. */
  remedy: string;
  warn(message: string): void;
}

export function createPrivateFile<T>(options: PrivateFileOptions<T>): PrivateFile<T> {
  const { file } = options;
  let known: { stamp: string; content: T } = { stamp: '', content: options.empty };
  return {
    read() {
      const stat = readable(options, () => statSync(file, { throwIfNoEntry: false }));
      const stamp = stat === undefined ? '' : `${stat.ino} ${stat.mtimeMs} ${stat.size}`;
      if (stamp !== known.stamp) known = { stamp, content: stamp === '' ? options.empty : load(options) };
      return known.content;
    },
    async change(edit) {
      ensureFolder(dirname(file));
      return withLock(file, () => {
        const next = edit(load(options));
        writeFileAtomic(file, `${JSON.stringify(next, null, 2)}\n`);
        return next;
      });
    },
  };
}

/** Returns the content of the file. A file that is not valid is moved aside, never overwritten. */
function load<T>(options: PrivateFileOptions<T>): T {
  const { file, parse, empty } = options;
  const text = readable(options, () => readIfPresent(file));
  if (text === undefined) return empty;
  const { mode } = statSync(file, { throwIfNoEntry: false }) ?? { mode: 0 };
  // Windows has no such permission bits.
  if (process.platform !== 'win32' && (mode & 0o077) !== 0) makePrivate(options);
  try {
    return parse(JSON.parse(text));
  } catch (error) {
    setAside(text, error, options);
    return empty;
  }
}

/** Runs an action that reads the file, which may belong to another user. */
function readable<R>({ file, remedy }: Pick<PrivateFileOptions<unknown>, 'file' | 'remedy'>, action: () => R): R {
  try {
    return action();
  } catch (error) {
    const hint = `make it readable and writable for this user, or delete it. ${remedy}`;
    throw new McpxError('failed', `"${file}" cannot be read (${codeOf(error) ?? messageOf(error)})`, {
      ...{ hint, cause: error },
    });
  }
}

type Told = Pick<PrivateFileOptions<unknown>, 'file' | 'remedy' | 'warn'>;

function setAside(text: string, error: unknown, { file, remedy, warn }: Told): void {
  const aside = `${file}.damaged`;
  try {
    rmSync(aside, { force: true });
    // Another process may have replaced the file meanwhile.
    if (readIfPresent(file) === text) renameSync(file, aside);
    warn(`"${file}" is not valid (${messageOf(error)}); it is now "${aside}". ${remedy}`);
  } catch {
    warn(`"${file}" is not valid (${messageOf(error)}) and cannot be moved. Delete it. ${remedy}`);
  }
}

function makePrivate({ file, warn }: Told): void {
  try {
    chmodSync(file, 0o600);
    warn(`other users could read "${file}"; its mode is 0600 now`);
  } catch {
    warn(`other users can read "${file}", and its mode cannot be changed`);
  }
}
