/** Puts a command line into the form that cac reads without changing values, and reads options from cac's result. */
import { existsSync } from 'node:fs';
import { McpxError } from '../errors.ts';
import { type Flags, longName, nameOf, namesOf, type Option } from './command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from './commands.ts';

/**
 * Precedes each value that cac gets. Without it cac turns `007` into 7 and takes `-` for an option.
 * NUL is in no argument of a process.
 */
const VERBATIM = '\0';

export interface CommandLine {
  /** The words that are neither options nor their values. */
  positional: string[];
  /** The options, each with its value in the same word. */
  options: string[];
}

/** Separates options from other words. Options may precede the command. */
export function readCommandLine(words: string[]): CommandLine {
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const typed = words.slice(0, end).flatMap(ungrouped);
  const positional: string[] = [];
  const options: string[] = [];
  let refused: string | undefined;
  for (let index = 0; index < typed.length; index++) {
    const word = typed[index] ?? '';
    if (!word.startsWith('-') || word === '-') {
      positional.push(word === '-' ? VERBATIM + word : word);
      continue;
    }
    const [, name = '', inline] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const option = optionOf(name);
    const kind = kindOf(option);
    if (kind === 'flag' && inline !== undefined) refused ??= name;
    const next = typed[index + 1];
    const follows = next !== undefined && inline === undefined && takes(kind, next, positional.length === 0);
    if (follows) index++;
    const value = follows ? next : inline;
    // cac forgets the values of `--config` if `-c` is there too, so it gets one name for both.
    const only = option === undefined ? name : `--${longName(option.flags)}`;
    options.push(value === undefined ? only : `${only}=${VERBATIM}${value}`);
  }
  if (refused !== undefined) throw refusedValue(refused, positional);
  positional.push(...words.slice(end + 1).map((word) => VERBATIM + word));
  return { positional, options };
}

/** Returns the words after the first `--`; undefined if there is none. */
export function passedWords(words: readonly string[]): string[] | undefined {
  return words.includes('--') ? words.slice(words.indexOf('--') + 1) : undefined;
}

/** Turns a command line into the arguments of cac, which has no two-word commands: `config validate` is `config:validate`. */
export function forCac({ positional, options }: CommandLine): string[] {
  const [first, second, ...rest] = positional;
  const isPair = COMMANDS.some(({ usage }) => nameOf(usage) === `${first} ${second}`);
  return [...(isPair ? [`${first}:${second}`, ...rest] : positional), ...options];
}

/** Inserts `serve` if there is no command: no words, an option first, or a config file instead of a command. */
export function withCommand(line: CommandLine, words: string[]): CommandLine {
  const [first] = line.positional;
  const isCommand = first !== undefined && isFirstWord(first);
  const isFile = first !== undefined && (/\.jsonc?$/.test(first) || existsSync(first));
  const isServe = !isCommand && (first === undefined || isFile || words[0]?.startsWith('-') === true);
  return isServe ? { ...line, positional: ['serve', ...line.positional] } : line;
}

/** True if a command begins with this word. */
export function isFirstWord(word: string): boolean {
  return COMMANDS.some(({ usage }) => nameOf(usage).split(' ')[0] === word);
}

/** Returns the words as typed, from an argument or the text of an error. */
export function asTyped(text: string): string {
  return text.replaceAll(VERBATIM, '');
}

/** Reads options by the names of their flags; cac has them in camelCase. */
export function flagsOf(options: Record<string, unknown>): Flags {
  const given = (name: string) => [options[name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())]].flat();
  const values = (name: string) => given(name).flatMap((value) => (typeof value === 'string' ? [asTyped(value)] : []));
  const has = (name: string) => given(name).some((value) => value !== undefined && value !== false);
  // cac has `--no-check` as `check: false`.
  const isNegated = (name: string) => name.startsWith('no-') && given(name.slice(3)).includes(false);
  return {
    has: (name) => has(name) || isNegated(name),
    value: (name) => values(name).at(-1),
    values,
  };
}

type Kind = 'flag' | 'optional' | 'required' | 'unknown';

/** Returns whether an option takes a value. An option has the same kind in all commands. */
function kindOf(option: Option | undefined): Kind {
  if (option === undefined) return 'unknown';
  if (option.flags.includes('<')) return 'required';
  return option.flags.includes('[') ? 'optional' : 'flag';
}

function optionOf(name: string): Option | undefined {
  const all = [...GLOBAL_OPTIONS, ...COMMANDS.flatMap(({ options }) => options)];
  return all.find(({ flags }) => namesOf(flags).includes(name));
}

/** True if the next word is the value of an option. An optional value is not the command: `--http serve`. */
function takes(kind: Kind, next: string, isBeforeCommand: boolean): boolean {
  if (kind === 'required') return true;
  return kind === 'optional' && !next.startsWith('-') && !(isBeforeCommand && isFirstWord(next));
}

/** Turns `-yc` into `-y -c` if both exist. */
function ungrouped(word: string): string[] {
  if (!/^-[a-zA-Z]{2,}$/.test(word)) return [word];
  const single = [...word.slice(1)].map((letter) => `-${letter}`);
  return single.every(optionOf) ? single : [word];
}

function refusedValue(name: string, positional: string[]): McpxError {
  const [command] = COMMANDS.filter(({ usage }) => `${positional.join(' ')} `.startsWith(`${nameOf(usage)} `));
  const hint = command === undefined ? 'mcpx help' : `mcpx help ${nameOf(command.usage)}`;
  return new McpxError('usage', `option "${name}" takes no value`, { hint });
}
