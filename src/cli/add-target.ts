/** The place in the config to which `mcpx add` writes: the servers of the file, or those of one profile. */
import { valueAt } from '../client-config/found-servers.ts';
import { type OwnConfig, readOwnConfig } from '../client-config/own-config.ts';
import { isOwn } from '../config/edit.ts';
import { environmentOf } from '../config/environment.ts';
import { isRecord, own } from '../config/json-data.ts';
import { parseSource } from '../config/jsonc-file.ts';
import { didYouMean } from '../config/nearest.ts';
import { nameKey } from '../config/server-names.ts';
import { setValue } from '../config/set-value.ts';
import { McpxError } from '../errors.ts';
import type { Flags } from './command.ts';
import { sourceFlags } from './command-app.ts';
import { shellWord } from './shell-word.ts';

export interface AddTarget {
  /** The config as it was read. */
  config: OwnConfig;
  /** The same config, prepared for the new entry. */
  prepared: OwnConfig;
}

export function addTarget(flags: Flags): AddTarget {
  const config = readOwnConfig(flags.values('config'), environmentOf());
  const profile = flags.value('profile');
  if (profile === undefined) refuseSchemas(config);
  return { config, prepared: profile === undefined ? config : inProfile(config, profile) };
}

/** In the shape with `schemas`, every server belongs to one of them. */
function refuseSchemas({ file, text }: OwnConfig): void {
  const schemas = valueAt(parseSource(file, text).value, ['schemas']);
  if (!isRecord(schemas)) return;
  const names = Object.keys(schemas);
  throw new McpxError('usage', `every server in "${file}" belongs to a schema`, {
    hint: `name one with --profile: ${names.join(', ')}`,
  });
}

function inProfile(config: OwnConfig, profile: string): OwnConfig {
  const { file, text } = config;
  const document = parseSource(file, text).value;
  const key = isRecord(valueAt(document, ['profiles'])) ? 'profiles' : 'schemas';
  const profiles = valueAt(document, [key]);
  const entry = isRecord(profiles) ? own(profiles, profile) : undefined;
  if (!isRecord(entry)) throw unknownProfile(profile, isRecord(profiles) ? Object.keys(profiles) : [], file);
  const container = [key, profile, 'mcpServers'];
  const isOpen = own(entry, 'servers') === undefined && own(entry, 'mcpServers') === undefined;
  // A profile without both keys has all servers; with an own server it would have only that one.
  const opened = isOpen && key === 'profiles' ? setValue(text, [key, profile, 'servers'], ['*']) : text;
  return { ...config, text: opened, container };
}

function unknownProfile(profile: string, names: string[], file: string): McpxError {
  const hint =
    didYouMean(profile, names) ??
    (names.length > 0
      ? `the profiles are: ${names.join(', ')}`
      : `add "profiles": {"default": {"servers": ["*"]}, "${profile}": {"servers": []}} to the file`);
  return new McpxError('not_found', `there is no profile "${profile}" in "${file}"`, { hint });
}

/** Throws `usage` if the place has a server of that name. A profile may have its own server beside a common one. */
export function refuseTaken(name: string, { prepared: { container, servers } }: AddTarget, flags: Flags): void {
  const ofProfile = isOwn(container);
  const present = servers.find(({ name: other, place: { path } }) => {
    if (nameKey(other) !== nameKey(name) || isOwn(path) !== ofProfile) return false;
    return !ofProfile || path[1] === container[1];
  });
  if (present === undefined) return;
  const typed = `${sourceFlags(flags)}${shellWord(present.name)}`;
  throw new McpxError('usage', `there is a server "${present.name}" already`, {
    hint: `mcpx get ${typed} shows it, mcpx remove ${typed} removes it`,
  });
}
