/** File handles of this process: how many it may open, and whether some are left. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { codeOf } from './files.ts';

/**
 * Returns the limit of open files (`ulimit -n`), which Node raises to the hard limit at startup; undefined if the
 * system has none, as on Windows.
 */
export function handleLimit(platform: NodeJS.Platform = process.platform): number | undefined {
  if (platform === 'win32') return undefined;
  const limit = platform === 'linux' ? (limitOfProc() ?? limitOfReport()) : limitOfReport();
  return limit !== undefined && Number.isSafeInteger(limit) ? limit : undefined;
}

function limitOfProc(): number | undefined {
  try {
    const soft = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1];
    return soft === undefined ? undefined : Number(soft);
  } catch {
    return undefined;
  }
}

/** Takes about 50 ms, because the diagnostic report covers the whole process. */
function limitOfReport(): number | undefined {
  // Without this option the report looks up the host names of all connected addresses.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  return Number(userLimits?.open_files?.soft);
}

/** True if `count` more files can be opened now. */
export function canOpen(count: number, platform: NodeJS.Platform = process.platform): boolean {
  if (platform === 'win32') return true;
  const opened: number[] = [];
  try {
    while (opened.length < count) opened.push(openSync(devNull, 'r'));
    return true;
  } catch (error) {
    return !isOutOfHandles(error);
  } finally {
    for (const handle of opened) closeSync(handle);
  }
}

/** True if an operation failed because this process, or the whole machine, has no file handle left. */
export function isOutOfHandles(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'EMFILE' || code === 'ENFILE';
}

/** The message and the hint for a process without file handles. */
export const OUT_OF_HANDLES = 'mcpx has too many open files (EMFILE)';
export const MORE_HANDLES = 'raise the limit of open files, as with "ulimit -n", or wait until calls have ended';

/** Returns the error of an operation that was not started because few file handles are left. */
export function outOfHandles(syscall: 'spawn' | 'connect'): NodeJS.ErrnoException {
  return Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall });
}
