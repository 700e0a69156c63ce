/** From the words that were typed to the exit code: finds the command, checks its options, runs it. */
import { existsSync } from 'node:fs';
import { cac } from 'cac';
import { EXIT_CODES, McpxError } from '../errors.ts';
import { nearest } from '../render/text.ts';
import { versionLine } from '../version.ts';
import { type Command, type Lifecycle, longName, nameOf, readFlags } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { print, printError } from './output.ts';

export interface CliOptions extends Lifecycle {
  /** The words after the program's name. */
  words: string[];
  /** Whether a person may be typing. */
  stdinIsTerminal: boolean;
}

/** Never throws: an error is printed and becomes the exit code. */
export async function runCli(options: CliOptions): Promise<number> {
  try {
    return await dispatch(options);
  } catch (error) {
    printError(error);
    return error instanceof McpxError ? EXIT_CODES[error.code] : EXIT_CODES.failed;
  }
}

async function dispatch({ words, stdinIsTerminal, ...lifecycle }: CliOptions): Promise<number> {
  const [first] = words;
  if (words.length === 1 && (first === '-V' || first === '-v' || first === '--version')) {
    await print(versionLine());
    return 0;
  }
  const help = words.includes('-h') || words.includes('--help');
  const wantsHelp = words.length === 0 ? stdinIsTerminal : help && !hasCommand(words);
  if (wantsHelp) return (await import('./help.ts')).run({ args: [] });

  const { command, args } = parse(withCommand(words));
  if (help) {
    await print((await import('./help.ts')).commandHelp(command));
    return 0;
  }
  const flags = readFlags(words, [...command.options, ...GLOBAL_OPTIONS]);
  return (await command.load()).run({ ...lifecycle, args, flags });
}

function hasCommand(words: string[]): boolean {
  return words.some((word) => heads().includes(word));
}

/** First words of all commands. */
function heads(): string[] {
  return COMMANDS.map(({ usage }) => nameOf(usage).split(' ')[0] ?? '');
}

/** No command means `serve`: bare, with options only, or with a config file in its place. */
function withCommand(words: string[]): string[] {
  const [first] = words;
  const isFile = first !== undefined && !heads().includes(first) && (/\.jsonc?$/.test(first) || existsSync(first));
  return first === undefined || first.startsWith('-') || isFile ? ['serve', ...words] : words;
}

/** cac knows no two-word commands: `config validate` is registered as `config:validate` and joined before parsing. */
function parse(words: string[]): { command: Command; args: string[] } {
  const cli = cac('mcpx');
  for (const { flags, doc } of GLOBAL_OPTIONS) cli.option(flags, doc);
  for (const { usage, summary, options } of COMMANDS) {
    const name = nameOf(usage);
    const command = cli.command(usage.replace(name, name.replace(' ', ':')), summary);
    for (const { flags, doc } of options) command.option(flags, doc);
    command.action(() => undefined);
  }
  cli.parse(['node', 'mcpx', ...joinWords(words)], { run: false });
  const command = COMMANDS.find(({ usage }) => nameOf(usage).replace(' ', ':') === cli.matchedCommandName);
  if (command === undefined || cli.matchedCommand === undefined) throw usageOf(words);
  try {
    cli.matchedCommand.checkUnknownOptions();
    cli.matchedCommand.checkOptionValue();
    cli.matchedCommand.checkRequiredArgs();
    cli.matchedCommand.checkUnusedArgs();
  } catch (error) {
    throw usageError(error as Error, command);
  }
  return { command, args: [...cli.args, ...(cli.options['--'] as string[])] };
}

function joinWords(words: string[]): string[] {
  const [first, second, ...rest] = words;
  const twoWords = COMMANDS.some(({ usage }) => nameOf(usage) === `${first} ${second}`);
  return twoWords ? [`${first}:${second}`, ...rest] : words;
}

function usageOf([first = '', second]: string[]): McpxError {
  const family = COMMANDS.map(({ usage }) => nameOf(usage)).filter((name) => name.startsWith(`${first} `));
  const names = COMMANDS.map(({ usage }) => nameOf(usage));
  const typed = family.length > 0 && second !== undefined ? `${first} ${second}` : first;
  const [close] = nearest(typed, names);
  const hint = close === undefined ? `mcpx help${family.length > 0 ? ` ${first}` : ''}` : `mcpx ${close}`;
  return new McpxError('usage', `there is no command "${typed}"`, { hint });
}

/** cac shows option names in camelCase and in back quotes; people typed them otherwise. */
function usageError(error: Error, command: Command): McpxError {
  const text = error.message
    .replace(
      /--([a-z]+[A-Z]\w*)/g,
      (_, name: string) => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`,
    )
    .replaceAll(':', ' ')
    .replaceAll('`', '"');
  const unknown = /--([\w-]+)/.exec(text)?.[1];
  const known = [...command.options, ...GLOBAL_OPTIONS].map(({ flags }) => longName(flags));
  const [close] = unknown === undefined ? [] : nearest(unknown, known);
  const hint =
    close !== undefined && close !== unknown ? `did you mean --${close}?` : `mcpx help ${nameOf(command.usage)}`;
  return new McpxError('usage', text.charAt(0).toLowerCase() + text.slice(1), { hint });
}
