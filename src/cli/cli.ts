/** Runs a command line: cac finds the command and checks its options; then the command runs and returns the exit code. */
import { type CAC, type Command, cac } from 'cac';
import { environmentOf } from '../config/environment.ts';
import { EXIT_CODES, McpxError } from '../errors.ts';
import { MODULE_COMMAND } from '../upstream/transports/transport.ts';
import { versionJson, versionLine, wantsVersionJson } from '../version.ts';
import { type Lifecycle, nameOf } from './command.ts';
import {
  asTyped,
  type CommandLine,
  flagsOf,
  forCac,
  isFirstWord,
  passedWords,
  readCommandLine,
  withCommand,
} from './command-line.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';
import { COMPLETE_COMMAND } from './completion/shell-words.ts';
import { language } from './language/language.ts';
import { print, printError } from './output.ts';
import { isCacError, unknownCommand, usageError } from './usage-errors.ts';

export interface CliOptions extends Lifecycle {
  /** The command-line arguments after the program's name. */
  words: string[];
  /** True if stdin is a terminal. */
  stdinIsTerminal: boolean;
}

/** Prints errors and returns the exit code; it does not throw. */
export async function runCli(options: CliOptions): Promise<number> {
  try {
    await language.load(environmentOf());
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
  if (first === COMPLETE_COMMAND) return (await import('./completion/answer-shell.ts')).run(words.slice(1));
  if (words.length === 0 && stdinIsTerminal) return showHelp([]);

  const line = readCommandLine(words);
  const { positional } = withCommand(line, words);
  const cli = createCli(lifecycle, passedWords(words));
  cli.parse(['node', 'mcpx', ...forCac({ ...line, positional })], { run: false });
  const { matchedCommand: command } = cli;
  const flags = flagsOf(cli.options);
  if (flags.has('help')) return showHelp(topicOf(line, command));
  if (flags.has('version')) {
    await print(versionLine());
    return 0;
  }
  if (command === undefined) throw unknownCommand(positional);
  try {
    return await cli.runMatchedCommand();
  } catch (error) {
    throw isCacError(error) ? usageError(asTyped(error.message), command) : error;
  }
}

async function showHelp(args: string[]): Promise<number> {
  return (await import('./help.ts')).run({ args });
}

/** Returns the command or the group of commands that was typed, without its arguments. */
function topicOf({ positional: [first] }: CommandLine, command: Command | undefined): string[] {
  if (first === undefined || !isFirstWord(first)) return [];
  return command?.name.split(':') ?? [first];
}

/** Creates cac with the table of commands. Their arguments are passed as one list, as typed. */
export function createCli(lifecycle: Lifecycle, passed?: string[]): CAC {
  const cli = cac('mcpx');
  for (const { flags, doc } of GLOBAL_OPTIONS) cli.option(flags, doc);
  for (const { usage, summary, options, load } of COMMANDS) {
    const name = nameOf(usage);
    const command = cli.command(usage.replace(name, name.replace(' ', ':')), summary);
    for (const { flags, doc } of options) command.option(flags, doc);
    command.action(async () =>
      (await load()).run({ ...lifecycle, args: cli.args.map(asTyped), passed, flags: flagsOf(cli.options) }),
    );
  }
  return cli;
}
