/** Completes a command line from the table of commands: commands, options, their values, and the arguments of commands. */
import { type Command, longName, nameOf, namesOf, type Option } from '../command.ts';
import { COMMANDS, GLOBAL_OPTIONS } from '../commands.ts';
import { TOPICS } from '../help-topics.ts';
import { SHELLS } from './shell-words.ts';

export interface Candidate {
  value: string;
  /** A short explanation; shells other than bash show it. */
  doc?: string;
  /** True if the word goes on, so that no space follows: `server.`, `key=`, a folder. */
  isOpen?: boolean;
}

/** The values that the config, the stored catalogs and the file system know. `flags` are the options so far. */
export interface Values {
  servers(flags: GivenFlags): Candidate[];
  profiles(flags: GivenFlags): Candidate[];
  /** `server.` and, if the prefix leaves one server, its tools. */
  tools(prefix: string, flags: GivenFlags): Candidate[];
  prompts(prefix: string, flags: GivenFlags): Candidate[];
  uris(flags: GivenFlags): Candidate[];
  /** The parameters of the tool or prompt; after `key=` the values of this parameter. */
  parameters(kind: 'tool' | 'prompt', target: string, given: readonly string[], flags: GivenFlags): Candidate[];
  clients(): Candidate[];
  files(prefix: string): Candidate[];
}

/** Options of the command line so far: names without dashes, and their values. */
export type GivenFlags = ReadonlyMap<string, readonly string[]>;

interface Context {
  prefix: string;
  flags: GivenFlags;
  values: Values;
}

/** The values of a placeholder, such as `server` in `tools [server]`; others have no completion. */
const PLACEHOLDERS: ReadonlyMap<string, (context: Context) => Candidate[]> = new Map<
  string,
  (context: Context) => Candidate[]
>([
  ['server', ({ values, flags }) => values.servers(flags)],
  ['servers', ({ values, flags }) => values.servers(flags)],
  ['target', ({ values, prefix, flags }) => values.tools(prefix, flags)],
  ['prompt', ({ values, prefix, flags }) => values.prompts(prefix, flags)],
  ['uri', ({ values, flags }) => values.uris(flags)],
  ['client', ({ values }) => values.clients()],
  ['source', ({ values, prefix }) => [...values.clients(), ...values.files(prefix)]],
  ['config', ({ values, prefix }) => values.files(prefix)],
  ['file', ({ values, prefix }) => values.files(prefix)],
  ['profile', ({ values, flags }) => values.profiles(flags)],
  // A new name cannot be known; `add` also takes a file.
  ['name', ({ values, prefix }) => (/^[./~]/.test(prefix) ? values.files(prefix) : [])],
  ['type', () => words(['stdio', 'http', 'sse', 'ws', 'module', 'builtin'])],
  ['shell', () => words(SHELLS)],
  ['level', () => words(['silent', 'error', 'warn', 'info', 'debug'])],
  ['kind', () => words(['compact', 'aggregate'])],
  ['scope', () => words(['user', 'project'])],
  ['topic', () => [...commandWords(), ...Object.entries(TOPICS).map(([value, { summary: doc }]) => ({ value, doc }))]],
  ['json', ({ values, prefix }) => jsonFiles(values, prefix)],
]);

function words(values: readonly string[]): Candidate[] {
  return values.map((value) => ({ value }));
}

/** `--args` takes `@file`. */
function jsonFiles(values: Values, prefix: string): Candidate[] {
  if (!prefix.startsWith('@')) return [{ value: '@', doc: 'a file with a JSON object', isOpen: true }, { value: '-' }];
  return values.files(prefix.slice(1)).map((file) => ({ ...file, value: `@${file.value}` }));
}

/** Returns the words that may stand at the cursor. `typed` are the words after the program's name; the last one is incomplete. */
export function candidatesFor(typed: readonly string[], values: Values): Candidate[] {
  const prefix = typed.at(-1) ?? '';
  const line = readTyped(typed.slice(0, -1));
  const context: Context = { prefix, flags: line.flags, values };
  const found = line.open === undefined ? atWord(line, context) : valuesOf(line.open, context);
  const seen = new Set<string>();
  return found.filter(({ value }) => value.startsWith(prefix) && !seen.has(value) && seen.add(value));
}

interface TypedLine {
  /** The words that are no options and no values of options. */
  positional: string[];
  flags: Map<string, string[]>;
  /** The option whose value stands at the cursor. */
  open?: Option;
  /** True after `--`: no further word is an option. */
  isLiteral: boolean;
}

