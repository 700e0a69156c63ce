/** The surroundings of the process that configuration depends on; tests bring their own. */
import { homedir } from 'node:os';
import { posix, win32 } from 'node:path';

export type Environment = Readonly<Record<string, string | undefined>>;

export interface World {
  env: Environment;
  home: string;
  cwd: string;
  platform: NodeJS.Platform;
}

/** The real surroundings, except for what is given. */
export function worldOf(given: Partial<World> = {}): World {
  return {
    env: given.env ?? process.env,
    home: given.home ?? homedir(),
    cwd: given.cwd ?? process.cwd(),
    platform: given.platform ?? process.platform,
  };
}

/** A variable that is set to something; names are case-insensitive on Windows only. */
export function lookup(name: string, { env, platform }: Pick<World, 'env' | 'platform'>): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  if (platform !== 'win32') return undefined;
  const wanted = name.toUpperCase();
  const actual = Object.keys(env).find((key) => key.toUpperCase() === wanted);
  return actual === undefined ? undefined : env[actual];
}

export function pathsOf({ platform }: Pick<World, 'platform'>): typeof posix {
  return platform === 'win32' ? win32 : posix;
}

/** An absolute path: `~/` is the home folder, anything else that is relative belongs to `folder`. */
export function absolutePath(path: string, folder: string, world: Pick<World, 'home' | 'platform'>): string {
  const paths = pathsOf(world);
  if (/^~(?=[\\/]|$)/.test(path)) return paths.join(world.home, path.slice(1));
  return paths.resolve(folder, path);
}
