/** The config of mcpx as the target of an import: its servers, its text with new entries, and how both files are written. */
import { existsSync } from 'node:fs';
import type { ServerSpec } from '../config/config.ts';
import { containerOf, insertServer, writeEdit } from '../config/edit.ts';
import type { Environment } from '../config/environment.ts';
import type { JsonRecord, Path } from '../config/json-data.ts';
import { readSource } from '../config/jsonc-file.ts';
import { loadConfig } from '../config/load.ts';
import { bootstrap, configFiles, secretsFile } from '../config/paths.ts';
import { STARTER } from '../config/starter.ts';
import { McpxError } from '../errors.ts';
import { readIfPresent, withLock, writeFileAtomic } from '../files.ts';
import { type Secret, withSecrets } from './literal-secrets.ts';

export interface OwnConfig {
  /** The file that gets new servers. */
  file: string;
  exists: boolean;
  text: string;
  /** Every server of every file. */
  servers: ServerSpec[];
  /** The path of the servers in the file. */
  container: Path;
}

/** Reads the config to which servers are added: the last named file, or the default one, which may not exist yet. */
export function readOwnConfig(named: readonly string[], world: Environment): OwnConfig {
  const { files, fallback } = configFiles(named, world);
  const file = files.at(-1) ?? fallback ?? '';
  if (files.length === 0) return { file, exists: false, text: STARTER, servers: [], container: ['mcpServers'] };
  const { config } = loadConfig({ ...world, files });
  const servers = config.profiles.flatMap((profile) => profile.servers);
  const unique = servers.filter((spec, index) => servers.indexOf(spec) === index);
  return {
    file,
    exists: existsSync(file),
    text: readSource(file).text,
    servers: unique,
    container: containerOf(config.profiles, file),
  };
}

/** Returns the text of the config with new entries, and warnings about them. Throws `config` if the result would not load. */
export function withServers(
  { file, text, container }: OwnConfig,
  additions: readonly { name: string; entry: JsonRecord }[],
  world: Environment,
): { after: string; warnings: string[] } {
  const after = additions.reduce((rest, addition) => insertServer(rest, container, addition), text);
  if (additions.length === 0) return { after, warnings: [] };
  const { config } = loadConfig({ ...world, files: [file], texts: new Map([[file, after]]) });
  const names = additions.map(({ name }) => `server "${name}"`);
  const warnings = config.warnings.map(({ message }) => message);
  return { after, warnings: warnings.filter((message) => names.some((name) => message.startsWith(name))) };
}

/** Writes the config with a copy of the old one as `.bak`. Throws `conflict` if it changed since it was read. */
export async function writeOwnConfig(
  { file, exists, text }: OwnConfig,
  after: string,
  world: Environment,
): Promise<void> {
  if (after === text && exists) return;
  if (!exists) {
    const { problem } = bootstrap(file, world);
    if (problem !== undefined) throw new McpxError('refused', problem, { hint: 'set MCPX_HOME to a writable folder' });
  }
  await withLock(file, () => writeEdit({ file, before: text, after }));
}

/** Adds values to the secrets file, which only its owner may read. */
export async function writeSecrets(secrets: Secret[], world: Environment): Promise<void> {
  if (secrets.length === 0) return;
  const file = secretsFile(world);
  await withLock(file, () => writeFileAtomic(file, withSecrets(readIfPresent(file) ?? '', secrets)));
}
