/** Values that a server package asks the user for: variables, arguments, headers, settings of a bundle. */
import { isAbsolute, resolve } from 'node:path';
import { didYouMean } from '../config/nearest.ts';
import { hasPlaceholder } from '../config/placeholders.ts';
import { McpxError } from '../errors.ts';

/** The option with which a value is given on the command line. */
export type InputOption = 'env' | 'header' | 'set';

export interface PackageInput {
  /** The name of the variable or header, or the key of `--set`. */
  key: string;
  option: InputOption;
  /** A sentence or a title for the user; may be empty. */
  doc: string;
  kind: 'text' | 'number' | 'boolean' | 'path';
  required: boolean;
  secret: boolean;
  /** True if several values are possible. */
  multiple: boolean;
  fallback: string[];
  choices?: string[];
  min?: number;
  max?: number;
}

/** The values of all inputs that have one, by `inputId`. */
export type InputValues = ReadonlyMap<string, readonly string[]>;

export function inputId({ option, key }: Pick<PackageInput, 'option' | 'key'>): string {
  // Names of headers ignore case.
  return `${option}:${option === 'header' ? key.toLowerCase() : key}`;
}

/** Returns the option as typed, such as `-e KEY=…`. */
export function optionText({ option, key }: Pick<PackageInput, 'option' | 'key'>, value = '…'): string {
  if (option === 'env') return `-e ${key}=${value}`;
  return option === 'header' ? `-H "${key}: ${value}"` : `--set ${key}=${value}`;
}

/** Checks the given values of one input and returns them in the form of the entry. Throws `usage`. */
export function checkValues(input: PackageInput, values: readonly string[], cwd: string): string[] {
  if (values.length > 1 && !input.multiple) throw usage(`"${input.key}" has one value only`, optionText(input));
  return values.map((value) => checkValue(input, value, cwd));
}

function checkValue(input: PackageInput, value: string, cwd: string): string {
  const { key, kind, choices, min, max } = input;
  if (hasPlaceholder(value)) return value;
  if (choices !== undefined && choices.length > 0 && !choices.includes(value)) {
    throw usage(`"${key}" is one of ${choices.join(', ')}`, optionText(input, choices[0]));
  }
  if (kind === 'boolean' && value !== 'true' && value !== 'false') {
    throw usage(`"${key}" is true or false`, optionText(input, 'true'));
  }
  if (kind === 'number') checkNumber(input, value, { min, max });
  if (kind === 'path' && !isAbsolute(value)) return resolve(cwd, value);
  return value;
}

function checkNumber(
  input: PackageInput,
  value: string,
  { min, max }: { min?: number | undefined; max?: number | undefined },
): void {
  const number = Number(value);
  const isFit =
    value.trim() !== '' && Number.isFinite(number) && number >= (min ?? number) && number <= (max ?? number);
  if (isFit) return;
  const range = [min === undefined ? '' : ` from ${min}`, max === undefined ? '' : ` to ${max}`].join('');
  throw usage(`"${input.key}" is a number${range}`, optionText(input));
}

/** Returns the required inputs without a value. */
export function missingInputs(inputs: readonly PackageInput[], values: InputValues): PackageInput[] {
  return inputs.filter((input) => input.required && (valuesOf(input, values) ?? []).every((value) => value === ''));
}

/** Returns the values of an input, or its defaults; undefined if it has neither. */
export function valuesOf(input: PackageInput, values: InputValues): readonly string[] | undefined {
  const given = values.get(inputId(input));
  if (given !== undefined) return given;
  return input.fallback.length > 0 ? input.fallback : undefined;
}

/** Throws `usage` for keys of `--set` that the package does not have. */
export function refuseUnknown(keys: readonly string[], inputs: readonly PackageInput[], subject: string): void {
  const known = inputs.filter(({ option }) => option === 'set').map(({ key }) => key);
  for (const key of keys) {
    if (known.includes(key)) continue;
    const other = inputs.find((input) => input.option !== 'set' && input.key.toLowerCase() === key.toLowerCase());
    const hint =
      (other === undefined ? undefined : optionText(other)) ??
      didYouMean(key, known) ??
      (known.length > 0 ? `it has: ${known.join(', ')}` : 'it has none: leave --set out');
    throw usage(`${subject} has no setting "${key}"`, hint);
  }
}

/** Returns the error that names every missing value and the complete command line. */
export function missingError(subject: string, missing: readonly PackageInput[], command: string): McpxError {
  const named = missing.map(({ key, doc }) => (doc === '' ? key : `${key} (${doc})`));
  return new McpxError('usage', `${subject} needs ${named.join(', ')}`, {
    hint: [command, ...missing.map((input) => optionText(input))].join(' '),
    data: { missing: missing.map(({ option, key }) => ({ option, key })) },
  });
}

function usage(message: string, hint: string): McpxError {
  return new McpxError('usage', message, { hint });
}
