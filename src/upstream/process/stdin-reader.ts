/** Finds out if a process waits for input on its stdin; on Linux only. */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { childrenOf } from './launcher.ts';

/**
 * Returns false if neither the process nor a descendant waits for its stdin, so that it cannot have read a message yet;
 * true if one may; undefined if that is unknown.
 */
export function mayReadStdin(pid: number): boolean | undefined {
  try {
    return anyReads(pid, readlinkSync(`/proc/${pid}/fd/0`));
  } catch {
    // There is no /proc, the process has ended, or it belongs to another user.
    return undefined;
  }
}

function anyReads(pid: number | string, input: string): boolean {
  return reads(pid, input) || childrenOf(Number(pid)).some((child) => anyReads(child, input));
}

/** `input` is the link of the file descriptor, such as `socket:[123]`. */
function reads(pid: number | string, input: string): boolean {
  const links = readdirSync(`/proc/${pid}/fd`).map((fd) => [fd, readlinkSync(`/proc/${pid}/fd/${fd}`)] as const);
  const inputs = links.flatMap(([fd, link]) => (link === input ? [fd] : []));
  if (inputs.length === 0) return false;
  const watched = links.flatMap(([fd, link]) => (link === EPOLL ? watchedBy(pid, fd) : []));
  if (watched.some((fd) => inputs.includes(fd))) return true;
  return !readdirSync(`/proc/${pid}/task`).every((thread) =>
    WAITS_FOR_OTHER.test(readFileSync(`/proc/${pid}/task/${thread}/wchan`, 'latin1')),
  );
}

const EPOLL = 'anon_inode:[eventpoll]';

/** Returns the file descriptors for which an epoll instance waits. */
function watchedBy(pid: number | string, fd: string): string[] {
  const text = readFileSync(`/proc/${pid}/fdinfo/${fd}`, 'latin1');
  return Array.from(text.matchAll(/^tfd:\s*(\d+)/gm), ([, watched = '']) => watched);
}

/** Kernel functions in which a thread waits for something other than our socket. Others, such as `poll`, may wait for it. */
const WAITS_FOR_OTHER =
  /^(?:do_epoll_wait|ep_poll|futex_|do_nanosleep|hrtimer_nanosleep|do_wait|kernel_wait|inet_|wait_woken)/;
