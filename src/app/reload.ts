/** Another config in place of the one that runs: what is new is started, what is the same goes on, what is gone ends after its last call. */
import type { Config, Profile, Settings } from '../config/config.ts';
import { sameJson } from '../config/json.ts';
import type { Changes } from '../listen/gateway.ts';
import { type Running, updateProfile } from './running.ts';

/** Servers are named `profile/server` where there are several profiles. */
export type Reloaded = Changes;

export interface Swapped {
  running: Map<string, Running>;
  leaving: Set<Running>;
  run(profile: Profile): Running;
  settle(running: Running): void;
}

/** Nothing in here can fail: whatever may, was tried before. */
export function swapProfiles(
  { running, leaving, run, settle }: Swapped,
  { profiles, settings }: Config,
): Omit<Reloaded, 'restart'> {
  const result: Omit<Reloaded, 'restart'> = { added: [], changed: [], removed: [] };
  // The profiles of before count too: what only one of them loses is not gone.
  const several = new Set([...running.keys(), ...profiles.map(({ name }) => name)]).size > 1;
  const note = (kind: keyof typeof result, profile: string, names: string[]) =>
    result[kind].push(...names.map((name) => (several ? `${profile}/${name}` : name)));
  const enabled = profiles.filter((profile) => profile.enabled);
  const gone = [...running.values()].filter(({ profile }) => !enabled.some(({ name }) => name === profile.name));
  for (const profile of enabled) {
    const known = running.get(profile.name);
    const found = known ?? run(profile);
    const change =
      known === undefined
        ? {
            added: profile.servers.filter(({ disabled }) => !disabled).map(({ name }) => name),
            changed: [],
            removed: [],
          }
        : updateProfile(known, profile, settings);
    for (const kind of ['added', 'changed', 'removed'] as const) note(kind, profile.name, change[kind]);
    running.set(profile.name, found);
    if (change.added.length + change.changed.length > 0) settle(found);
  }
  for (const one of gone) {
    running.delete(one.profile.name);
    leave(one, leaving, settings);
    note(
      'removed',
      one.profile.name,
      one.profile.servers.map(({ name }) => name),
    );
  }
  return result;
}

/** Calls under way finish; the profile is forgotten when nothing of it is left. */
function leave(one: Running, leaving: Set<Running>, settings: Settings): void {
  leaving.add(one);
  one.catalog.close();
  one.pool.update([], settings);
  void one.pool.emptied().then(() => leaving.delete(one));
}

/** Settings that are looked at once, at the start. */
const AT_START: [path: string, read: (settings: Settings) => unknown][] = [
  ['http.host', ({ http }) => http.host],
  ['http.port', ({ http }) => http.port],
  ['log', ({ log }) => log],
  ['connect.concurrency', ({ connect }) => connect.concurrency],
  ['lock', ({ lock }) => lock],
  ['stats', ({ stats }) => stats],
  ['watch', ({ watch }) => watch],
];

export function needsRestart(before: Settings, after: Settings): string[] {
  return AT_START.filter(([, read]) => !sameJson(read(before), read(after))).map(([path]) => path);
}
