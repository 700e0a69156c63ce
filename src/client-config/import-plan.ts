/** Plans an import: which servers of the clients become entries of mcpx's config, and under which names. It changes nothing. */
import type { ServerSpec } from '../config/config.ts';
import type { Environment } from '../config/environment.ts';
import { createExpander } from '../config/expander.ts';
import type { JsonRecord } from '../config/json-data.ts';
import { nameKey, serverName } from '../config/server-names.ts';
import { serverEntry } from '../config/show.ts';
import { rowOf } from './client-table.ts';
import type { FoundServer } from './found-servers.ts';
import { moveSecrets, type Secret } from './literal-secrets.ts';

export interface Addition {
  name: string;
  entry: JsonRecord;
  /** Every place in which the clients have this server. */
  found: FoundServer[];
}

export interface ImportPlan {
  additions: Addition[];
  /** Servers that mcpx has already, with their names in mcpx. */
  known: { name: string; found: FoundServer }[];
  /** Sentences about renamed servers and about parts that are not carried over. */
  notes: string[];
  /** Values for the secrets file. */
  secrets: Secret[];
  /** Names of the additions whose entries hold literal secrets. */
  literal: string[];
}

export interface ImportOptions {
  /** The servers that mcpx has. */
  present: readonly ServerSpec[];
  world: Environment;
  /** True if literal secrets move to the secrets file. */
  movesSecrets: boolean;
}

export function planImport(found: readonly FoundServer[], { present, world, movesSecrets }: ImportOptions): ImportPlan {
  const identity = createIdentity(world);
  const plan: ImportPlan = {
    additions: [],
    known: [],
    notes: found.flatMap(({ notes }) => notes),
    secrets: [],
    literal: [],
  };
  const existing = new Map(present.map((spec) => [identity(spec), spec]));
  const taken = new Set(['mcpx', ...present.map(({ name }) => nameKey(name))]);
  for (const group of groupsOf(found, identity)) {
    const [first] = group;
    if (first === undefined) continue;
    const same = existing.get(identity(first.spec));
    if (same !== undefined) {
      plan.known.push(...group.map((one) => ({ name: same.name, found: one })));
      continue;
    }
    const { name } = serverName(first.name);
    const free = freeName(first, taken);
    taken.add(nameKey(free));
    if (free !== name) plan.notes.push(renamed(first, name, free, present));
    const plain = entryFor(group);
    const moved = moveSecrets(free, plain);
    if (moved.secrets.length > 0) plan.literal.push(free);
    if (movesSecrets) plan.secrets.push(...moved.secrets);
    plan.additions.push({ name: free, entry: movesSecrets ? moved.entry : plain, found: group });
  }
  return plan;
}

/** Groups entries that start the same program with the same values, or have the same URL. */
function groupsOf(found: readonly FoundServer[], identity: (spec: ServerSpec) => string): FoundServer[][] {
  const groups = new Map<string, FoundServer[]>();
  for (const one of found) {
    const key = identity(one.spec);
    groups.set(key, [...(groups.get(key) ?? []), one]);
  }
  return [...groups.values()];
}

/** Two servers are the same if they launch the same. Placeholders count by their values. */
function createIdentity(world: Environment): (spec: ServerSpec) => string {
  const { text, record } = createExpander({ folder: world.cwd, workspace: world.cwd, world });
  const sorted = (values: Record<string, string | null>) => Object.entries(record(values)).sort();
  return (spec) => {
    if (spec.type === 'stdio') {
      const { command, args, env, cwd, envFile } = spec;
      return JSON.stringify([text(command), args.map(text), sorted(env), cwd === undefined ? '' : text(cwd), envFile]);
    }
    if ('url' in spec) return JSON.stringify([text(spec.url), sorted(spec.headers)]);
    return JSON.stringify([spec.type, spec.type === 'module' ? spec.module : spec.builtin]);
  };
}

function freeName({ name: written, client, project }: FoundServer, taken: ReadonlySet<string>): string {
  const { name } = serverName(written);
  const folder = project?.split(/[\\/]/).findLast((part) => part !== '');
  const suffixes = [folder, client].flatMap((suffix) => (suffix === undefined ? [] : [suffix]));
  const candidates = [name, ...suffixes.map((suffix) => serverName(`${name}-${suffix}`).name)];
  const found = candidates.find((candidate) => !taken.has(nameKey(candidate)));
  if (found !== undefined) return found;
  let number = 2;
  while (taken.has(nameKey(`${name}-${number}`))) number += 1;
  return `${name}-${number}`;
}

function renamed({ client }: FoundServer, name: string, free: string, present: readonly ServerSpec[]): string {
  const subject = client === undefined ? `server "${name}"` : `server "${name}" of ${rowOf(client).title}`;
  const isPresent = present.some((spec) => nameKey(spec.name) === nameKey(name));
  return isPresent
    ? `${subject} is imported as "${free}", because mcpx has a different server of that name`
    : `${subject} is imported as "${free}", because another client has a different server of that name`;
}

/** Returns the entry for the config. It is disabled only if every client has disabled it. */
function entryFor(group: readonly FoundServer[]): JsonRecord {
  const [first] = group;
  if (first === undefined) return {};
  const { type, disabled: _disabled, command, args, url, ...others } = serverEntry(first.spec);
  const target = Object.entries({ command, args, url }).filter(([, value]) => value !== undefined);
  const isImplied = type === 'stdio' || type === 'auto';
  const isOff = group.every(({ spec }) => spec.disabled);
  return { ...(isImplied ? {} : { type }), ...Object.fromEntries(target), ...others, ...(isOff && { disabled: true }) };
}
