/** Finds a server in the config and edits its entry in the file, for the commands that change one server. */
import type { Config, ServerSpec } from '../config/config.ts';
import { type Edited, editServer, isOwn, type ServerEdit, writeEdit } from '../config/edit.ts';
import { loadConfig } from '../config/load.ts';
import { didYouMean } from '../config/nearest.ts';
import { nameKey } from '../config/server-names.ts';
import { McpxError } from '../errors.ts';
import { withLock } from '../files.ts';
import type { Flags } from './command.ts';
import { note } from './output.ts';

export interface FoundEntry {
  /** The config with the named profile only, if one was named. */
  config: Config;
  spec: ServerSpec;
}

/** Loads the config of the options. An entry that starts mcpx itself is a part of it, because it can be edited too. */
export function loadScope(flags: Flags, texts?: ReadonlyMap<string, string>): Config {
  const files = flags.values('config');
  const { config } = loadConfig({ files, overrides: { profile: flags.value('profile') }, ...(texts && { texts }) });
  if (flags.value('profile') === undefined) return config;
  return { ...config, profiles: config.profiles.filter(({ name }) => name === config.profile) };
}

/** Throws `not_found` with the nearest name. */
export function findEntry(name: string, flags: Flags): FoundEntry {
  const config = loadScope(flags);
  return { config, spec: entryNamed(name, config) };
}

export function entryNamed(name: string, { profiles }: Pick<Config, 'profiles'>): ServerSpec {
  const servers = profiles.flatMap((profile) => profile.servers);
  const spec = servers.find((one) => nameKey(one.name) === nameKey(name) || one.title === name);
  if (spec !== undefined) return spec;
  const hint = didYouMean(name, new Set(servers.map((one) => one.name))) ?? 'mcpx list';
  throw new McpxError('not_found', `no server is called "${name}"`, { hint });
}

/** With `--profile`, only a server that belongs to that profile alone may be changed: the others have it too. */
export function refuseShared({ name, place }: ServerSpec, flags: Flags): void {
  const profile = flags.value('profile');
  if (profile === undefined || isOwn(place.path)) return;
  throw new McpxError('usage', `server "${name}" does not belong to profile "${profile}" alone`, {
    hint: `leave --profile out to change it everywhere, or edit "servers" of the profile in ${place.file}`,
  });
}

/** Edits the file, and keeps the old one as `<file>.bak`. Throws before it writes if the result would not load, or if `check` throws. */
export async function editEntry(
  config: Config,
  edit: ServerEdit,
  { flags, check }: { flags: Flags; check?: (after: Config) => void },
): Promise<void> {
  const edited: Edited = editServer(config, edit);
  const after = loadScope(flags, new Map([[edited.file, edited.after]]));
  check?.(after);
  await withLock(edited.file, () => writeEdit(edited));
}

/** Says when the programs that run already use the new config. */
export function noteReload(): void {
  note(
    'clients see it when they start mcpx again; a running gateway at once with "watch", else after SIGHUP or POST /api/reload',
  );
}
