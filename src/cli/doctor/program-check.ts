/** Checks the programs that servers are started with: their versions, and whether desktop applications find them. */
import { dirname } from 'node:path';
import spawn from 'cross-spawn';
import type { Config, ServerSpec, StdioServer } from '../../config/config.ts';
import { resolveLaunch } from '../../config/env.ts';
import type { Environment } from '../../config/environment.ts';
import { isNodeName } from '../../config/find-program.ts';
import type { Flags } from '../command.ts';
import type { Examined, Finding } from './finding.ts';
import { isKnownProgram } from './install-command.ts';
import { desktopPath, findInPath, isBareName } from './program-search.ts';
import { setField } from './server-advice.ts';

/** Milliseconds that a program may take to print its version. */
const PATIENCE = 10_000;

/** A program of enabled servers. */
interface Program {
  name: string;
  /** The file that PATH leads to. */
  file: string | undefined;
  /** The environment in which servers start it. */
  env: Record<string, string>;
  servers: StdioServer[];
}

export async function checkPrograms(
  config: Config,
  { flags, only, world }: { flags: Flags; only: string | undefined; world: Environment },
): Promise<Examined> {
  const programs = programsOf(config, only, world);
  const known = programs.filter(({ name }) => isKnownProgram(name));
  const versions = (await Promise.all(known.filter(({ file }) => file !== undefined).map(describe))).join(', ');
  const missing = known.filter(({ file }) => file === undefined).map(({ name }) => name);
  const path = desktopPath(world);
  const seen = path === undefined ? [] : [`PATH of applications that the desktop starts: ${path}`];
  const findings = path === undefined ? [] : programs.flatMap((one) => hiddenFindings(one, { path, flags, world }));
  return { facts: [...(versions === '' ? [] : [versions]), ...missingFacts(missing), ...seen], findings };
}

function programsOf({ profiles, settings }: Config, only: string | undefined, world: Environment): Program[] {
  const specs = new Set(profiles.flatMap(({ enabled, servers }) => (enabled ? servers : [])));
  const programs = new Map<string, Program>();
  for (const spec of specs) {
    if (spec.disabled || spec.type !== 'stdio' || (only !== undefined && spec.name !== only)) continue;
    const launch = launchOf(spec, settings.connect.inheritEnv, world);
    if (launch?.type !== 'stdio' || !isBareName(launch.command, world)) continue;
    const { command: name, env } = launch;
    const program = programs.get(name) ?? { name, env, file: findInPath(name, env.PATH ?? '', world), servers: [] };
    program.servers.push(spec);
    programs.set(name, program);
  }
  return [...programs.values()];
}

/** A server with a missing variable has a finding of its own. */
function launchOf(spec: ServerSpec, inheritEnv: Config['settings']['connect']['inheritEnv'], world: Environment) {
  try {
    return resolveLaunch(spec, { ...world, inheritEnv });
  } catch {
    return undefined;
  }
}

function missingFacts(names: readonly string[]): string[] {
  const others = names.filter((name) => !isNodeName(name));
  return [
    ...names.filter(isNodeName).map((name) => `${name} not found, its scripts run in mcpx`),
    ...(others.length > 0 ? [`not found: ${others.join(', ')}`] : []),
  ];
}

async function describe({ name, file = '', env }: Program): Promise<string> {
  const version = await versionOf(file, env);
  return `${name} ${version ?? 'without a version'}`;
}

function versionOf(file: string, env: Record<string, string>): Promise<string | undefined> {
  return new Promise((resolve) => {
    const child = spawn(file, [file.endsWith('go') ? 'version' : '--version'], {
      env,
      stdio: ['ignore', 'pipe', 'ignore'],
      windowsHide: true,
    });
    let said = '';
    const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      said = (said + text).slice(0, 1000);
    });
    child.once('error', () => resolve(undefined));
    child.once('close', () => {
      clearTimeout(timer);
      resolve(/\d+(?:\.\d+)+[\w.+-]*/.exec(said)?.[0]);
    });
  });
}

/** A client that is started from the desktop gives mcpx its own PATH, without the folders that a shell adds. */
function hiddenFindings(
  { name, file, servers }: Program,
  { path, flags, world }: { path: string; flags: Flags; world: Environment },
): Finding[] {
  if (file === undefined || findInPath(name, path, world) !== undefined) return [];
  const folder = dirname(file);
  return servers
    .filter(({ env }) => !Object.hasOwn(env, 'PATH'))
    .map((spec) => ({
      ...{ area: 'programs', code: 'hidden-from-desktop', level: 'warning', server: spec.name },
      message: `server "${spec.name}" starts from a shell only: applications of the desktop do not find "${name}"`,
      reason: `it is in "${folder}", and their PATH is ${path}`,
      command: setField({ spec, flags }, ['env', 'PATH'], `${folder}:\${PATH}`),
    }));
}
