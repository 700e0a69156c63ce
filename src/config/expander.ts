/** Expands placeholders from the environment and collects the ones that have no value. */
import { readFileSync } from 'node:fs';
import { McpxError } from '../errors.ts';
import { readIfPresent } from '../files.ts';
import { parseEnvText } from './child-env.ts';
import { absolutePath, type Environment, lookup, pathsOf } from './environment.ts';
import { listText } from './json-data.ts';
import { secretsFile } from './paths.ts';
import { expand, type Gap, type Values } from './placeholders.ts';

export interface Expander {
  world: Environment;
  /** The folder of the file that defines the entry. */
  folder: string;
  text(text: string): string;
  record<T extends string | null>(texts: Record<string, T>): Record<string, T | string>;
  /** The placeholders without a value so far. */
  gaps: Gap[];
  /** Names and values of the variables, inputs and files that were inserted so far. Most of them are secret. */
  filled: (readonly [name: string, value: string])[];
}

export interface ExpanderOptions {
  folder: string;
  workspace: string;
  world: Environment;
}

export function createExpander({ folder, workspace, world }: ExpanderOptions): Expander {
  const filled: Expander['filled'] = [];
  const values = noting(valuesFor(folder, workspace, world), filled);
  const gaps: Gap[] = [];
  const text = (written: string): string => {
    const expanded = expand(written, values);
    gaps.push(...expanded.gaps);
    return expanded.text;
  };
  return {
    world,
    folder,
    text,
    record: (texts) =>
      Object.fromEntries(Object.entries(texts).map(([key, value]) => [key, value === null ? value : text(value)])),
    gaps,
    filled,
  };
}

/** Wraps the sources of values to record each value that is used. Values of inputs and files always count as secret. */
function noting({ variable, input, file, named }: Values, filled: Expander['filled']): Values {
  const noted = (find: Values['variable'], nameOf: (name: string) => string) => (name: string) => {
    const value = find(name);
    if (value !== undefined) filled.push([nameOf(name), value]);
    return value;
  };
  return {
    named,
    variable: noted(variable, (name) => name),
    input: noted(input, secretName),
    file: noted(file, secretName),
  };
}

function secretName(): string {
  return 'secret';
}

/** Expands a text that belongs to no server, such as a token or the path of the log file. Throws if a value is missing. */
export function expandText(
  written: string,
  { subject, folder, world }: { subject: string; folder: string; world: Environment },
): string {
  const expander = createExpander({ folder, workspace: world.cwd, world });
  const text = expander.text(written);
  if (expander.gaps.length > 0) throw gapError(subject, expander);
  return text;
}

function valuesFor(folder: string, workspace: string, world: Environment): Values {
  const paths = pathsOf(world);
  const file = (path: string): string | undefined => {
    try {
      return readFileSync(absolutePath(path, folder, world), 'utf8')
        .replace(/^\uFEFF/, '')
        .replace(/\r?\n$/, '');
    } catch {
      return undefined; // The caller reports the unreadable file by name.
    }
  };
  return {
    variable: (name) => lookup(name, world),
    input: (id) => inputOf(id, world),
    file,
    named: new Map([
      ['workspaceFolder', workspace],
      ['workspaceFolderBasename', paths.basename(workspace)],
      ['userHome', world.home],
      ['pathSeparator', paths.sep],
      ['/', paths.sep],
      ['cwd', world.cwd],
      ['configDir', folder],
    ]),
  };
}

/** Resolves `${input:id}` from the environment, then from the secrets file. mcpx never prompts the user for it. */
function inputOf(id: string, world: Environment): string | undefined {
  const variable = inputVariable(id);
  const given = lookup(variable, world);
  if (given !== undefined) return given;
  const secrets = new Map(parseEnvText(secretsText(secretsFile(world))));
  return secrets.get(variable) ?? secrets.get(id);
}

function secretsText(file: string): string {
  try {
    return readIfPresent(file) ?? '';
  } catch (cause) {
    const hint = 'make it a file that only you may read';
    throw new McpxError('config', `the secrets in "${file}" cannot be read`, { hint, cause });
  }
}

/** Returns the name of the variable that holds the value of `${input:id}`. */
export function inputVariable(id: string): string {
  return `MCPX_INPUT_${id.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`;
}

/** Returns the variables to set, without duplicates. */
export function variablesOf(gaps: Gap[]): string[] {
  const names = gaps.flatMap(({ kind, name }) => {
    if (kind === 'variable') return [name];
    return kind === 'input' ? [inputVariable(name)] : [];
  });
  return [...new Set(names)];
}

/** Returns one error that names every missing variable and file. */
export function gapError(subject: string, { gaps, world }: Pick<Expander, 'gaps' | 'world'>): McpxError {
  const variables = variablesOf(gaps);
  const named = (kind: Gap['kind']): string[] => [
    ...new Set(gaps.filter((gap) => gap.kind === kind).map(({ name }) => JSON.stringify(name))),
  ];
  const [files, unsupported] = [named('file'), named('unsupported')];
  const parts = [
    variables.length === 0
      ? ''
      : `needs ${listText(variables, 'and')}, ${variables.length === 1 ? 'which is not set' : 'which are not set'}`,
    files.length === 0 ? '' : `needs the file ${listText(files, 'and')}, which cannot be read`,
    unsupported.length === 0 ? '' : `uses ${listText(unsupported, 'and')}, which mcpx does not expand`,
  ].filter((part) => part !== '');
  return new McpxError('config', `${subject} ${parts.join(', and ')}`, {
    hint: hintFor(variables, files.length > 0, world.platform),
    data: { missing: variables },
  });
}

function hintFor(variables: string[], files: boolean, platform: NodeJS.Platform): string {
  if (variables.length === 0) {
    return files
      ? 'create the file, or correct its path in the config'
      : 'use ${VAR} and set that variable, or write $${ for a literal ${';
  }
  const set =
    platform === 'win32'
      ? variables.map((name) => `set ${name}=…`).join(' && ')
      : `export ${variables.map((name) => `${name}=…`).join(' ')}`;
  return `${set}, and restart mcpx if it is running; or write \${file:path} in the config, which is read at every start of the server`;
}
