/** Merges several files: a later file replaces whole servers and profiles, and single settings. */
import { DEFAULTS, type Profile, type ServerSpec, type Settings } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { checkHttp } from './http-rules.ts';
import { isRecord, type JsonRecord, own } from './json-data.ts';
import type { Draft } from './normalize.ts';
import { buildProfile, type ProfileDraft } from './profiles.ts';
import type { Entry } from './server.ts';
import { labelServers } from './server-names.ts';

export interface Merged {
  settings: Settings;
  profiles: Profile[];
}

export function mergeDrafts(drafts: readonly Draft[], findings: Diagnostics): Merged {
  const patches: unknown[] = [...drafts.map(({ defaults }) => defaults), ...drafts.map(({ settings }) => settings)];
  const settings = patches.reduce<unknown>(overlay, structuredClone(DEFAULTS)) as Settings;
  const { callTimeout } = settings.limits;
  const shared = layer(
    drafts.map(({ entries }) => entries),
    { callTimeout, findings },
  );
  const written = new Map(drafts.flatMap(({ profiles }) => [...profiles]));
  const drafted = [...written.values()].map(({ draft, entries }) => {
    return { draft, own: layer([entries], { callTimeout, findings }) };
  });
  labelServers([shared, ...drafted.map(({ own }) => own)]);
  const profiles = drafted.map(({ draft, own }) => buildProfile(draft, shared, own, findings));
  if (profiles.length === 0) profiles.push(buildProfile(EVERYTHING, shared, new Map(), findings));
  else tellUnused(shared, profiles, findings);
  checkHttp(settings, profiles, findings);
  return { settings, profiles };
}

const EVERYTHING: ProfileDraft = {
  name: 'default',
  place: { file: '', path: [] },
  enabled: true,
  servers: ['*'],
  mcpServers: undefined,
  tools: {},
  resources: {},
  prompts: {},
};

/** Merges objects key by key. All other values, including lists, are replaced. */
export function overlay(base: unknown, patch: unknown): unknown {
  if (!isRecord(base) || !isRecord(patch)) return patch;
  const result: JsonRecord = { ...base };
  for (const [key, value] of Object.entries(patch)) result[key] = overlay(own(base, key), value);
  return result;
}

/** Merges the servers of all files. A server keeps the position of its first definition. */
function layer(
  files: readonly Map<string, Entry>[],
  { callTimeout, findings }: { callTimeout: number; findings: Diagnostics },
): Map<string, ServerSpec> {
  const servers = new Map<string, ServerSpec>();
  for (const [key, entry] of files.flatMap((file) => [...file])) {
    if (entry.kind === 'server') servers.set(key, entry.timed ? entry.spec : { ...entry.spec, timeout: callTimeout });
    else switchOff(servers, key, entry, findings);
  }
  return servers;
}

function switchOff(
  servers: Map<string, ServerSpec>,
  key: string,
  { name, place }: Extract<Entry, { kind: 'off' }>,
  findings: Diagnostics,
): void {
  const lower = servers.get(key);
  if (lower !== undefined) servers.set(key, { ...lower, disabled: true });
  else findings.warn({ message: `server "${name}" is disabled, but no earlier file defines it`, place, part: 'key' });
}

function tellUnused(shared: ReadonlyMap<string, ServerSpec>, profiles: Profile[], findings: Diagnostics): void {
  for (const spec of shared.values()) {
    if (profiles.some(({ servers }) => servers.includes(spec))) continue;
    const message = `server "${spec.name}" is in no profile, so no client can use it`;
    findings.warn({ message, place: spec.place, part: 'key', hint: 'add it to the "servers" of a profile' });
  }
}
