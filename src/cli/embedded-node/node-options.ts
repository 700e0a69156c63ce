/** The command line of `node`: which options the embedded Node applies, which have no effect, and which it refuses. */
import { setDefaultResultOrder } from 'node:dns';
import { open } from 'node:inspector';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { McpxError } from '../../errors.ts';

/** A read command line. */
export interface NodeLine {
  /** The words before the script. */
  options: string[];
  /** The script and its arguments; only the arguments if there is code to evaluate. */
  rest: string[];
  /** Files of variables. The last one wins in Node, and none replaces a variable that is set. */
  envFiles: { file: string; required: boolean }[];
  /** Modules that are loaded before the script. */
  requires: string[];
  imports: string[];
  /** Code in place of a script. */
  code?: string;
  /** True if the value of the code is printed. */
  print: boolean;
  version: boolean;
  inputType: string | undefined;
  /** Applies the options that change the process. */
  apply: (() => void)[];
  /** The options that cannot be applied any more, and do no harm. */
  ineffective: string[];
}

interface Rule {
  /** `word`: the value may be the next word; `attached`: only after `=`. */
  value?: 'word' | 'attached';
  read(line: NodeLine, value: string): void;
}

const effect = (apply: (value: string) => void, value?: Rule['value']): Rule => ({
  ...(value && { value }),
  read: (line, given) => void line.apply.push(() => apply(given)),
});
const evaluate = (print: boolean): Rule => ({
  value: 'word',
  read(line, code) {
    line.code = code;
    line.print ||= print;
  },
});
const preload: Rule = { value: 'word', read: (line, module) => void line.requires.push(module) };
const version: Rule = {
  read(line) {
    line.version = true;
  },
};

const RULES: ReadonlyMap<string, Rule> = new Map<string, Rule>([
  ['--enable-source-maps', effect(() => process.setSourceMapsEnabled(true))],
  ['--env-file', envFile(true)],
  ['--env-file-if-exists', envFile(false)],
  ['--require', preload],
  ['-r', preload],
  ['--import', { value: 'word', read: (line, module) => void line.imports.push(module) }],
  ['--eval', evaluate(false)],
  ['-e', evaluate(false)],
  ['--print', evaluate(true)],
  ['-p', evaluate(true)],
  ['-pe', evaluate(true)],
  [
    '--input-type',
    {
      value: 'word',
      read(line, type) {
        line.inputType = type;
      },
    },
  ],
  ['--version', version],
  ['-v', version],
  ['--no-warnings', effect(() => void process.removeAllListeners('warning'))],
  ['--no-deprecation', effect(() => void Object.assign(process, { noDeprecation: true }))],
  ['--throw-deprecation', effect(() => void Object.assign(process, { throwDeprecation: true }))],
  ['--trace-deprecation', effect(() => void Object.assign(process, { traceDeprecation: true }))],
  ['--title', effect((title) => void Object.assign(process, { title }), 'word')],
  [
    '--stack-trace-limit',
    effect((limit) => {
      Error.stackTraceLimit = Number(limit);
    }, 'attached'),
  ],
  ['--dns-result-order', effect((order) => setDefaultResultOrder(order as 'verbatim'), 'word')],
  ['--expose-gc', effect(exposeGc)],
  ['--inspect', effect((at) => inspect(at, false), 'attached')],
  ['--inspect-wait', effect((at) => inspect(at, true), 'attached')],
  ['--inspect-brk', effect((at) => inspect(at, true), 'attached')],
]);

/** Options for something that the embedded Node does anyway. */
const ALREADY = new Set([
  ...['--use-system-ca', '--use-env-proxy', '--experimental-strip-types', '--experimental-require-module'],
  ...['--experimental-detect-module', '--experimental-fetch', '--experimental-modules', '--experimental-json-modules'],
  ...['--experimental-sqlite', '--experimental-websocket', '--experimental-global-webcrypto', '--harmony'],
  ...['--trace-warnings', '--trace-uncaught', '--experimental-worker', '--experimental-top-level-await'],
]);

/** Options that V8 reads once at its start: sizes, which a machine chooses well enough. */
const SIZES = /^--(?:max-old-space-size(?:-percentage)?|max-semi-space-size|stack-size|max-heap-size|heapsnapshot-.*)$/;

const NO_OPTION = 'leave it out, or install Node: mcpx runs scripts with the Node on PATH, if there is one';

/** Reads the words after `node`. Throws McpxError('usage') for an option that the embedded Node does not have. */
export function readNodeLine(words: readonly string[]): NodeLine {
  const line: NodeLine = {
    ...{ options: [], rest: [], envFiles: [], requires: [], imports: [], apply: [], ineffective: [] },
    ...{ print: false, version: false, inputType: undefined },
  };
  let at = 0;
  for (; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (word === '--') at += 1;
    if (word === '--' || word === '-' || !word.startsWith('-')) break;
    if (readOption(word, words[at + 1], line)) at += 1;
  }
  return Object.assign(line, { options: words.slice(0, at), rest: words.slice(at) });
}

/** Returns true if the next word is the value of the option. */
function readOption(word: string, next: string | undefined, line: NodeLine): boolean {
  const [, written = word, attached] = /^(--[^=]+)=(.*)$/s.exec(word) ?? [];
  const name = written.startsWith('--') ? written.replaceAll('_', '-') : written;
  const rule = RULES.get(name);
  if (rule === undefined) {
    if (ALREADY.has(name) || name.startsWith('--disable-warning'))
      return name === '--disable-warning' && attached === undefined;
    if (!SIZES.test(name))
      throw new McpxError('usage', `the Node inside mcpx has no option "${name}"`, { hint: NO_OPTION });
    line.ineffective.push(name);
    return attached === undefined;
  }
  const value = attached ?? (rule.value === 'word' ? next : '');
  if (value === undefined) throw new McpxError('usage', `the option "${name}" of node needs a value`);
  rule.read(line, value);
  return attached === undefined && rule.value === 'word';
}

function envFile(required: boolean): Rule {
  return { value: 'word', read: (line, file) => void line.envFiles.push({ file, required }) };
}

function exposeGc(): void {
  setFlagsFromString('--expose-gc');
  Object.assign(globalThis, { gc: runInNewContext('gc') });
}

/** Opens the port of the debugger, written as `host:port`, `port` or nothing. */
function inspect(at: string, wait: boolean): void {
  const [, host = '127.0.0.1', port = '9229'] = /^(?:(.*):)?(\d+)?$/.exec(at) ?? [];
  open(Number(port), host, wait);
}
