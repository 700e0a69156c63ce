/** The config entry of an unpacked bundle: the command of its manifest with all variables of the format replaced. */
import { existsSync } from 'node:fs';
import { type Environment, lookup, pathsOf } from '../config/environment.ts';
import { findProgram } from '../config/find-program.ts';
import type { JsonRecord } from '../config/json-data.ts';
import type { Manifest } from './manifest.ts';
import { type InputValues, valuesOf } from './package-input.ts';

export interface BundleEntryOptions {
  /** The folder of the unpacked bundle. */
  folder: string;
  values: InputValues;
  world: Environment;
}

/** The working directory is the bundle, because many manifests have paths relative to it. */
export function bundleEntry(manifest: Manifest, options: BundleEntryOptions): JsonRecord {
  const { folder, world } = options;
  const launch = manifest.launch ?? {
    command: 'uv',
    args: ['run', '--directory', '${__dirname}', manifest.entryPoint],
    env: {},
  };
  const variables = variablesOf(manifest, options);
  const args = launch.args.flatMap((arg) => expandArgument(arg, variables));
  const env = Object.entries(launch.env).flatMap(([name, text]) => {
    const value = expandText(text, variables);
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    command: commandOf(expandText(launch.command, variables) ?? launch.command, manifest, { folder, world }),
    ...(args.length > 0 && { args }),
    ...(env.length > 0 && { env: Object.fromEntries(env) }),
    cwd: literal(folder),
  };
}

/** The values of a variable; a setting without a value has none. */
type Variables = ReadonlyMap<string, readonly string[]>;

function variablesOf({ inputs }: Manifest, { folder, values, world }: BundleEntryOptions): Variables {
  const system = systemVariables(folder, world);
  const settings = inputs.map((input) => {
    const texts = valuesOf(input, values) ?? [];
    // A default may name a folder of the user.
    return [`user_config.${input.key}`, texts.flatMap((text) => expandText(text, system) ?? [])] as const;
  });
  return new Map([...system, ...settings]);
}

function systemVariables(folder: string, world: Environment): Variables {
  const paths = pathsOf(world);
  const inHome = (name: string, xdg: string) => lookup(xdg, world) || paths.join(world.home, name);
  const fixed = {
    __dirname: folder,
    HOME: world.home,
    DESKTOP: inHome('Desktop', 'XDG_DESKTOP_DIR'),
    DOCUMENTS: inHome('Documents', 'XDG_DOCUMENTS_DIR'),
    DOWNLOADS: inHome('Downloads', 'XDG_DOWNLOAD_DIR'),
    pathSeparator: paths.sep,
    '/': paths.sep,
  };
  return new Map(Object.entries(fixed).map(([name, value]) => [name, [literal(value)]]));
}

/** Keeps `${` in a path from being expanded when the server starts. */
function literal(path: string): string {
  return path.replaceAll('${', () => '$${');
}

/** An argument that is one setting becomes as many arguments as the setting has values. */
function expandArgument(arg: string, variables: Variables): string[] {
  const whole = /^\$\{([^}]+)\}$/.exec(arg)?.[1];
  const values = whole === undefined ? undefined : variables.get(whole);
  return values === undefined ? [expandText(arg, variables) ?? ''] : [...values];
}

/** Returns undefined for a text that is only a setting without a value. Unknown names stay, because they may be variables of the environment. */
function expandText(text: string, variables: Variables): string | undefined {
  const whole = /^\$\{([^}]+)\}$/.exec(text)?.[1];
  if (whole !== undefined && variables.get(whole)?.length === 0) return undefined;
  return text.replace(/\$\{([^}]+)\}/g, (written, name: string) => variables.get(name)?.join(',') ?? written);
}

/** A path of the bundle becomes absolute; on Windows a binary gets its extension. */
function commandOf(
  command: string,
  { type }: Manifest,
  { folder, world }: { folder: string; world: Environment },
): string {
  const paths = pathsOf(world);
  const inBundle = paths.join(folder, command);
  const isPath = /[\\/]/.test(command) || (type === 'binary' && existsSync(inBundle));
  if (!isPath) return pythonOf(command, world);
  const absolute = paths.isAbsolute(command) ? command : literal(inBundle);
  const needsExe = world.platform === 'win32' && !/\.[a-z]{2,4}$/i.test(absolute) && existsSync(`${absolute}.exe`);
  return needsExe ? `${absolute}.exe` : absolute;
}

/** Most systems have Python 3 only under its full name. */
function pythonOf(command: string, world: Environment): string {
  const isMissing = command === 'python' && world.platform !== 'win32' && findProgram(command, world) === undefined;
  return isMissing ? 'python3' : command;
}