/** Reads the complete words. Unlike `readCommandLine`, it accepts every mistake. */
function readTyped(typed: readonly string[]): TypedLine {
  const line: TypedLine = { positional: [], flags: new Map(), isLiteral: false };
  for (let index = 0; index < typed.length; index++) {
    const word = typed[index] ?? '';
    if (line.isLiteral || word === '-' || !word.startsWith('-')) {
      line.positional.push(word);
      continue;
    }
    if (word === '--') {
      line.isLiteral = true;
      continue;
    }
    const [, name = '', inline] = /^([^=]*)(?:=(.*))?$/s.exec(word) ?? [];
    const option = optionNamed(name);
    const takes = inline === undefined && option?.flags.includes('<') === true;
    if (takes && index === typed.length - 1) return { ...line, open: option };
    const value = takes ? typed[++index] : inline;
    const key = option === undefined ? name : longName(option.flags);
    line.flags.set(key, [...(line.flags.get(key) ?? []), ...(value === undefined ? [] : [value])]);
  }
  return line;
}

function optionNamed(name: string): Option | undefined {
  const all = [...COMMANDS.flatMap(({ options }) => options), ...GLOBAL_OPTIONS];
  return all.find(({ flags }) => namesOf(flags).includes(name));
}

function atWord(line: TypedLine, context: Context): Candidate[] {
  const { prefix } = context;
  const command = commandOf(line.positional);
  if (!line.isLiteral && prefix.startsWith('-') && prefix !== '-') {
    const equals = prefix.indexOf('=');
    return equals < 0 ? optionWords(command, line.flags) : inlineValues(prefix.slice(0, equals), context);
  }
  if (command === undefined) return commandWords(line.positional[0]);
  const dashes = prefix === '-' && !line.isLiteral ? optionWords(command, line.flags) : [];
  return [...dashes, ...argumentsOf(command, line.positional, context)];
}

/** Returns the command that is complete; of `config validate`, both words must be. */
function commandOf(positional: readonly string[]): Command | undefined {
  const named = (name: string) => COMMANDS.find(({ usage }) => nameOf(usage) === name);
  return named(positional.slice(0, 2).join(' ')) ?? named(positional[0] ?? '');
}

/** Returns the first words of commands, or the second words of a group of commands. */
function commandWords(first?: string): Candidate[] {
  return COMMANDS.flatMap(({ usage, summary }) => {
    const [head = '', second] = nameOf(usage).split(' ');
    if (first !== undefined) return head === first && second !== undefined ? [{ value: second, doc: summary }] : [];
    return [second === undefined ? { value: head, doc: summary } : { value: head }];
  });
}

/** Returns the options of the command that are not given yet; `--config` may be repeated. Without a command, it is `serve`. */
function optionWords(command: Command | undefined, given: GivenFlags): Candidate[] {
  const own = command ?? COMMANDS.find(({ usage }) => nameOf(usage) === 'serve');
  const options = [...(own?.options ?? []), ...GLOBAL_OPTIONS];
  return options
    .filter(({ flags }) => !given.has(longName(flags)) || longName(flags) === 'config')
    .map(({ flags, doc }) => ({ value: `--${longName(flags)}`, doc }));
}

function inlineValues(name: string, context: Context): Candidate[] {
  const option = optionNamed(name);
  if (option === undefined) return [];
  const prefix = context.prefix.slice(name.length + 1);
  return valuesOf(option, { ...context, prefix }).map((one) => ({ ...one, value: `${name}=${one.value}` }));
}

function valuesOf({ flags }: Option, context: Context): Candidate[] {
  const placeholder = /[<[](?:\.\.\.)?([\w-]+)/.exec(flags)?.[1] ?? '';
  const byName = PLACEHOLDERS.get(longName(flags));
  return (byName ?? PLACEHOLDERS.get(placeholder))?.(context) ?? [];
}

/** Returns the values of the argument at the cursor. A repeated last argument, such as `[...pairs]`, goes on. */
function argumentsOf({ usage }: Command, positional: readonly string[], context: Context): Candidate[] {
  const given = positional.slice(nameOf(usage).split(' ').length);
  const places = [...usage.matchAll(/[<[](\.\.\.)?([\w-]+)/g)].map(([, repeats, name = '']) => ({ repeats, name }));
  const place = places[given.length] ?? (places.at(-1)?.repeats === undefined ? undefined : places.at(-1));
  if (place === undefined) return [];
  if (place.name === 'pairs') {
    const kind = places[0]?.name === 'prompt' ? 'prompt' : 'tool';
    return context.values.parameters(kind, given[0] ?? '', [...given.slice(1), context.prefix], context.flags);
  }
  // The second word of `help config show`.
  if (place.name === 'topic' && given.length > 0) return given.length === 1 ? commandWords(given[0]) : [];
  return PLACEHOLDERS.get(place.name)?.(context) ?? [];
}
