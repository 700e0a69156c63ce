/** File handles of this process: how many it may have open, and whether some are left. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import { codeOf } from './files.ts';

/** The limit of open files (`ulimit -n`), which Node raises to its hard limit at the start; undefined where there is none, as on Windows. */
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

/** Takes about 50 ms, for a report on everything else as well. */
function limitOfReport(): number | undefined {
  // Otherwise the names of all connected addresses are looked up.
  const report = Object.assign(process.report, { excludeNetwork: true });
  const { userLimits } = report.getReport() as { userLimits?: { open_files?: { soft: unknown } } };
  return Number(userLimits?.open_files?.soft);
}

/** Whether `count` more files can be opened now. */
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

/** Whether an operation failed because this process, or the whole machine, has no handle left. */
export function isOutOfHandles(error: unknown): boolean {
  const code = codeOf(error);
  return code === 'EMFILE' || code === 'ENFILE';
}

/** How that is said, and what helps. */
export const OUT_OF_HANDLES = 'mcpx has too many open files (EMFILE)';
export const MORE_HANDLES = 'raise the limit of open files, as with "ulimit -n", or wait until calls have ended';

/** The failure of something that was not begun, because few handles are left. */
export function outOfHandles(syscall: 'spawn' | 'connect'): NodeJS.ErrnoException {
  return Object.assign(new Error('too many open files'), { code: 'EMFILE', syscall });
}
