/** A child and all its descendants as one thing: a process group on POSIX, a process tree on Windows. */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

export interface ProcessGroup {
  /** Whether the group still has a member. */
  alive(): boolean;
  terminate(): void;
  kill(): void;
  /** Does not return before the signal is sent. */
  killNow(): void;
}

/** The group that the child with this pid leads; it must have been started detached on POSIX. */
export function processGroup(pid: number, platform: NodeJS.Platform = process.platform): ProcessGroup {
  return platform === 'win32' ? windowsTree(pid) : posixGroup(pid);
}

/** Looking for zombies reads much of /proc, so only one look in so many does it. */
const ZOMBIE_CHECK = 5;

function posixGroup(pid: number): ProcessGroup {
  let looks = 0;
  // Once the group is empty its number may belong to somebody else, so it is never signalled again.
  let gone = false;
  const signal = (name: NodeJS.Signals | 0) => {
    if (gone) return;
    try {
      process.kill(-pid, name);
    } catch (error) {
      // EPERM: a member changed its user. It is alive, and not ours to end.
      gone = (error as NodeJS.ErrnoException).code === 'ESRCH';
    }
  };
  return {
    alive() {
      signal(0);
      looks += 1;
      if (!gone && looks % ZOMBIE_CHECK === 0) gone = onlyZombies(pid);
      return !gone;
    },
    terminate: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
    killNow: () => signal('SIGKILL'),
  };
}

/**
 * Whether all members have ended and wait to be reaped. In a container without an init nobody reaps orphans, and they would
 * count as alive for ever. Only Linux can tell; elsewhere false.
 */
function onlyZombies(group: number): boolean {
  if (process.platform !== 'linux') return false;
  const members = readdirSync('/proc').map((entry) => (/^\d+$/.test(entry) ? statOf(entry) : undefined));
  return members.every((member) => member?.group !== group || member.state === 'Z' || member.state === 'X');
}

function statOf(pid: string): { state: string | undefined; group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it is in parentheses and may hold anything.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, group: Number(group) };
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

/** Windows has no SIGTERM for console programs: the tree is ended by taskkill at either stage. */
function windowsTree(pid: number): ProcessGroup {
  const args = ['/pid', String(pid), '/T', '/F'];
  const kill = () => {
    const killer = spawn('taskkill', args, { stdio: 'ignore', windowsHide: true });
    // Without taskkill there is nothing else to try; the child's stdin is closed already.
    killer.on('error', () => {});
  };
  return {
    alive() {
      try {
        process.kill(pid, 0);
        return true;
      } catch {
        return false;
      }
    },
    terminate: kill,
    kill,
    killNow: () => void spawnSync('taskkill', args, { stdio: 'ignore', windowsHide: true, timeout: 2000 }),
  };
}
