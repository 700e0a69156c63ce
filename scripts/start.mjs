/**
 * npm start: installs and builds what is needed, then runs `mcpx demo`.
 *   npm start -- --port 4000   options go to the demo
 *   npm start -- tools         a command replaces it
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { ensureBuilt } from './ensure-built.mjs';
import { log } from './log.mjs';
import { isMain, runMain } from './project.mjs';

/** The arguments for mcpx. */
export function mcpxArguments(args) {
  return args.length === 0 || args[0].startsWith('-') ? ['demo', ...args] : args;
}

/** The process that started us; another number later means that it has ended. */
const PARENT = process.ppid;
/** Milliseconds between two looks at it. */
const PARENT_INTERVAL = 500;

/**
 * When npm is told to end, it ends the shell between it and us, and that shell tells nobody.
 * Calls `whenGone` once that has happened; returns what stops the watch.
 */
function watchParent(whenGone) {
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const timer = setInterval(() => {
    if (process.ppid === PARENT) return;
    clearInterval(timer);
    whenGone();
  }, PARENT_INTERVAL);
  return () => clearInterval(timer);
}

/** Runs a program on our own terminal and resolves with its exit code, 128 + n when signal n ended it. */
export function runForeground(command, args, { env = process.env } = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', env });
    const forward = (signal) => {
      // Ctrl-C in a terminal reaches the whole group by itself; a second one would skip the orderly end.
      if (signal === 'SIGINT' && process.stdin.isTTY) return;
      child.kill(signal);
    };
    const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
    for (const signal of signals) process.on(signal, forward);
    const unwatch = watchParent(() => child.kill('SIGTERM'));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      unwatch();
      for (const name of signals) process.off(name, forward);
      resolve(code ?? 128 + (constants.signals[signal] ?? 0));
    });
  });
}

if (isMain(import.meta.url)) {
  await runMain(async (extra) => {
    const [command, ...before] = await ensureBuilt();
    const args = mcpxArguments(extra);
    log('run', `mcpx ${args.join(' ')}`);
    return runForeground(command, [...before, ...args]);
  });
}
