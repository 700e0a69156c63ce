/** Reports changes of files, whether an editor writes them in place or replaces them. */
import { type FSWatcher, realpathSync, statSync, watch } from 'node:fs';
import { dirname } from 'node:path';

export interface FileWatch {
  /** Replaces the list of watched files. */
  update(files: readonly string[]): void;
  close(): void;
}

/** Milliseconds without a change before a change is reported, because a file may be written in several steps. */
const QUIET = 150;
/** Milliseconds between two polls, for file systems without change events. */
const POLL = 2000;

/** Watches the folders of files, because the watcher of a file stops when the file is replaced. */
export function watchFiles(initial: readonly string[], changed: () => void): FileWatch {
  let files = initial;
  let seen = stampsOf(files);
  let settling: NodeJS.Timeout | undefined;
  let watchers: FSWatcher[] = [];

  /** Waits until two checks in a row see the same state. */
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

/** Watches a folder. If that fails, polling detects its changes. */
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
