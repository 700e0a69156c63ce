/** Tells when files have changed, however an editor writes them: in place, or as another file under the same name. */
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';

export interface FileWatch {
  /** Watches these from now on. */
  update(files: readonly string[]): void;
  close(): void;
}

/** ms for which nothing must have happened: a file may be written in several steps. */
const QUIET = 150;
/** ms between two looks, for file systems that announce nothing. */
const POLL = 2000;

/** Folders are watched, not files: a file that is replaced takes its watcher with it. */
export function watchFiles(initial: readonly string[], changed: () => void): FileWatch {
  let files = initial;
  let seen = stampsOf(files);
  let settling: NodeJS.Timeout | undefined;
  let watchers: FSWatcher[] = [];

  /** Waits until two looks in a row see the same. */
  const look = (before: string | undefined) => {
    const now = stampsOf(files);
    settling = undefined;
    if (now === seen) return;
    if (now !== before) {
      settling = setTimeout(() => look(now), QUIET).unref();
      return;
    }
    seen = now;
    changed();
  };
  const begin = () => {
    settling ??= setTimeout(() => look(undefined), QUIET / 3).unref();
  };
  const open = () => {
    const folders = new Set(files.flatMap((file) => [dirname(file), dirname(realPath(file))]));
    watchers = [...folders].flatMap((folder) => watchFolder(folder, begin));
  };
  const poll = setInterval(() => {
    if (settling === undefined) look(undefined);
  }, POLL).unref();
  open();

  const shut = () => {
    for (const watcher of watchers) watcher.close();
    clearTimeout(settling);
    settling = undefined;
  };
  return {
    update(next) {
      if (next.join('\n') === files.join('\n')) return;
      shut();
      files = next;
      seen = stampsOf(files);
      open();
    },
    close() {
      clearInterval(poll);
      shut();
    },
  };
}

/** A folder that is missing, or that cannot be watched, is left to the look from time to time. */
function watchFolder(folder: string, event: () => void): FSWatcher[] {
  try {
    const watcher = watch(folder, { persistent: false }, event);
    watcher.on('error', () => watcher.close());
    return [watcher];
  } catch {
    return [];
  }
}

function stampsOf(files: readonly string[]): string {
  return files.map(stampOf).join(' ');
}

function stampOf(file: string): string {
  try {
    const { ino, mtimeMs, size } = statSync(file);
    return `${ino}:${mtimeMs}:${size}`;
  } catch {
    return 'absent';
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}
