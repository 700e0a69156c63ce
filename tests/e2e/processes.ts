/** Descendants of a process and the ones that are left after its end, read from /proc; Linux only. */
import { readdirSync, readFileSync } from 'node:fs';
import { until } from '../setup/until.ts';

export interface Process {
  pid: number;
  parent: number;
  group: number;
  /** Ticks since boot; with the pid it names a process for good. */
  started: string;
  command: string;
}

/** Every process that has not ended; one that waits to be reaped has. */
export function processes(): Process[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry))
    .map(readProcess)
    .filter((one) => one !== undefined);
}

function readProcess(pid: string): Process | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it is in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields[0] === 'Z' || fields[0] === 'X') return undefined;
    const command = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ').trim();
    const [parent, group, started] = [Number(fields[1]), Number(fields[2]), fields[19] ?? ''];
    return { pid: Number(pid), parent, group, started, command };
  } catch {
    // It ended while we looked.
    return undefined;
  }
}

/** All below a process: by parent links, and the members of their groups, whose parents may be gone. */
export function treeOf(root: number): Process[] {
  const all = processes();
  const below = (pid: number): Process[] =>
    all.filter(({ parent }) => parent === pid).flatMap((child) => [child, ...below(child.pid)]);
  const chain = below(root);
  const own = all.find(({ pid }) => pid === root)?.group;
  const groups = new Set(chain.map(({ group }) => group).filter((group) => group !== own));
  const pids = new Set(chain.map(({ pid }) => pid));
  return [...chain, ...all.filter(({ pid, group }) => groups.has(group) && !pids.has(pid))];
}

/** Returns the processes of a tree that still run, and those that joined their groups since. */
export function leftOf(tree: Process[]): Process[] {
  const names = new Set(tree.map(({ pid, started }) => `${pid} ${started}`));
  const groups = new Set(tree.filter(({ pid, group }) => pid === group).map(({ group }) => group));
  return processes().filter(({ pid, started, group }) => names.has(`${pid} ${started}`) || groups.has(group));
}

/** Resolves when nothing of the tree runs any more; fails with who does. */
export function allGone(tree: Process[]): Promise<void> {
  const names = () => leftOf(tree).map(({ pid, parent, group, command }) => `${pid} (${parent}, ${group}) ${command}`);
  return until(
    () => leftOf(tree).length === 0,
    () => `still running: ${names().join('; ')}`,
  );
}
