/** An upstream as a child process: spawned without a shell in its own process group, ended with all its descendants. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import spawn from 'cross-spawn';
import type { McpxError } from '../errors.ts';
import { canOpen, outOfHandles } from '../handles.ts';
import { isRequest, type RpcResponse } from '../wire/message.ts';
import { createStreamChannel } from '../wire/stream.ts';
import { exitFailure, startFailure, torrentFailure } from './failure.ts';
import { type ProcessGroup, processGroup } from './group.ts';
import { createStderrRing, type StderrRing } from './stderr.ts';
import { type Torrent, watchTorrent } from './torrent.ts';
import {
  type LaunchOf,
  MAX_QUEUED,
  STOP,
  type StopBounds,
  type Transport,
  type TransportOptions,
} from './transport.ts';

type StdioLaunch = LaunchOf<'stdio'>;

/** How long the rest of the news (exit code, last answers, last words) may take once a child is known to be ending, in ms. */
const NEWS_WAIT = 250;
/** How often a stop looks whether the group is gone, in ms. */
const POLL = 20;
/** How much longer than the largest message something may be that is none, before the process is given up. */
const MAX_SILENCE = 16;
/** How long a stop waits for killed processes to vanish, in ms: one that hangs in the kernel must not hold us. */
const KILL_WAIT = 500;

/** Handles that must be free before a start: it needs eight for a moment and keeps three; the others are for connections and files. */
const SPARE_HANDLES = 16;

/** What a large answer is to whoever counts messages. */
const ANSWER: RpcResponse = { jsonrpc: '2.0', id: null, result: {} };

/** Starts the process. Throws when that fails at once; a failure that shows later is told through `closed`. */
export function openProcess(launch: StdioLaunch, options: TransportOptions): Transport {
  const child = start(launch, options.name);
  const group = child.pid === undefined ? undefined : processGroup(child.pid);
  const ring = watchStderr(child, options);
  const channel = createStreamChannel({
    input: child.stdout,
    output: child.stdin,
    // By default in the way that it answers.
    ...(launch.framing === 'content-length' && { framing: launch.framing }),
    maxBytes: options.maxBytes,
    maxQueued: MAX_QUEUED,
    subject: `server "${options.name}"`,
    read: (bytes) => torrent?.read(bytes),
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = createStop(child, group, exited);
  const ending = watchEnd(child);
  let torrent: Torrent | undefined;

  return {
    pid: child.pid,
    stderr: ring.lines,
    start(receiver) {
      let broken: McpxError | undefined;
      let worked = false;
      torrent = watchTorrent(child.stdout, {
        maxSilence: MAX_SILENCE * options.maxBytes,
        exceeded() {
          broken = torrentFailure(options.name, MAX_SILENCE * options.maxBytes);
          child.stdout.destroy();
        },
      });
      channel.start({
        message(message) {
          torrent?.message(message);
          worked = true;
          receiver.message(message);
        },
        large(pieces) {
          const answered = receiver.large?.(pieces) ?? false;
          if (answered) torrent?.message(ANSWER);
          return answered;
        },
        invalid(reason) {
          torrent?.noise();
          receiver.invalid(reason);
        },
        failed: (id, error) => receiver.failed?.(id, error),
        closed: ending.soon,
      });
      void ending.over.then((error) => {
        const { exitCode: code, signalCode: signal } = child;
        const failed = error ? startFailure(options.name, launch, error) : broken;
        receiver.closed(failed ?? exitFailure(options.name, { code, signal, stderr: ring.lines(), worked }));
      });
    },
    send(message) {
      channel.send(message);
      if (isRequest(message)) torrent?.asked();
    },
    close(bounds = STOP) {
      void channel.end();
      return stop(bounds);
    },
    killNow: () => group?.killNow(),
  };
}

function start(launch: StdioLaunch, name: string): ChildProcessWithoutNullStreams {
  try {
    if (!canOpen(SPARE_HANDLES)) throw outOfHandles('spawn');
    const child = spawn(launch.command, launch.args, {
      env: launch.env,
      cwd: launch.cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
      // Its own group on POSIX; on Windows this would open a console window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    // A failed start is told in an event, and one that nobody listens to ends the process.
    child.on('error', () => undefined);
    // Node leaves the pipes out when no more files can be opened.
    if (!child.stdout) throw outOfHandles('spawn');
    return child as ChildProcessWithoutNullStreams;
  } catch (error) {
    throw startFailure(name, launch, error as NodeJS.ErrnoException);
  }
}

interface EndWatch {
  /** Resolves when it has ended and all it wrote has been read, or shortly after the first sign; with the error if it never started. */
  over: Promise<NodeJS.ErrnoException | undefined>;
  /** Another sign of the end: its stdout is closed. */
  soon: () => void;
}

function watchEnd(child: ChildProcessWithoutNullStreams): EndWatch {
  let soon = () => {};
  const over = new Promise<NodeJS.ErrnoException | undefined>((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const settle = (error?: NodeJS.ErrnoException) => {
      clearTimeout(timer);
      resolve(error);
    };
    soon = () => {
      timer ??= setTimeout(settle, NEWS_WAIT);
    };
    child.once('error', settle);
    child.once('exit', soon);
    child.once('close', () => settle());
  });
  return { over, soon };
}

function watchStderr(child: ChildProcessWithoutNullStreams, options: TransportOptions): StderrRing {
  return createStderrRing(child.stderr, {
    redactor: options.redactor,
    line: (line) => {
      options.stderr?.(line);
      options.log.debug(line, { server: options.name, stream: 'stderr' });
    },
  });
}

/** The stop of a process group; calling it again with smaller bounds hurries it. */
function createStop(child: ChildProcessWithoutNullStreams, group: ProcessGroup | undefined, exited: Promise<void>) {
  let bounds: StopBounds = { eof: Number.POSITIVE_INFINITY, term: Number.POSITIVE_INFINITY };
  let running: Promise<void> | undefined;

  const gone = async (limit: () => number): Promise<boolean> => {
    const since = performance.now();
    while (group?.alive()) {
      if (performance.now() - since >= limit()) return false;
      const left = child.exitCode === null && child.signalCode === null;
      await (left ? Promise.race([exited, delay(POLL)]) : delay(POLL));
    }
    return true;
  };
  const stages = async () => {
    if (await gone(() => bounds.eof)) return;
    group?.terminate();
    if (await gone(() => bounds.term)) return;
    group?.kill();
    await gone(() => KILL_WAIT);
  };
  const run = async () => {
    await stages();
    // A descendant outside the group may still hold the other ends.
    for (const stream of child.stdio) stream?.destroy();
  };
  return (wanted: StopBounds): Promise<void> => {
    bounds = { eof: Math.min(bounds.eof, wanted.eof), term: Math.min(bounds.term, wanted.term) };
    running ??= run();
    return running;
  };
}
