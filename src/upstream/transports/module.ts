/** Runs a local JavaScript file as an upstream: in a child process of mcpx that serves MCP over its pipes. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { isSea } from 'node:sea';
import { McpxError } from '../../errors.ts';
import { openProcess } from '../process/process.ts';
import { type LaunchOf, MODULE_COMMAND, type Transport, type TransportOptions } from './transport.ts';

/** The command that starts mcpx again: a program and its first arguments. */
export interface Self {
  command: string;
  args: string[];
}

export function openModule(
  launch: LaunchOf<'module'>,
  options: TransportOptions,
  self: Self = ownCommand(),
): Transport {
  const { module, env } = launch;
  if (!existsSync(module)) {
    const hint = 'correct "module" in the config: it is relative to the config file';
    throw new McpxError('unreachable', `the file "${module}" of server "${options.name}" does not exist`, { hint });
  }
  const args = [...self.args, MODULE_COMMAND, module];
  return openProcess({ type: 'stdio', command: self.command, args, env, cwd: undefined, framing: 'newline' }, options);
}

/** The file with the command line, next to the bundled library; undefined in all other builds. */
declare const __PROGRAM__: string | undefined;

/** Returns the single executable, or node with the running script. A program that uses the library is not that script. */
function ownCommand(): Self {
  const script = typeof __PROGRAM__ === 'string' ? join(__dirname, __PROGRAM__) : process.argv[1];
  return { command: process.execPath, args: isSea() || script === undefined ? [] : [script] };
}
