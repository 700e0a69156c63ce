/** Detects a process that has read a request, and neither answers nor works: it may not understand the framing. */
import { readFileSync } from 'node:fs';
import { childrenOf, isFetching, launcherOf, runsElsewhere } from '../process/launcher.ts';
import { mayReadStdin } from '../process/stdin-reader.ts';
import type { LaunchOf, Transport } from './transport.ts';

export interface SilenceOptions {
  launch: LaunchOf<'stdio'>;
  transport: Pick<Transport, 'pid' | 'stderr'>;
  /** Called once, after a second in which the process was idle. */
  silent(): void;
}

/** Milliseconds between two checks. */
const LOOK = 500;
/** Milliseconds of silence if the process is known to be idle. */
const SILENCE = 1000;
/** Milliseconds of silence if that is unknown: a slow program must not be started twice. */
const LONG_SILENCE = 5000;
/** Processor time between two checks, in hundredths of a second, up to which a process counts as idle. */
const WAITING = 2;

/** Watches until the returned function is called. */
export function watchSilence({ launch, transport, silent }: SilenceOptions): () => void {
  const launcher = launcherOf(launch);
  let since = performance.now();
  const work = () => (runsElsewhere(launch) ? undefined : workOf(transport.pid));
  // Most processes answer before the first check, so that their work is never read.
  let before: Work | undefined;
  let timer: NodeJS.Timeout | undefined;

  const isWaiting = (now: number): boolean => {
    const stderr = transport.stderr?.() ?? [];
    if (launcher !== undefined && isFetching({ launcher, pid: transport.pid, stderr })) since = now;
    const done = work();
    const known = done !== undefined && before !== undefined;
    if (known && (!done.sleeps || !before?.sleeps || done.ticks - before.ticks > WAITING)) since = now - LOOK;
    before = done;
    // A process that is still busy with something else, such as a connection to a database, has not read the request.
    if (done !== undefined && transport.pid !== undefined && mayReadStdin(transport.pid) === false) since = now;
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
  /** Processor time of the process and its descendants in hundredths of a second. */
  ticks: number;
  /** True if none of them runs or waits for a processor or a disk. */
  sleeps: boolean;
}

/** Reads the processor time on Linux; undefined elsewhere, or if the process has ended. */
function workOf(pid: number | undefined): Work | undefined {
  if (pid === undefined) return undefined;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The process name before these fields is in parentheses and may contain any character.
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
