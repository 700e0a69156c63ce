/** Reads profiles from files, and resolves their server names when the servers of all files are known. */
import type { Filter, FrontKind, Place, Profile, ServerSpec } from './config.ts';
import type { Diagnostics } from './diagnostics.ts';
import { PROFILE } from './fields.ts';
import { inside, isNoteEntry, isRecord, type JsonRecord, kindOf, own } from './json-data.ts';
import { didYouMean } from './nearest.ts';
import { nameKey } from './server-names.ts';
import { readFields, warnUnknown } from './validate.ts';

/** A profile before its server names are looked up. */
export interface ProfileDraft {
  name: string;
  place: Place;
  enabled: boolean;
  /** Names of top-level servers, or `*`. If undefined, all of them, or none if `mcpServers` is set. */
  servers: string[] | undefined;
  /** The profile's own servers, as written. */
  mcpServers: unknown;
  front?: FrontKind;
  tools: Filter;
  resources: Filter;
  prompts: Filter;
}

/** Names that mcpx's own URLs use. */
const RESERVED = ['servers', 'status', 'reload', 'events', 'openapi.json'];
const UNFIT = /[\s/\\?#%]|^\.{1,2}$|^$/;

/** Reads a map of profiles by name. */
export function readProfiles(value: unknown, at: Place, findings: Diagnostics): ProfileDraft[] {
  if (value === undefined) return [];
  if (!isRecord(value)) {
    findings.error({
      message: `"${at.path.join('.')}" must be an object of profiles, not ${kindOf(value)}`,
      place: at,
    });
    return [];
  }
  const named = Object.entries(value).filter(([name, profile]) => !isNoteEntry(name, profile));
  return named.flatMap(([name, profile]) => readProfile(name, profile, inside(at, name), findings) ?? []);
}

function readProfile(name: string, value: unknown, place: Place, findings: Diagnostics): ProfileDraft | undefined {
  if (!checkName(name, place, findings)) return undefined;
  if (!isRecord(value)) {
    const hint = 'write {"servers": ["*"]}';
    findings.error({ message: `profile "${name}" must be an object, not ${kindOf(value)}`, place, hint });
    return undefined;
  }
  warnUnknown(value, Object.keys(PROFILE), place, findings);
  const read = readFields(PROFILE, value, place, findings);
  return { name, place, ...complete(read) };
}

function complete(read: JsonRecord): Omit<ProfileDraft, 'name' | 'place'> {
  const { enabled, servers, mcpServers, front, tools, resources, prompts } = read as Partial<ProfileDraft>;
  return {
    enabled: enabled ?? true,
    servers: own(read, 'servers') === undefined ? undefined : servers,
    mcpServers,
    ...(front === undefined ? {} : { front }),
    tools: tools ?? {},
    resources: resources ?? {},
    prompts: prompts ?? {},
  };
}

function checkName(name: string, place: Place, findings: Diagnostics): boolean {
  if (RESERVED.includes(name)) {
    const message = `a profile cannot be called "${name}": mcpx uses this name in its own URLs`;
    findings.error({ message, place, part: 'key', hint: `call it "my-${name.replace(/\W.*/, '')}"` });
    return false;
  }
  if (!UNFIT.test(name)) return true;
  const message = `a profile cannot be called ${JSON.stringify(name)}: its name is a part of URLs`;
  findings.error({ message, place, part: 'key', hint: 'use letters, digits, "_" and "-"' });
  return false;
}

/** Builds a profile with the chosen top-level servers in their order, then its own. Its own win over those of the same name. */
export function buildProfile(
  draft: ProfileDraft,
  shared: ReadonlyMap<string, ServerSpec>,
  ownServers: ReadonlyMap<string, ServerSpec>,
  findings: Diagnostics,
): Profile {
  const { name, enabled, front, tools, resources, prompts } = draft;
  const chosen = chooseServers(draft, shared, findings);
  const servers = [...shared].filter(([key]) => chosen.has(key) && !ownServers.has(key)).map(([, spec]) => spec);
  return {
    name,
    enabled,
    servers: [...servers, ...ownServers.values()],
    ...(front === undefined ? {} : { front }),
    tools,
    resources,
    prompts,
  };
}

/** Returns the keys of the chosen top-level servers: all of them if neither `servers` nor `mcpServers` is set. */
function chooseServers(
  draft: ProfileDraft,
  shared: ReadonlyMap<string, ServerSpec>,
  findings: Diagnostics,
): Set<string> {
  const names = draft.servers ?? (draft.mcpServers === undefined ? ['*'] : []);
  const chosen = new Set<string>();
  for (const [index, name] of names.entries()) {
    const spec = [...shared.values()].find((server) => nameKey(server.name) === nameKey(name) || server.title === name);
    if (name === '*') for (const key of shared.keys()) chosen.add(key);
    else if (spec !== undefined) chosen.add(nameKey(spec.name));
    else {
      const known = [...shared.values()].map((server) => server.name);
      const hint =
        didYouMean(name, known) ?? (known.length > 0 ? `the servers are: ${known.join(', ')}` : 'add it there');
      const message = `profile "${draft.name}" names the server "${name}", which is not in "mcpServers"`;
      findings.error({ message, place: inside(draft.place, 'servers', index), hint });
    }
  }
  return chosen;
}
