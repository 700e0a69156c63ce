/** The environment that configuration depends on: variables, home folder, working directory, platform. Tests pass their own. */
import { homedir, userInfo } from 'node:os';
import { posix, win32 } from 'node:path';

export type EnvVariables = Readonly<Record<string, string | undefined>>;

export interface Environment {
  env: EnvVariables;
  home: string;
  cwd: string;
  platform: NodeJS.Platform;
}

/** Returns the environment of the process, with the given fields replaced. */
export function environmentOf(given: Partial<Environment> = {}): Environment {
  return {
    env: given.env ?? process.env,
    home: given.home ?? userHome(),
    cwd: given.cwd ?? process.cwd(),
    platform: given.platform ?? process.platform,
  };
}

/** Returns the home folder of the user. An empty HOME would make every path in it relative to the working directory. */
export function userHome(): string {
  return homedir() || userInfo().homedir;
}

/** Returns the value of a variable, or undefined. Names are case-insensitive on Windows only. */
export function lookup(name: string, { env, platform }: Pick<Environment, 'env' | 'platform'>): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  if (platform !== 'win32') return undefined;
  const wanted = name.toUpperCase();
  const actual = Object.keys(env).find((key) => key.toUpperCase() === wanted);
  return actual === undefined ? undefined : env[actual];
}

/** True if a build server runs the program: nobody answers a question there, and nobody watches a progress. */
export function isAutomated(world: Pick<Environment, 'env' | 'platform'>): boolean {
  const ci = lookup('CI', world);
  return ci !== undefined && !/^(?:|0|false)$/i.test(ci);
}

export function pathsOf({ platform }: Pick<Environment, 'platform'>): typeof posix {
  return platform === 'win32' ? win32 : posix;
}

/** Returns an absolute path: `~/` is the home folder, and any other relative path is resolved from `folder`. */
export function absolutePath(path: string, folder: string, world: Pick<Environment, 'home' | 'platform'>): string {
  const paths = pathsOf(world);
  if (/^~(?=[\\/]|$)/.test(path)) return paths.join(world.home, path.slice(1));
  return paths.resolve(folder, path);
}
