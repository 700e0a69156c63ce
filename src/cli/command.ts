/** Types of commands: the row in the table of commands, and the arguments of a run. */

export interface Option {
  /** The option as shown in the help, such as `-c, --config <file>`. */
  flags: string;
  doc: string;
}

/** Control of the program's end. Commands wait for `stop`; `src/main.ts` exits the process. */
export interface Lifecycle {
  /** Aborted by the first SIGINT or SIGTERM, or by SIGHUP unless `onHangup` has set another action. */
  stop: AbortSignal;
  /** Aborted by a second signal, or by SIGTERM after stdin has ended: the stop must be fast. */
  hurry?: AbortSignal;
  /** Sets the action of SIGHUP instead of a stop, for a command whose clients are not its parent process. */
  onHangup?(action: () => void): void;
  /** Registers a synchronous action for every kind of process exit. */
  atExit(action: () => void): void;
}

export interface Invocation extends Lifecycle {
  /** The positional arguments, as typed. */
  args: string[];
  /** The words after `--`, unchanged; they are the last ones of `args`. Undefined if there is no `--`. */
  passed?: string[] | undefined;
  flags: Flags;
}

/** The options of a command line, with their values as typed. */
export interface Flags {
  has(name: string): boolean;
  /** Returns the last value of an option. */
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** The exports of a command's module. */
export interface Runnable {
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>;
}

export interface Command {
  /** One or two words, then the arguments, such as `config validate [file]`. */
  usage: string;
  summary: string;
  group: 'Run' | 'Use' | 'Configure' | 'Help';
  options: Option[];
  examples?: string[];
  load(): Promise<Runnable>;
}

/** Turns `-c, --config <file>` into `["-c", "--config"]`. */
export function namesOf(flags: string): string[] {
  return flags
    .replace(/[<[].*$/, '')
    .split(',')
    .map((name) => name.trim());
}

/** Turns `-c, --config <file>` into `config`. */
export function longName(flags: string): string {
  return (namesOf(flags).at(-1) ?? '').replace(/^--?/, '');
}

/** Turns `config validate [file]` into `config validate`. */
export function nameOf(usage: string): string {
  return usage.replace(/ *[<[].*$/, '');
}
