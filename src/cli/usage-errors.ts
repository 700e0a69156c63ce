/** Errors for a command line that is wrong: unknown commands, and cac's errors in the words of this program. */
import type { Command as CacCommand } from 'cac';
import { McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { longName, nameOf } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';

/** Returns the error for an unknown command, with the nearest command or the group's help as a hint. */
export function unknownCommand([first = '', second]: string[]): McpxError {
  const names = COMMANDS.map(({ usage }) => nameOf(usage));
  const family = names.filter((name) => name.startsWith(`${first} `)).map((name) => name.slice(first.length + 1));
  if (family.length > 0 && second === undefined) {
    const words = family.join(', ');
    return new McpxError('usage', `"${first}" needs one of: ${words}`, { hint: `mcpx help ${first}` });
  }
  const typed = family.length > 0 ? `${first} ${second}` : first;
  const [close] = nearest(typed, [...names, ...names.map((name) => name.split(' ')[0] ?? '')]);
  const fallback = family.length > 0 ? `mcpx help ${first}` : 'mcpx help';
  return new McpxError('usage', `there is no command "${typed}"`, {
    hint: close === undefined || close === first ? fallback : `mcpx ${close}`,
  });
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
  const hint = close !== undefined && close !== unknown ? `did you mean --${close}?` : `mcpx help ${command}`;
  return new McpxError('usage', text.charAt(0).toLowerCase() + text.slice(1), { hint });
}
