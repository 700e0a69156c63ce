/** Samples of processes for `bench-soak.mjs`, taken from /proc (Linux only), and the judgement whether they grew. */
import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const MB = 1e6;
/**
 * By how much each number may be larger at the end than after the warm-up, both while nothing is asked. Garbage of the load may stay for
 * a minute, some 100 MB: memory at the end is compared with the most of the warm-up. `npm run bench:memory` sees small leaks.
 */
export const GROWTH = { 'memory MB': 100, handles: 2, children: 0 };

/** The parent of every process. */
function parents() {
  const all = new Map();
  for (const entry of readdirSync('/proc')) {
    if (!/^\d+$/.test(entry)) continue;
    try {
      const stat = readFileSync(`/proc/${entry}/stat`, 'utf8');
      // The name of a program may hold anything, and is in parentheses.
      const [state, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (state !== 'Z') all.set(Number(entry), Number(parent));
    } catch {
      // It ended meanwhile.
    }
  }
  return all;
}

/** All descendants of a process. */
export function descendants(pid, all = parents()) {
  const found = [];
  for (const [child, parent] of all) if (parent === pid) found.push(child, ...descendants(child, all));
  return found;
}

/** Returns the processes that still run, and looks again after a moment, because the system may need it to end a killed one. */
export async function stillRunning(pids) {
  for (let looks = 0; ; looks++) {
    const all = parents();
    const left = pids.filter((pid) => all.has(pid));
    if (left.length === 0 || looks === 10) return left;
    await delay(100);
  }
}

/** How many children a process has by the name in their command line. */
export function childrenByName(pid) {
  const counts = {};
  for (const child of descendants(pid)) {
    const name = /\0name=([^\0]*)/.exec(commandLine(child))?.[1] ?? 'others';
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

function commandLine(pid) {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}

/** The names whose counts differ, as text. */
export function difference(before, after) {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names
    .filter((name) => (before[name] ?? 0) !== (after[name] ?? 0))
    .map((name) => `${name} ${before[name] ?? 0} → ${after[name] ?? 0}`)
    .join(', ');
}

/** One look at a process. */
export function look(pid) {
  const rss = /^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    'memory MB': (Number(rss) * 1024) / MB,
    handles: readdirSync(`/proc/${pid}/fd`).length,
    children: descendants(pid).length,
  };
}

/** Looks until handles and children hold still, for `patience` ms at most; the least memory that was seen. */
export async function lookWhenQuiet(pid, { patience = 30_000, still = 6, every = 1000 } = {}) {
  let last = look(pid);
  let memory = last['memory MB'];
  for (let same = 0, spent = 0; same < still && spent < patience; spent += every) {
    await delay(every);
    const now = look(pid);
    same = now.handles === last.handles && now.children === last.children ? same + 1 : 0;
    memory = Math.min(memory, now['memory MB']);
    last = now;
  }
  return { ...last, 'memory MB': memory, names: childrenByName(pid) };
}

/** One row per process and number: after the warm-up, the most under load, at the end. */
export function rowsOf(processes, bars = GROWTH) {
  return processes.flatMap(({ name, first, most, last }) =>
    Object.keys(bars).map((number) => ({
      ...{ process: name, number, first: first[number], most: most[number], last: last[number] },
      over: !(last[number] - first[number] <= bars[number]),
      ...(number === 'children' && { difference: difference(first.names, last.names) }),
    })),
  );
}

/** The larger of each number. */
export function larger(one, other) {
  return Object.fromEntries(Object.keys(one).map((number) => [number, Math.max(one[number], other[number])]));
}

export function table(rows, bars = GROWTH) {
  const write = (value) => (Number.isInteger(value) ? `${value}` : value.toFixed(1));
  const head = ['process', 'number', 'warm', 'most', 'end', 'growth', ''];
  const cells = rows.map(({ process, number, first, most, last, over, difference = '' }) => [
    ...[process, number, write(first), write(most), write(last), `+${bars[number]}`],
    over ? `over  ${difference}` : 'ok',
  ]);
  const line = ([process, number, first, most, last, growth, result]) => {
    const numbers = [first, most, last, growth].map((cell) => cell.padStart(9)).join('');
    return `${process.padEnd(18)}${number.padEnd(12)}${numbers}  ${result}`.trimEnd();
  };
  return [head, ...cells].map(line).join('\n');
}
