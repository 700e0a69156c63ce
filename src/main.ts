/** Process entry: guards the standard streams, handles signals, runs the command line and exits with its code. Only this file calls process.exit. */
import { isatty } from 'node:tty';
import { runCli } from './cli/cli.ts';
import { printError } from './cli/output.ts';
import { EXIT_CODES } from './errors.ts';

const stop = new AbortController();
const hurry = new AbortController();
const exitActions: (() => void)[] = [];
let interrupted = false;
let unread = false;
let hangup: (() => void) | undefined;

function exit(code: number): never {
  for (const action of exitActions) action();
  process.exit(code);
}

/** Stops without an error if the reader closed the stream; another write error ends the process. */
function guardStream(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE' || error.code === 'EIO') {
      unread = true;
      stop.abort();
      return;
    }
    if (stream === process.stdout) printError(new Error(`the answer cannot be written: ${error.message}`));
    exit(EXIT_CODES.failed);
  });
}

function onSignal(signal: NodeJS.Signals): void {
  // On Windows SIGHUP means that the console is closed and that the process will be terminated.
  const asked = signal === 'SIGHUP' && process.platform !== 'win32' && !stop.signal.aborted;
  if (asked && hangup !== undefined) {
    hangup();
    return;
  }
  interrupted ||= signal === 'SIGINT';
  // Clients that closed stdin send SIGTERM two seconds later, and SIGKILL two seconds after that.
  const impatient = stop.signal.aborted || (signal === 'SIGTERM' && process.stdin.readableEnded);
  if (hurry.signal.aborted) exit(interrupted ? 130 : EXIT_CODES.failed);
  if (impatient) hurry.abort();
  stop.abort();
}

function onCrash(error: unknown): void {
  printError(error);
  exit(EXIT_CODES.failed);
}

guardStream(process.stdout);
guardStream(process.stderr);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal);
process.on('uncaughtException', onCrash);
process.on('unhandledRejection', onCrash);

void runCli({
  words: process.argv.slice(2),
  stdinIsTerminal: isatty(0),
  stop: stop.signal,
  hurry: hurry.signal,
  onHangup: (action) => {
    hangup = action;
  },
  atExit: (action) => exitActions.push(action),
}).then((code) => exit(interrupted ? 130 : unread && code === EXIT_CODES.cancelled ? 0 : code));
