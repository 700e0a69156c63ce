/** Signals a child with all its descendants: a process group on POSIX, a process tree on Windows. */
import { spawn, spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { codeOf } from '../../files.ts';

export interface ProcessGroup {
  /** Returns true if the group still has a member. */
  alive(): boolean;
  terminate(): void;
  kill(): void;
  /** Kills the group; returns after the signal has been sent. */
  killNow(): void;
}

/** Returns the group that the child with this pid leads; on POSIX it must have been spawned detached. */
export function processGroup(pid: number, platform: NodeJS.Platform = process.platform): ProcessGroup {
  return platform === 'win32' ? windowsTree(pid) : posixGroup(pid);
}

/** Every so many checks look for zombies, which reads much of /proc. */
const ZOMBIE_CHECK = 5;

function posixGroup(pid: number): ProcessGroup {
  let looks = 0;
  // The id of an empty group may be reused, so the group is never signalled again.
  let gone = false;
  const signal = (name: NodeJS.Signals | 0) => {
    if (gone) return;
    try {
      process.kill(-pid, name);
    } catch (error) {
      // EPERM means that a member changed its user; it is alive, and mcpx may not signal it.
      gone = codeOf(error) === 'ESRCH';
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
 * Returns true if all members are zombies. In a container without an init no process reaps orphans, and they would
 * count as alive forever. This works on Linux only; elsewhere it returns false.
 */
function onlyZombies(group: number): boolean {
  if (process.platform !== 'linux') return false;
  const members = readdirSync('/proc').map((entry) => (/^\d+$/.test(entry) ? statOf(entry) : undefined));
  return members.every((member) => member?.group !== group || member.state === 'Z' || member.state === 'X');
}

function statOf(pid: string): { state: string | undefined; group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name before these fields is in parentheses and may contain any character.
    const [state, , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, group: Number(group) };
  } catch {
    // The process has ended meanwhile.
    return undefined;
  }
}

/** Windows has no SIGTERM for console programs, so taskkill ends the tree at both stages. */
function windowsTree(pid: number): ProcessGroup {
  const args = ['/pid', String(pid), '/T', '/F'];
  const kill = () => {
    const killer = spawn('taskkill', args, { stdio: 'ignore', windowsHide: true });
    // Without taskkill there is no other way; the child's stdin is already closed.
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
