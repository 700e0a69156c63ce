/** Where the config and its companions are kept, and what a first run writes there. */
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../errors.ts';
import { createFile, ensureFolder } from '../files.ts';
import { schemaText } from './schema.ts';
import { STARTER } from './starter.ts';
import { absolutePath, lookup, pathsOf, type World } from './world.ts';

/** The folder of everything that mcpx keeps: MCPX_HOME, or `~/.mcpx`. */
export function homeFolder(world: World): string {
  const moved = lookup('MCPX_HOME', world);
  return moved ? absolutePath(moved, world.cwd, world) : pathsOf(world).join(world.home, '.mcpx');
}

/** The config that is found in any shell of this user, whatever the environment of this process says. */
export function usualFile(): string {
  return join(homedir(), '.mcpx', 'config.json');
}

/** Answers to `${input:id}`; 0600. */
export function secretsFile(world: World): string {
  return pathsOf(world).join(homeFolder(world), 'secrets.env');
}

/** The key that seals what clients carry, so that it is good after a restart; 0600. */
export function secretKeyFile(world: World): string {
  return pathsOf(world).join(homeFolder(world), 'secret.key');
}

/** What is kept of sessions, so that they survive a restart and those that were deleted do not. */
export function sessionsFolder(world: World): string {
  return pathsOf(world).join(homeFolder(world), 'sessions');
}

export interface ConfigFiles {
  /** Lowest first. None when nothing was named and nothing is there. */
  files: string[];
  /** Where a first run would write one; undefined when files were named. */
  fallback?: string;
}

/** Named files, else MCPX_CONFIG, else the default place, else the older program's one when it is the only one. */
export function configFiles(named: readonly string[], world: World): ConfigFiles {
  const variable = lookup('MCPX_CONFIG', world);
  const given = named.length === 0 && variable ? [variable] : named;
  if (given.length > 0) return { files: given.map((file) => absolutePath(file, world.cwd, world)) };
  const fallback = pathsOf(world).join(homeFolder(world), 'config.json');
  if (existsSync(fallback)) return { files: [fallback], fallback };
  const older = pathsOf(world).join(world.home, '.mcps-proxy', 'config.json');
  // Whoever moved the folder asked for that one and no other.
  const usesOlder = !lookup('MCPX_HOME', world) && existsSync(older);
  return { files: usesOlder ? [older] : [], fallback };
}

export interface Bootstrap {
  /** The file that was written; undefined when another process was first, or nothing could be written. */
  created?: string;
  /** Why nothing could be written. */
  problem?: string;
}

/** Writes the default config and its JSON Schema beside it. Two processes may do so at once: one file results. */
export function bootstrap(file: string, world: World): Bootstrap {
  const paths = pathsOf(world);
  try {
    ensureFolder(paths.dirname(file));
    createFile(paths.join(paths.dirname(file), 'mcpx.schema.json'), schemaText());
    return createFile(file, STARTER) ? { created: file } : {};
  } catch (error) {
    return { problem: `"${file}" could not be written: ${messageOf(error)}` };
  }
}
