/** Error messages for an upstream process that did not start or has exited. */
import { existsSync } from 'node:fs';
import { programName } from '../../config/find-program.ts';
import { McpxError } from '../../errors.ts';
import { isOutOfHandles, MORE_HANDLES, OUT_OF_HANDLES } from '../../file-handles.ts';
import { type LaunchOf, MODULE_COMMAND, NODE_COMMAND } from '../transports/transport.ts';

/** The number of last stderr lines that a message quotes, and the maximum length of the quote in characters. */
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
  if (isOutOfHandles(error)) return [OUT_OF_HANDLES, MORE_HANDLES];
  if (error.code !== 'ENOENT') return [`${error.code ?? error.message}`];
  if (!/[\\/]/.test(command)) return [`command "${command}" was not found`, toInstall(command)];
  if (!existsSync(command)) return [`command "${command}" was not found`, 'correct "command" in the config'];
  return [`the interpreter that "${command}" names in its first line was not found`];
}

/** Programs of Node that have no use without it. */
const NEEDS_NODE = new Set(['npx', 'npm', 'pnpm', 'pnpx', 'yarn']);

function toInstall(command: string): string {
  const install = `install "${command}", or put its folder on PATH, or give its full path`;
  if (!NEEDS_NODE.has(programName(command))) return install;
  return `${install}; "command": "node" with the path of a script needs no Node on this machine`;
}

/**
 * Returns true if only the user can fix the failure (config, credentials, a missing command), so that retries are
 * useless.
 */
export function isTerminal(failure: McpxError): boolean {
  if (failure.code === 'config' || failure.code === 'auth') return true;
  const { code, syscall } = (failure.cause ?? {}) as NodeJS.ErrnoException;
  return (code === 'ENOENT' || code === 'EACCES') && syscall?.startsWith('spawn') === true;
}

export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
  stderr: string[];
  /** True if the process has sent a message before. */
  worked: boolean;
  launch: Pick<LaunchOf<'stdio'>, 'command' | 'args'>;
}

export function exitFailure(name: string, { code, signal, stderr, worked, launch }: Ending): McpxError {
  const what = signal ? `was ended by ${signal}` : code === null ? 'closed its pipes' : `exited with code ${code}`;
  const own = OWN_COMMANDS.find((command) => launch.args.includes(command));
  const hint = own === undefined ? undefined : stderr.findLast((line) => line.startsWith(HINT));
  return new McpxError('unreachable', `server "${name}" ${what}${quote(stderr.filter((line) => line !== hint))}`, {
    hint: worked ? afterCrash(name) : (hint?.slice(HINT.length) ?? beforeFirstAnswer(name, launch.command, own)),
    fault: 'exited',
  });
}

/** The hidden commands of mcpx that a server runs in. */
const OWN_COMMANDS = [MODULE_COMMAND, NODE_COMMAND];
/** The beginning of the line with which such a process says how to mend its error. */
const HINT = 'hint: ';

/** Returns the hint for a process that had worked: its command is right, so running it manually would show nothing. */
function afterCrash(name: string): string {
  return `server "${name}" had worked until then, and is started again by itself; "mcpx logs ${name}" shows what it wrote before`;
}

function beforeFirstAnswer(name: string, program: string, own: string | undefined): string {
  const environment =
    'mcpx gives it a minimal environment: name in its "env" whatever it needs beyond PATH, HOME and the like';
  const node = own === NODE_COMMAND ? `, with "${program} ${NODE_COMMAND}" in place of "node"` : '';
  return `run the command of server "${name}" in a terminal${node}: it has to stay and wait for input; ${environment}`;
}

export function floodError(name: string, bytes: number): McpxError {
  return new McpxError('protocol', `server "${name}" wrote ${bytes} bytes without a message and was given up`, {
    hint: `check that the command of server "${name}" speaks MCP on its stdout`,
    fault: 'not-mcp',
  });
}

/**
 * Matches lines that do not explain a failure: notices and progress of package runners, stack frames, closing brackets
 * of a dump.
 */
const CHATTER =
  /^(npm (notice|warn|http|info|verb|sill)\b|npm error (A complete log of this run|code \d+$)|npm ERR! A complete log|\s+at \S|\s*\^+\s*$|Node\.js v\d|build\/boot\.js:\d+$|\s+throw .*;$|[{}[\](),;\s]*$|(Downloading|Downloaded|Building|Built|Installed|Resolved|Prepared|Audited)\b)/i;

/** Returns the last stderr lines for an error message; uninformative lines are omitted if others are left. */
export function quote(stderr: string[]): string {
  const telling = stderr.filter((line) => !CHATTER.test(line));
  const lines = (telling.length > 0 ? telling : stderr).slice(-QUOTED_LINES);
  if (lines.length === 0) return '';
  const text = lines.join(' | ');
  return ` (stderr: ${text.length > QUOTED_CHARS ? `…${text.slice(-QUOTED_CHARS)}` : text})`;
}
