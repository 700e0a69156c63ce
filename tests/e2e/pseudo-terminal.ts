/** Runs a program on a pseudo-terminal with the program `script` of util-linux, and types into it. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { PATIENCE, until } from '../setup/until.ts';
import { isRunning } from '../upstream/world.ts';

/** True if a program is installed. */
export function isInstalled(program: string): boolean {
  return spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
}

/** True if this machine can run programs on a pseudo-terminal; the `script` of macOS and BSD has other options. */
export const HAS_TERMINAL = process.platform === 'linux' && isInstalled('script');

export interface TerminalProgram {
  child: ChildProcess;
  /** Everything that was shown so far, with escape sequences. */
  shown(): string;
  type(text: string): void;
  /** Resolves with the match when the text after `from` fits. */
  until(pattern: RegExp, from?: number): Promise<RegExpExecArray>;
  finished: Promise<{ code: number | null; shown: string }>;
}

export interface TerminalPlace {
  cwd: string;
  env: Record<string, string>;
  columns?: number;
}

/** Closes a terminal, as the end of its window does, and resolves when the programs on it have ended. */
async function closeTerminal(terminal: ChildProcess): Promise<void> {
  if (terminal.exitCode !== null || terminal.signalCode !== null) return;
  const children = readFileSync(`/proc/${terminal.pid}/task/${terminal.pid}/children`, 'utf8');
  terminal.kill('SIGKILL');
  const programs = children.split(' ').filter(Boolean).map(Number);
  await until(() => !programs.some(isRunning));
}

/** Starts a program on a terminal of 80 columns; its terminal is closed with the test at the latest. */
export function onTerminal(command: string[], { cwd, env, columns = 80 }: TerminalPlace): TerminalProgram {
  const line = command.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  const inner = `stty cols ${columns} rows 24; exec ${line}`;
  const terminal = { TERM: 'xterm', SHELL: '/bin/sh', ...env };
  const child = spawn('script', ['-qefc', inner, '/dev/null'], { cwd, env: terminal, stdio: 'pipe' });
  onTestFinished(() => closeTerminal(child));
  let text = '';
  const watchers = new Set<() => void>();
  const take = (chunk: string) => {
    text += chunk;
    for (const watch of watchers) watch();
  };
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', take);
  // A program that has ended reads no input.
  child.stdin.on('error', () => undefined);
  const finished = new Promise<{ code: number | null; shown: string }>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done({ code, shown: text }));
  });
  return {
    child,
    shown: () => text,
    type: (keys) => void child.stdin.write(keys),
    until: (pattern, from = 0) =>
      new Promise((done, failed) => {
        const fail = () => failed(new Error(`"${pattern}" was not shown:\n${text.slice(from)}`));
        const timer = setTimeout(fail, PATIENCE);
        const look = () => {
          const found = pattern.exec(text.slice(from));
          if (found === null) return;
          clearTimeout(timer);
          watchers.delete(look);
          done(found);
        };
        watchers.add(look);
        look();
        void finished.then(() => (watchers.has(look) ? fail() : undefined));
      }),
    finished,
  };
}
