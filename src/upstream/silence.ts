/** Whether a process that was asked something neither answers nor works: it may not understand what it reads. */
import { readFileSync } from 'node:fs';
import { childrenOf, isFetching, launcherOf } from './launcher.ts';
import type { LaunchOf, Transport } from './transport.ts';

export interface SilenceOptions {
  launch: LaunchOf<'stdio'>;
  transport: Pick<Transport, 'pid' | 'stderr'>;
  /** Called once, after a second in which it had nothing to do. */
  silent(): void;
}

/** ms between two looks. */
const LOOK = 500;
/** ms of silence, where its processes can be seen to wait. */
const SILENCE = 1000;
/** ms where they cannot: a program that is slow to start must not be started twice. */
const LONG_SILENCE = 5000;
/** Hundredths of a second of processor time between two looks that count as waiting. */
const WAITING = 2;

/** Watches until the returned function is called. */
export function watchSilence({ launch, transport, silent }: SilenceOptions): () => void {
  const launcher = launcherOf(launch);
  let since = performance.now();
  let before = workOf(transport.pid);
  let timer: NodeJS.Timeout | undefined;

  const isWaiting = (now: number): boolean => {
    const stderr = transport.stderr?.() ?? [];
    if (launcher !== undefined && isFetching({ launcher, pid: transport.pid, stderr })) since = now;
    const work = workOf(transport.pid);
    const known = work !== undefined && before !== undefined;
    if (known && (!work.sleeps || !before?.sleeps || work.ticks - before.ticks > WAITING)) since = now - LOOK;
    before = work;
    return now - since >= (known ? SILENCE : LONG_SILENCE);
  };
  const look = () => {
    if (isWaiting(performance.now())) silent();
    else schedule();
  };
  const schedule = () => {
    timer = setTimeout(look, LOOK);
    timer.unref();
  };
  schedule();
  return () => clearTimeout(timer);
}

interface Work {
  /** Processor time of it and its descendants, in hundredths of a second. */
  ticks: number;
  /** Whether none of them runs, or waits for a processor or a disk. */
  sleeps: boolean;
}

/** On Linux only; undefined elsewhere, and where it has ended. */
function workOf(pid: number | undefined): Work | undefined {
  if (pid === undefined) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name before it is in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const own = { ticks: Number(fields[11]) + Number(fields[12]), sleeps: fields[0] === 'S' };
    return childrenOf(pid).reduce<Work>((sum, child) => add(sum, workOf(Number(child))), own);
  } catch {
    return undefined;
  }
}

function add(one: Work, other: Work | undefined): Work {
  if (other === undefined) return one;
  return { ticks: one.ticks + other.ticks, sleeps: one.sleeps && other.sleeps };
}
