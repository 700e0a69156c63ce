/** What a command is: its row in the table, and what it is given when it runs. */

export interface Option {
  /** As typed, such as `-c, --config <file>`. */
  flags: string;
  doc: string;
}

/** How the program ends: commands wait on `stop` and leave the exit itself to `main.ts`. */
export interface Lifecycle {
  /** Aborted by the first SIGINT, SIGTERM, or SIGHUP unless that means something else. */
  stop: AbortSignal;
  /** Aborted by another signal after that, or by SIGTERM when stdin has ended: nobody has the time to wait any more. */
  hurry?: AbortSignal;
  /** What SIGHUP means instead of a stop, for a command that serves others than its parent. */
  onHangup?(action: () => void): void;
  /** Registers what must happen, synchronously, however the process ends. */
  atExit(action: () => void): void;
}

export interface Invocation extends Lifecycle {
  /** Positional arguments, as typed. */
  args: string[];
  flags: Flags;
}

/** Options as typed: cac turns `007` into 7, so values are read from the raw command line. */
export interface Flags {
  has(name: string): boolean;
  /** The last value given. */
  value(name: string): string | undefined;
  values(name: string): string[];
}

/** The module of a command. */
export interface Runnable {
  /** Resolves with the exit code. */
  run(invocation: Invocation): Promise<number>;
}

export interface Command {
  /** One or two words, then its arguments: `config validate [file]`. */
  usage: string;
  summary: string;
  group: 'Run' | 'Use' | 'Configure' | 'Help';
  options: Option[];
  examples?: string[];
  load(): Promise<Runnable>;
}

/** Reads option values from the raw words, for options that take one. */
export function readFlags(words: string[], options: Option[]): Flags {
  const found = new Map<string, string[]>();
  const add = (name: string, value: string[]) => found.set(name, [...(found.get(name) ?? []), ...value]);
  const end = words.indexOf('--');
  const typed = end < 0 ? words : words.slice(0, end);
  for (const [index, word] of typed.entries()) {
    const option = options.find(({ flags }) => namesOf(flags).includes(word.replace(/=.*$/s, '')));
    if (option === undefined) continue;
    const name = longName(option.flags);
    const inline = /=(.*)$/s.exec(word)?.[1];
    const next = typed[index + 1];
    if (!/[<[]/.test(option.flags)) add(name, []);
    else if (inline !== undefined) add(name, [inline]);
    else if (next !== undefined && (option.flags.includes('<') || !next.startsWith('-'))) add(name, [next]);
    else add(name, []);
  }
  return {
    has: (name) => found.has(name),
    value: (name) => found.get(name)?.at(-1),
    values: (name) => found.get(name) ?? [],
  };
}

/** `-c, --config <file>` → `["-c", "--config"]` */
export function namesOf(flags: string): string[] {
  return flags
    .replace(/[<[].*$/, '')
    .split(',')
    .map((name) => name.trim());
}

/** `-c, --config <file>` → `config` */
export function longName(flags: string): string {
  return (namesOf(flags).at(-1) ?? '').replace(/^--?/, '');
}

/** `config validate [file]` → `config validate` */
export function nameOf(usage: string): string {
  return usage.replace(/ *[<[].*$/, '');
}
