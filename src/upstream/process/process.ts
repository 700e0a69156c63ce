/** Runs an upstream as a child process: spawned without a shell in its own process group, stopped with all descendants. */
import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';
import spawn from 'cross-spawn';
import type { McpxError } from '../../errors.ts';
import { canOpen, outOfHandles } from '../../file-handles.ts';
import { isRequest, type RpcResponse } from '../../wire/message.ts';
import { createStreamChannel } from '../../wire/stream.ts';
import {
  type LaunchOf,
  MAX_QUEUED,
  STOP,
  type StopBounds,
  type Transport,
  type TransportOptions,
} from '../transports/transport.ts';
import { type FloodGuard, watchFlood } from './flood-guard.ts';
import { exitFailure, floodError, startFailure } from './process-errors.ts';
import { type ProcessGroup, processGroup } from './process-group.ts';
import { createStderrRing, type StderrRing } from './stderr.ts';

type StdioLaunch = LaunchOf<'stdio'>;

/** Milliseconds to wait for the exit code, the last responses and the last stderr lines once a child is exiting. */
const NEWS_WAIT = 250;
/** Milliseconds between two checks if the process group has ended. */
const POLL = 20;
/** The process is stopped after so many times the message limit in bytes without a valid message. */
const MAX_SILENCE = 16;
/** Milliseconds that a stop waits after SIGKILL: a process that hangs in the kernel must not block mcpx. */
const KILL_WAIT = 500;

/**
 * The number of file handles that must be free before a start: a start needs eight and keeps three; the others are for
 * connections and files.
 */
const SPARE_HANDLES = 16;

/** Stands for a large response, which is not parsed, in the flood guard. */
const ANSWER: RpcResponse = { jsonrpc: '2.0', id: null, result: {} };

/** Starts the process. Throws if that fails at once; a later failure is passed to `closed`. */
export function openProcess(launch: StdioLaunch, options: TransportOptions): Transport {
  const child = start(launch, options.name);
  const group = child.pid === undefined ? undefined : processGroup(child.pid);
  const ring = watchStderr(child, options);
  const channel = createStreamChannel({
    input: child.stdout,
    output: child.stdin,
    // By default the channel replies in the framing of the process.
    ...(launch.framing === 'content-length' && { framing: launch.framing }),
    maxBytes: options.maxBytes,
    maxQueued: MAX_QUEUED,
    subject: `server "${options.name}"`,
    read: (bytes) => floodGuard?.read(bytes),
  });
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const stop = createStop(child, group, exited);
  const ending = watchEnd(child);
  let floodGuard: FloodGuard | undefined;

  return {
    pid: child.pid,
    stderr: ring.lines,
    start(receiver) {
      let broken: McpxError | undefined;
      let worked = false;
      floodGuard = watchFlood(child.stdout, {
        maxSilence: MAX_SILENCE * options.maxBytes,
        exceeded() {
          broken = floodError(options.name, MAX_SILENCE * options.maxBytes);
          child.stdout.destroy();
        },
      });
      channel.start({
        message(message) {
          floodGuard?.message(message);
          worked = true;
          receiver.message(message);
        },
        large(pieces) {
          const answered = receiver.large?.(pieces) ?? false;
          if (answered) floodGuard?.message(ANSWER);
          return answered;
        },
        invalid(reason) {
          floodGuard?.noise();
          receiver.invalid(reason);
        },
        failed: (id, error) => receiver.failed?.(id, error),
        closed: ending.soon,
      });
      void ending.over.then((error) => {
        const { exitCode: code, signalCode: signal } = child;
        const failed = error ? startFailure(options.name, launch, error) : broken;
        receiver.closed(failed ?? exitFailure(options.name, { code, signal, stderr: ring.lines(), worked, launch }));
      });
    },
    send(message) {
      channel.send(message);
      if (isRequest(message)) floodGuard?.asked();
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
      // On POSIX the child gets its own process group; on Windows this would open a console window.
      detached: process.platform !== 'win32',
      windowsHide: true,
    });
    // Without a listener, the `error` event of a failed start would crash mcpx.
    child.on('error', () => undefined);
    // Node omits the pipes if no more files can be opened.
    if (!child.stdout) throw outOfHandles('spawn');
    return child as ChildProcessWithoutNullStreams;
  } catch (error) {
    throw startFailure(name, launch, error as NodeJS.ErrnoException);
  }
}

interface EndWatch {
  /**
   * Resolves when the process has ended and all its output has been read, or shortly after the first sign of the end.
   * The value is the error if the process never started.
   */
  over: Promise<NodeJS.ErrnoException | undefined>;
  /** Reports another sign of the end: stdout is closed. */
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

/** Returns the function that stops a process group; a second call with smaller bounds shortens the stop. */
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
    // A descendant outside the group may still hold the other ends of the pipes.
    for (const stream of child.stdio) stream?.destroy();
  };
  return (wanted: StopBounds): Promise<void> => {
    bounds = { eof: Math.min(bounds.eof, wanted.eof), term: Math.min(bounds.term, wanted.term) };
    running ??= run();
    return running;
  };
}
