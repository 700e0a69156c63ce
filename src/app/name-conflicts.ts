/** Finds names that several servers use. With `naming.onConflict: "error"` none of them is exposed, and mcpx logs a warning. */
import type { ServerEntry } from '../catalog/catalog.ts';
import { exposeNames, type Named } from '../catalog/exposed-names.ts';
import type { Settings } from '../config/config.ts';
import type { Conflict } from '../listen/app-api.ts';
import type { Log } from '../observe/log.ts';
import type { Access, Kind } from '../policy/access.ts';
import type { ProfileRuntime } from './profile.ts';

export function conflictsOf(
  entries: readonly ServerEntry[],
  access: Pick<Access, 'allows'>,
  naming: Settings['naming'],
): Conflict[] {
  if (naming.style !== 'plain' || naming.onConflict !== 'error') return [];
  const among = (kind: Conflict['kind'], names: (entry: ServerEntry) => string[]): Conflict[] => {
    const items = entries.flatMap((entry) => visible(entry.name, kind, names(entry), access));
    return exposeNames(items, naming).conflicts.flatMap((rivals) => {
      const [first] = rivals;
      return first === undefined ? [] : [{ kind, name: first.name, servers: rivals.map(({ server }) => server) }];
    });
  };
  return [
    ...among('tool', ({ offer }) => offer.tools.map(({ tool }) => tool.name)),
    ...among('prompt', ({ offer }) => offer.prompts.map(({ name }) => String(name))),
  ];
}

function visible(server: string, kind: Kind, names: string[], access: Pick<Access, 'allows'>): Named[] {
  return names.filter((name) => access.allows({ server, kind, name })).map((name) => ({ server, name }));
}

/** Logs each conflict once per profile, as soon as it is known. */
export function createConflictLog(
  log: Pick<Log, 'warn'>,
): (running: ProfileRuntime, naming: Settings['naming']) => void {
  const profiles = new WeakMap<ProfileRuntime, { revision: number; told: Set<string> }>();
  return (running, naming) => {
    const { catalog, access, profile } = running;
    const known = profiles.get(running) ?? { revision: -1, told: new Set<string>() };
    if (known.revision === catalog.revision) return;
    profiles.set(running, { ...known, revision: catalog.revision });
    for (const { kind, name, servers } of conflictsOf(catalog.servers(), access, naming)) {
      const who = servers.map((server) => `"${server}"`).join(' and ');
      const text = `the ${kind} "${name}" of ${who} is not exposed in profile "${profile.name}": "naming.onConflict" is "error"`;
      if (known.told.has(text)) continue;
      known.told.add(text);
      log.warn(`${text} (set "naming.style" to "prefix", or filter all but one of them)`);
    }
  };
}
