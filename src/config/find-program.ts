/** Finds a program in PATH by its bare name, as the system does when it starts one. */
import { accessSync, constants, statSync } from 'node:fs';
import { type Environment, lookup, pathsOf } from './environment.ts';

/** The folders that the C libraries of Linux and macOS search without a PATH. */
const WITHOUT_PATH = '/usr/local/bin:/bin:/usr/bin';

/** Returns the path of the program, or undefined. */
export function findProgram(name: string, world: Pick<Environment, 'env' | 'cwd' | 'platform'>): string | undefined {
  const paths = pathsOf(world);
  const windows = world.platform === 'win32';
  const endings = windows ? ['', ...(lookup('PATHEXT', world) ?? '.EXE;.CMD').split(';')] : [''];
  const path = lookup('PATH', world) ?? (windows ? '' : WITHOUT_PATH);
  const folders = path.split(paths.delimiter).filter((folder) => folder !== '');
  const candidates = folders.flatMap((folder) =>
    endings.map((ending) => paths.resolve(world.cwd, folder, `${name}${ending}`)),
  );
  return candidates.find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}

/** Returns the name of a program as a user says it: without its folder and without the ending of Windows. */
export function programName(command: string): string {
  const file = command.split(/[\\/]/).at(-1) ?? '';
  return file.toLowerCase().replace(/\.(?:cmd|exe|bat|ps1)$/, '');
}

/** Returns true for the bare names of Node. */
export function isNodeName(command: string): boolean {
  return !/[\\/]/.test(command) && ['node', 'nodejs'].includes(programName(command));
}
