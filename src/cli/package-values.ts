/** Collects the values that a server package needs: from the options, else by questions on a terminal. */
import { Writable } from 'node:stream';
import { isStorable, type Secret } from '../client-config/literal-secrets.ts';
import { environmentOf } from '../config/environment.ts';
import { inputVariable } from '../config/expander.ts';
import { hasPlaceholder } from '../config/placeholders.ts';
import { McpxError } from '../errors.ts';
import {
  checkValues,
  inputId,
  missingError,
  missingInputs,
  optionText,
  type PackageInput,
  refuseUnknown,
} from '../server-packages/package-input.ts';
import { readAnswer, readHeader, readVariable } from './add-request.ts';
import type { Flags, Invocation } from './command.ts';
import { askOnTerminal, isInteractive, TERMINAL } from './question.ts';
import { shellWord } from './shell-word.ts';

export interface PackageQuestion {
  /** The name of the server in the config. */
  name: string;
  file: string;
  inputs: readonly PackageInput[];
  /** True if the server has a URL, and therefore headers and no variables. */
  isRemote: boolean;
}

export interface CollectedValues {
  values: Map<string, string[]>;
  secrets: Secret[];
  /** Variables and headers that the package does not name. */
  more: { env: Record<string, string>; headers: Record<string, string> };
}

export async function collectValues(question: PackageQuestion, { flags, stop }: Invocation): Promise<CollectedValues> {
  const { name, inputs } = question;
  const gave = givenValues(question, flags);
  const { given, more } = gave;
  const missing = missingInputs(inputs, given);
  if (missing.length > 0) {
    if (!isInteractive()) throw missingError(`server "${name}"`, missing, typedCommand(question, gave, flags));
    for (const input of missing) given.set(inputId(input), await ask(input, stop));
  }
  const values = new Map<string, string[]>();
  const secrets: Secret[] = [];
  for (const input of inputs) {
    const written = given.get(inputId(input));
    if (written === undefined) continue;
    const checked = checkValues(input, written, environmentOf().cwd);
    values.set(inputId(input), input.secret ? stored(name, input, checked, secrets) : checked);
  }
  return { values, secrets, more };
}

/** Repeats the command as typed, without values that may be secret; the hint adds the missing ones. */
function typedCommand({ name, file, inputs }: PackageQuestion, { given, more }: Given, flags: Flags): string {
  const kept = ['type', 'profile', 'config'].flatMap((flag) => flags.values(flag).map((value) => `--${flag} ${value}`));
  const repeated = inputs.flatMap((input) =>
    (given.get(inputId(input)) ?? []).map((value) => optionText(input, input.secret ? undefined : shellWord(value))),
  );
  const others = [
    ...Object.keys(more.env).map((key) => optionText({ option: 'env', key })),
    ...Object.keys(more.headers).map((key) => optionText({ option: 'header', key })),
  ];
  return ['mcpx add', shellWord(name), shellWord(file), ...kept, ...repeated, ...others].join(' ');
}

interface Given {
  given: Map<string, string[]>;
  more: CollectedValues['more'];
}

function givenValues({ inputs, isRemote, file }: PackageQuestion, flags: Flags): Given {
  const given = new Map<string, string[]>();
  const more: CollectedValues['more'] = { env: {}, headers: {} };
  const add = (id: string, value: string) => given.set(id, [...(given.get(id) ?? []), value]);
  const answers = flags.values('set').map(readAnswer);
  refuseUnknown(
    answers.map(([key]) => key),
    inputs,
    `"${file}"`,
  );
  for (const [key, value] of answers) add(inputId({ option: 'set', key }), value);
  const named = [
    ...flags.values('env').map((text) => ['env', ...readVariable(text)] as const),
    ...flags.values('header').map((text) => ['header', ...readHeader(text)] as const),
  ];
  for (const [option, key, value] of named) {
    if ((option === 'header') !== isRemote) throw unfit(option, file);
    const id = inputId({ option, key });
    if (inputs.some((input) => inputId(input) === id)) add(id, value);
    else more[option === 'env' ? 'env' : 'headers'][key] = value;
  }
  return { given, more };
}

function unfit(option: 'env' | 'header', file: string): McpxError {
  const [what, hint] = option === 'env' ? ['a URL', '-H "Name: value"'] : ['a program', '-e KEY=VALUE'];
  return new McpxError('usage', `"${file}" describes ${what}, which takes no --${option}`, { hint });
}

/** Replaces secret values by `${input:…}`. A value with a placeholder stays, because it is no secret. */
function stored(server: string, { key }: PackageInput, values: readonly string[], secrets: Secret[]): string[] {
  return values.map((value, index) => {
    if (value === '' || hasPlaceholder(value)) return value;
    if (!isStorable(value)) {
      throw new McpxError('usage', `the value of "${key}" cannot be stored in a file of variables`, {
        hint: `set a variable, and write \${VARIABLE} as the value`,
      });
    }
    const id = `${server}-${key}${index === 0 ? '' : `-${index + 1}`}`;
    secrets.push({ variable: inputVariable(id), value });
    return `\${input:${id}}`;
  });
}

/** Asks until the value is valid; for several values, until an empty line. */
async function ask(input: PackageInput, stop: AbortSignal): Promise<string[]> {
  const { key, doc, choices, multiple } = input;
  const options = choices !== undefined && choices.length > 0 ? ` [${choices.join(', ')}]` : '';
  const text = `${key}${doc === '' ? '' : ` (${doc})`}${options}${multiple ? ', an empty line ends the list' : ''}: `;
  const answers: string[] = [];
  for (;;) {
    const answer = await askOnce(text, input.secret, stop);
    if (answer === '' && answers.length > 0) return answers;
    if (answer === '') continue;
    try {
      checkValues(input, [answer], environmentOf().cwd);
    } catch (error) {
      TERMINAL.output.write(`${error instanceof McpxError ? error.message : ''}\n`);
      continue;
    }
    answers.push(answer);
    if (!multiple) return answers;
  }
}

/** The answer to a question about a secret is not shown: the terminal gets the question, and then nothing. */
async function askOnce(text: string, isSecret: boolean, stop: AbortSignal): Promise<string> {
  let isShown = true;
  const write = (chunk: Buffer, _encoding: string, done: () => void) => {
    if (isShown) TERMINAL.output.write(chunk);
    done();
  };
  const terminal = isSecret
    ? { input: TERMINAL.input, output: Object.assign(new Writable({ write }), { isTTY: true }) }
    : TERMINAL;
  const interrupted = (cause?: unknown) => new McpxError('cancelled', 'interrupted: nothing was added', { cause });
  const answering = askOnTerminal(text, stop, terminal).catch((cause: unknown) => {
    throw interrupted(cause);
  });
  // The question is written when the terminal echoes no more, and before a key can be read.
  isShown = false;
  const answer = await answering;
  if (isSecret) TERMINAL.output.write('\n');
  if (answer === undefined) throw interrupted();
  return answer.trim();
}
