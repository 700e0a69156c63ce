/** A child and all its descendants as one thing: a process group on POSIX, a process tree on Windows. */
import { spawn, spawnSync } from 'node:child_process';

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

function posixGroup(pid: number): ProcessGroup {
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
      return !gone;
    },
    terminate: () => signal('SIGTERM'),
    kill: () => signal('SIGKILL'),
    killNow: () => signal('SIGKILL'),
  };
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
