/** The sentences about an upstream process that did not start or that ended. */
import { existsSync } from 'node:fs';
import { McpxError } from '../errors.ts';
import type { LaunchOf } from './transport.ts';

/** How many of the last stderr lines a message quotes, and how long the quote may be. */
const QUOTED_LINES = 5;
const QUOTED_CHARS = 600;

export function startFailure(name: string, launch: LaunchOf<'stdio'>, error: NodeJS.ErrnoException): McpxError {
  const [why, hint] = reasonFor(launch, error);
  return new McpxError('unreachable', `server "${name}" could not be started: ${why}`, { hint, cause: error });
}

function reasonFor({ command, cwd }: LaunchOf<'stdio'>, error: NodeJS.ErrnoException): [why: string, hint?: string] {
  if (cwd !== undefined && !existsSync(cwd))
    return [`its folder "${cwd}" does not exist`, 'correct "cwd" in the config'];
  if (error.code === 'EACCES') return [`command "${command}" may not be executed`, `chmod +x "${command}"`];
  if (error.code !== 'ENOENT') return [`${error.code ?? error.message}`];
  if (!/[\\/]/.test(command)) {
    return [
      `command "${command}" was not found`,
      `install "${command}", or put its folder on PATH, or give its full path`,
    ];
  }
  if (!existsSync(command)) return [`command "${command}" was not found`, 'correct "command" in the config'];
  return [`the interpreter that "${command}" names in its first line was not found`];
}

/** Whether only a person can repair it, so that trying again by itself is of no use: the config, credentials, a missing command. */
export function isTerminal(failure: McpxError): boolean {
  if (failure.code === 'config' || failure.code === 'auth') return true;
  const { code, syscall } = (failure.cause ?? {}) as NodeJS.ErrnoException;
  return (code === 'ENOENT' || code === 'EACCES') && syscall?.startsWith('spawn') === true;
}

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string[];
}

export function exitFailure(name: string, { code, signal, stderr }: Ending): McpxError {
  const what = signal ? `was ended by ${signal}` : code === null ? 'closed its pipes' : `exited with code ${code}`;
  return new McpxError('unreachable', `server "${name}" ${what}${quote(stderr)}`);
}

/** The end of stderr as part of a sentence. */
export function quote(stderr: string[]): string {
  if (stderr.length === 0) return '';
  const text = stderr.slice(-QUOTED_LINES).join(' | ');
  return ` (stderr: ${text.length > QUOTED_CHARS ? `…${text.slice(-QUOTED_CHARS)}` : text})`;
}
