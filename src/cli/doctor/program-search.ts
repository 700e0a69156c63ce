/** Finds programs in PATH, in the PATH of desktop applications, and in the folders where installers put them. */
import { readdirSync, realpathSync } from 'node:fs';
import { type Environment, lookup, pathsOf } from '../../config/environment.ts';
import { findProgram } from '../../config/find-program.ts';

type World = Pick<Environment, 'env' | 'home' | 'platform'>;

/** Returns the file that a bare name starts with this PATH; undefined if there is none. */
export function findInPath(name: string, path: string, world: World): string | undefined {
  return findProgram(name, { env: { ...world.env, PATH: path }, cwd: world.home, platform: world.platform });
}

/** True if both paths lead to the same file, through symbolic links too. */
export function isSameFile(one: string, other: string): boolean {
  try {
    return realpathSync(one) === realpathSync(other);
  } catch {
    return false;
  }
}

/** True if the command is a name that is looked up in PATH. */
export function isBareName(command: string, { platform }: Pick<Environment, 'platform'>): boolean {
  return !(platform === 'win32' ? /[\\/]/ : /\//).test(command);
}

/** Returns a file of this name outside PATH, in a folder that a version manager or an installer uses. */
export function findElsewhere(name: string, world: World): string | undefined {
  return findInPath(name, usualFolders(world).join(pathsOf(world).delimiter), world);
}

function usualFolders(world: World): string[] {
  const { home, platform } = world;
  const { join } = pathsOf(world);
  if (platform === 'win32') {
    const under = (variable: string, ...rest: string[]) => {
      const folder = lookup(variable, world);
      return folder === undefined ? [] : [join(folder, ...rest)];
    };
    return [
      ...under('ProgramFiles', 'nodejs'),
      ...under('APPDATA', 'npm'),
      ...under('ProgramFiles', 'Docker', 'Docker', 'resources', 'bin'),
      join(home, '.local', 'bin'),
      join(home, '.cargo', 'bin'),
      join(home, '.bun', 'bin'),
      join(home, 'scoop', 'shims'),
    ];
  }
  const versions = join(home, '.nvm', 'versions', 'node');
  const nvm = namesIn(versions)
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((version) => join(versions, version, 'bin'));
  const own = ['.local/bin', 'bin', '.cargo/bin', '.volta/bin', '.bun/bin', '.deno/bin', '.asdf/shims', 'go/bin'];
  const system = ['/usr/local/bin', '/opt/homebrew/bin', '/home/linuxbrew/.linuxbrew/bin', '/snap/bin'];
  return [
    ...own.map((folder) => join(home, folder)),
    join(home, '.local/share/mise/shims'),
    join(home, '.local/share/fnm/aliases/default/bin'),
    ...nvm,
    ...system,
    '/Applications/Docker.app/Contents/Resources/bin',
  ];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

/**
 * Returns the PATH of applications that are started from the desktop, which do not read the files of a shell; undefined
 * if there is no desktop, or if it has the PATH of shells, as on Windows.
 */
export function desktopPath(world: World): string | undefined {
  if (world.platform === 'darwin') return '/usr/bin:/bin:/usr/sbin:/sbin';
  const hasDesktop = ['DISPLAY', 'WAYLAND_DISPLAY', 'XDG_CURRENT_DESKTOP'].some((name) => lookup(name, world));
  if (world.platform !== 'linux' || !hasDesktop) return undefined;
  return '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/snap/bin';
}
