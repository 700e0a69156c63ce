/** Paths of the config and of mcpx's other files, and the files that a first run creates. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { createFile, ensureFolder } from '../files.ts';
import { absolutePath, type Environment, lookup, pathsOf, userHome } from './environment.ts';
import { schemaText } from './json-schema.ts';
import { STARTER } from './starter.ts';

/** Returns the folder for all files that mcpx stores: MCPX_HOME, or `~/.mcpx`. */
export function homeFolder(world: Environment): string {
  const moved = lookup('MCPX_HOME', world);
  return moved ? absolutePath(moved, world.cwd, world) : pathsOf(world).join(world.home, '.mcpx');
}

/** Returns the default config path of this user, ignoring MCPX_HOME and MCPX_CONFIG. */
export function usualFile(): string {
  return join(userHome(), '.mcpx', 'config.json');
}

/** Returns the path of the file with values for `${input:id}`; its mode is 0600. */
export function secretsFile(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'secrets.env');
}

/** Returns the path of the key that seals state held by clients, so that it stays valid after a restart; its mode is 0600. */
export function secretKeyFile(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'secret.key');
}

/** Returns the path of the file with the sign-ins of this user; its mode is 0600. */
export function tokensFile(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'tokens.json');
}

/** Returns the folder below which bundles are unpacked, each into a folder of its own. */
export function bundlesFolder(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'bundles');
}

/** Returns the path of the file with the OAuth clients of the gateway and their grants; its mode is 0600. */
export function grantsFile(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'grants.json');
}

/** Returns the folder for session state, so that sessions survive a restart and deleted ones stay deleted. */
export function sessionsFolder(world: Environment): string {
  return pathsOf(world).join(homeFolder(world), 'sessions');
}

export interface ConfigFiles {
  /** The files, lowest precedence first; empty if none was named and none exists. */
  files: string[];
  /** The path at which a first run creates a config; undefined if files were named. */
  fallback?: string;
}

/** Returns the named files, else MCPX_CONFIG, else the default path, else the config of the predecessor program if it exists. */
export function configFiles(named: readonly string[], world: Environment): ConfigFiles {
  const variable = lookup('MCPX_CONFIG', world);
  const given = named.length === 0 && variable ? [variable] : named;
  if (given.length > 0) return { files: given.map((file) => absolutePath(file, world.cwd, world)) };
  const fallback = pathsOf(world).join(homeFolder(world), 'config.json');
  if (existsSync(fallback)) return { files: [fallback], fallback };
  const older = pathsOf(world).join(world.home, '.mcps-proxy', 'config.json');
  // If MCPX_HOME is set, only that folder is used.
  const usesOlder = !lookup('MCPX_HOME', world) && existsSync(older);
  return { files: usesOlder ? [older] : [], fallback };
}

export interface Bootstrap {
  /** The file that was written; undefined if another process created it first or the write failed. */
  created?: string;
  /** The reason for which the write failed. */
  problem?: string;
}

/** Writes the default config and its JSON Schema. If two processes do so at once, the first one wins. */
export function bootstrap(file: string, world: Environment): Bootstrap {
  const paths = pathsOf(world);
  try {
    ensureFolder(paths.dirname(file));
    createFile(paths.join(paths.dirname(file), 'mcpx.schema.json'), schemaText());
    return createFile(file, STARTER) ? { created: file } : {};
  } catch (error) {
    return { problem: `"${file}" could not be written: ${messageOf(error)}` };
  }
}
