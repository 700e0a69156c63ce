/** Errors for a command line that is wrong: unknown commands, and cac's errors in the words of this program. */
import type { Command as CacCommand } from 'cac';
import { McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { longName, nameOf } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { shellWord } from './shell-word.ts';

/** Returns the error for an unknown command, with the nearest command or the group's help as a hint. */
export function unknownCommand(words: string[]): McpxError {
  const [first = '', second] = words;
  const names = COMMANDS.map(({ usage }) => nameOf(usage));
  const family = names.filter((name) => name.startsWith(`${first} `)).map((name) => name.slice(first.length + 1));
  if (family.length > 0 && second === undefined) {
    const words = family.join(', ');
    return new McpxError('usage', `"${first}" needs one of: ${words}`, { hint: `mcpx help ${first}` });
  }
  const foreign = family.length > 0 ? FOREIGN_PARTS.get(`${first} ${second}`) : foreignWord(words);
  const typed = family.length > 0 ? `${first} ${second}` : first;
  if (foreign !== undefined) return new McpxError('usage', `there is no command "${typed}"`, { hint: foreign });
  const [close] = nearest(typed, [...names, ...names.map((name) => name.split(' ')[0] ?? '')]);
  const fallback = family.length > 0 ? `mcpx help ${first}` : 'mcpx help';
  return new McpxError('usage', `there is no command "${typed}"`, {
    hint: close === undefined || close === first ? fallback : `mcpx ${close}`,
  });
}

/** The commands of other programs, with the command of mcpx that does the same. */
const FOREIGN = new Map(
  Object.entries({
    exec: ['call', 'call-tool', 'run', 'invoke', 'use'],
    list: ['ls', 'servers', 'server', 'ps'],
    'list --check': ['check', 'health', 'ping', 'test', 'verify'],
    'tools -s': ['search', 'find', 'grep', 'query'],
    inspect: ['describe', 'show', 'info'],
    serve: ['start', 'up', 'gateway', 'proxy', 'stdio', 'http', 'daemon'],
    add: ['install', 'new', 'create', 'register', 'add-server', 'add-json'],
    remove: ['rm', 'del', 'delete', 'uninstall', 'unregister'],
    enable: ['on'],
    disable: ['off'],
    setup: ['connect', 'configure', 'link'],
    import: ['migrate', 'discover'],
    login: ['auth', 'signin', 'sign-in', 'authenticate', 'oauth'],
    logout: ['signout', 'sign-out'],
    logs: ['log', 'tail'],
    doctor: ['diagnose', 'diag', 'debug', 'troubleshoot'],
    tokens: ['cost', 'savings'],
    stats: ['usage'],
    'config validate': ['validate', 'lint'],
    'config path': ['where'],
    'config show': ['settings', 'cfg'],
    '--version': ['version', 'ver'],
    '--help': ['commands', 'h'],
  }).flatMap(([own, words]) => words.map((word) => [word, own] as const)),
);

const FOREIGN_PARTS = new Map([
  ['config get', 'mcpx config show'],
  ['config list', 'mcpx config show'],
  ['config edit', '${EDITOR:-vi} "$(mcpx config path)"'],
]);

/** Returns the command line of mcpx for a word of another program, or for a target without `exec`; the arguments stay. */
function foreignWord([first = '', ...rest]: string[]): string | undefined {
  const own = FOREIGN.get(first.toLowerCase()) ?? (isTarget(first) ? 'exec' : undefined);
  const names = COMMANDS.map(({ usage }) => nameOf(usage));
  if (own === undefined || !(own.startsWith('--') || names.some((name) => `${own} `.startsWith(`${name} `))))
    return undefined;
  const typed = isTarget(first) ? [first, ...rest] : rest;
  // Words after `--` are not repeated: they may hold secrets of a command.
  const shown = own.startsWith('--') ? [] : typed.filter((word) => !word.includes('\0'));
  const search = own === 'tools -s' ? [shown.length === 0 ? 'query' : shown.join(' ')] : shown;
  return ['mcpx', own, ...search.map(shellWord)].join(' ');
}

/** True for `server.tool`. */
function isTarget(word: string): boolean {
  return /^[\w-]+\.[\w./:-]+$/.test(word);
}

/** True for an error of cac about the command line. */
export function isCacError(error: unknown): error is Error {
  return error instanceof Error && error.name === 'CACError';
}

/** Rewrites cac's errors, which print option names in camelCase and in back quotes, to the names as typed. */
export function usageError(message: string, { name, options }: Pick<CacCommand, 'name' | 'options'>): McpxError {
  const command = name.replace(':', ' ');
  const text = message
    .replace(/--\w+/g, (option) => option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`))
    .replaceAll('`', '"')
    .replace(/^missing required args for command "\S+ (<\w+>).*"$/, `"${command}" needs $1`)
    .replace(/^Unused args: +(.*)$/i, `"${command}" does not take $1`);
  const unknown = /--([\w-]+)/.exec(text)?.[1];
  const known = [...options.map(({ rawName }) => rawName), ...GLOBAL_OPTIONS.map(({ flags }) => flags)].map(longName);
  const [close] = unknown === undefined ? [] : nearest(unknown, known);
  const hint = close !== undefined && close !== unknown ? `did you mean --${close}?` : helpHint(command, unknown);
  return new McpxError('usage', text.charAt(0).toLowerCase() + text.slice(1), { hint });
}

/** An unknown option of `mcpx add` is usually one of the server's command. */
function helpHint(command: string, unknown: string | undefined): string {
  return command === 'add' && unknown !== undefined
    ? 'put the command of the server after "--": mcpx add <name> -- <command>'
    : `mcpx help ${command}`;
}
