/** Runs a command line: finds the command, checks its options, runs it and returns the exit code. */
import { existsSync } from 'node:fs';
import { type CAC, cac } from 'cac';
import { EXIT_CODES, McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { MODULE_COMMAND } from '../upstream/transports/transport.ts';
import { versionJson, versionLine, wantsVersionJson } from '../version.ts';
import { type Command, type Lifecycle, longName, nameOf, namesOf, readFlags } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS, unknownCommand } from './commands.ts';
import { print, printError } from './output.ts';

export interface CliOptions extends Lifecycle {
  /** The command-line arguments after the program's name. */
  words: string[];
  /** True if stdin is a terminal. */
  stdinIsTerminal: boolean;
}

/** Prints errors and returns the exit code; it does not throw. */
export async function runCli(options: CliOptions): Promise<number> {
  try {
    return await dispatch(options);
  } catch (error) {
    const code = error instanceof McpxError ? error.code : 'failed';
    // A command that a signal has cancelled prints no error.
    if (!(code === 'cancelled' && options.stop.aborted)) printError(error);
    return EXIT_CODES[code];
  }
}

async function dispatch({ words, stdinIsTerminal, ...lifecycle }: CliOptions): Promise<number> {
  const [first] = words;
  if (words.length === 1 && (first === '-V' || first === '-v' || first === '--version')) {
    await print(versionLine());
    return 0;
  }
  if (wantsVersionJson(words)) {
    await print(versionJson('none'));
    return 0;
  }
  if (first === MODULE_COMMAND) return (await import('./module-child.ts')).run(words.slice(1), lifecycle);
  const help = words.includes('-h') || words.includes('--help');
  const wantsHelp = words.length === 0 ? stdinIsTerminal : help && !hasCommand(words);
  if (wantsHelp) return (await import('./help.ts')).run({ args: [] });

  const typed = withCommand(words);
  const { cli, command } = match(typed);
  if (help) {
    await print((await import('./help.ts')).commandHelp(command));
    return 0;
  }
  const flags = readFlags(words, [...command.options, ...GLOBAL_OPTIONS]);
  if (flags.has('version')) {
    await print(versionLine());
    return 0;
  }
  check(cli, command, words);
  const args = [...cli.args, ...(cli.options['--'] as string[])];
  return (await command.load()).run({ ...lifecycle, args, flags });
}

function hasCommand(words: string[]): boolean {
  return words.some((word) => heads().includes(word));
}

/** Returns the first words of all commands. */
function heads(): string[] {
  return COMMANDS.map(({ usage }) => nameOf(usage).split(' ')[0] ?? '');
}

/** Inserts `serve` if there is no command: no arguments, only options, or a config file instead of a command. */
function withCommand(typed: string[]): string[] {
  const words = commandFirst(typed);
  const [first] = words;
  const isFile = first !== undefined && !heads().includes(first) && (/\.jsonc?$/.test(first) || existsSync(first));
  return first === undefined || first.startsWith('-') || isFile ? ['serve', ...words] : words;
}

/** Moves options before the command behind it: `--config a.json tools` becomes `tools --config a.json`. */
function commandFirst(words: string[]): string[] {
  const valued = valuedOptions();
  const at = words.findIndex((word, index) => !word.startsWith('-') && !valued.has(words[index - 1] ?? ''));
  const word = words[at];
  if (at < 1 || word === undefined || !heads().includes(word)) return words;
  const length = COMMANDS.some(({ usage }) => nameOf(usage) === `${word} ${words[at + 1]}`) ? 2 : 1;
  return [...words.slice(at, at + length), ...words.slice(0, at), ...words.slice(at + length)];
}

/** Returns the names of the options that require a value. */
function valuedOptions(): Set<string> {
  const options = COMMANDS.flatMap((command) => command.options).filter(({ flags }) => flags.includes('<'));
  return new Set(options.flatMap(({ flags }) => namesOf(flags)));
}

/** Finds the command. cac has no two-word commands, so `config validate` is registered and parsed as `config:validate`. */
function match(words: string[]): { cli: CAC; command: Command } {
  const cli = cac('mcpx');
  for (const { flags, doc } of GLOBAL_OPTIONS) cli.option(flags, doc);
  for (const { usage, summary, options } of COMMANDS) {
    const name = nameOf(usage);
    const command = cli.command(usage.replace(name, name.replace(' ', ':')), summary);
    for (const { flags, doc } of options) command.option(flags, doc);
  }
  cli.parse(['node', 'mcpx', ...glueValues(joinWords(words))], { run: false });
  const command = COMMANDS.find(({ usage }) => nameOf(usage).replace(' ', ':') === cli.matchedCommandName);
  if (command === undefined) throw unknownCommand(words);
  return { cli, command };
}

function check({ matchedCommand }: CAC, command: Command, words: string[]): void {
  try {
    refuseValues(words, command);
    matchedCommand?.checkUnknownOptions();
    matchedCommand?.checkOptionValue();
    matchedCommand?.checkRequiredArgs();
    matchedCommand?.checkUnusedArgs();
  } catch (error) {
    throw usageError(error as Error, command);
  }
}

function joinWords(words: string[]): string[] {
  const [first, second, ...rest] = words;
  const twoWords = COMMANDS.some(({ usage }) => nameOf(usage) === `${first} ${second}`);
  return twoWords ? [`${first}:${second}`, ...rest] : words;
}

/** Turns `--args -` into `--args=-`, because cac takes a separate value that begins with a dash as another option. */
function glueValues(words: string[]): string[] {
  const names = valuedOptions();
  const glued: string[] = [];
  for (const word of words) {
    const last = glued.at(-1);
    if (last !== undefined && names.has(last)) glued[glued.length - 1] = `${last}=${word}`;
    else glued.push(word);
  }
  return glued;
}

/** Throws for a value on a flag without one, such as `--json=yes`, which cac would take as an argument. */
function refuseValues(words: string[], command: Command): void {
  const plain = [...command.options, ...GLOBAL_OPTIONS].filter(({ flags }) => !/[<[]/.test(flags));
  const names = plain.flatMap(({ flags }) => namesOf(flags));
  for (const word of words) {
    if (word === '--') return;
    const [name = ''] = word.split('=');
    if (name !== word && names.includes(name)) throw new Error(`option "${name}" takes no value`);
  }
}

/** Rewrites cac's errors, which print option names in camelCase and back quotes, to the names as typed. */
function usageError(error: Error, command: Command): McpxError {
  const text = error.message
    .replace(
      /--([a-z]+[A-Z]\w*)/g,
      (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    )
    .replaceAll(':', ' ')
    .replaceAll('`', '"')
    .replace(/^missing required args for command "(\S+) (<\w+>).*"$/, '"$1" needs $2')
    .replace(/^Unused args {2}(.*)$/i, `"${nameOf(command.usage)}" does not take $1`);
  const unknown = /--([\w-]+)/.exec(text)?.[1];
  const known = [...command.options, ...GLOBAL_OPTIONS].map(({ flags }) => longName(flags));
  const [close] = unknown === undefined ? [] : nearest(unknown, known);
  const hint =
    close !== undefined && close !== unknown ? `did you mean --${close}?` : `mcpx help ${nameOf(command.usage)}`;
  return new McpxError('usage', text.charAt(0).toLowerCase() + text.slice(1), { hint });
}
