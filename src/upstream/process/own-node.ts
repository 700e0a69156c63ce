/** Runs the scripts of `node` with the Node of this program where a server would find no other one on its PATH. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { isSea } from 'node:sea';
import { findProgram, isNodeName, programName } from '../../config/find-program.ts';
import { type LaunchOf, NODE_COMMAND } from '../transports/transport.ts';

type StdioLaunch = LaunchOf<'stdio'>;

/** The program of this process: the single executable, or Node itself. */
export interface OwnNode {
  execPath: string;
  isExecutable: boolean;
  platform: NodeJS.Platform;
}

/** Returns the launch with the Node of this program; undefined if the server has a Node or needs none. */
export function withOwnNode(launch: StdioLaunch, self: OwnNode = ownNode()): StdioLaunch | undefined {
  const words = wordsOfNode(launch, self.platform);
  if (words === undefined) return undefined;
  if (hasNode(words.node, launch, self.platform)) return undefined;
  const args = self.isExecutable ? [NODE_COMMAND, ...words.args] : words.args;
  return { ...launch, command: self.execPath, args };
}

function ownNode(): OwnNode {
  return { execPath: process.execPath, isExecutable: isSea(), platform: process.platform };
}

function hasNode(node: string, { env, cwd = process.cwd() }: StdioLaunch, platform: NodeJS.Platform): boolean {
  return isNodeName(node) ? findProgram(node, { env, cwd, platform }) !== undefined : existsSync(node);
}

interface NodeWords {
  /** The name of Node, or the path in the first line of a script. */
  node: string;
  /** The options, the script and its arguments. */
  args: string[];
}

function wordsOfNode(
  { command, args, env, cwd = process.cwd() }: StdioLaunch,
  platform: NodeJS.Platform,
): NodeWords | undefined {
  if (isNodeName(command)) return { node: command, args };
  const [flag = '', second = '', ...rest] = args;
  // Configs for Windows start scripts with `cmd /c node …` too.
  if (platform === 'win32' && programName(command) === 'cmd' && /^\/c$/i.test(flag) && isNodeName(second))
    return { node: second, args: rest };
  const isPath = command.includes('/') || (platform === 'win32' && command.includes('\\'));
  const file = isPath ? command : findProgram(command, { env, cwd, platform });
  const first = file === undefined ? undefined : shebangOf(file);
  return file === undefined || first === undefined ? undefined : { ...first, args: [...first.args, file, ...args] };
}

/** Bytes of a file that are read; Linux reads 256 of a first line. */
const FIRST_LINE = 256;

/** Returns the Node that the first line of a script names, with options; undefined if it names another program. */
function shebangOf(file: string): NodeWords | undefined {
  const [interpreter = '', ...words] = firstLine(file)
    .replace(/^#!\s*/, '#!')
    .trim()
    .split(/\s+/);
  if (!interpreter.startsWith('#!')) return undefined;
  const isEnv = programName(interpreter) === 'env';
  const [node = '', ...args] = isEnv ? words.filter((word) => word !== '-S') : [interpreter.slice(2), ...words];
  return isNodeName(programName(node)) ? { node, args } : undefined;
}

function firstLine(file: string): string {
  let handle: number | undefined;
  try {
    handle = openSync(file, 'r');
    const bytes = Buffer.alloc(FIRST_LINE);
    return bytes.toString('latin1', 0, readSync(handle, bytes)).split('\n', 1)[0] ?? '';
  } catch {
    // The start of the process reports a file that is missing or cannot be read.
    return '';
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}
