/** Replaces the running config: starts new servers, keeps unchanged ones, and stops removed ones after their last call. */
import type { Config, Profile, Settings } from '../config/config.ts';
import { sameJson } from '../config/json-data.ts';
import type { Changes } from '../listen/app-api.ts';
import { type ProfileRuntime, updateProfile } from './profile.ts';

/** The names of changed servers, as `profile/server` if there are several profiles. */
export type Reloaded = Changes;

export interface Swapped {
  running: Map<string, ProfileRuntime>;
  leaving: Set<ProfileRuntime>;
  run(profile: Profile): ProfileRuntime;
  settle(running: ProfileRuntime): void;
}

/** Applies the profiles of a config. It does not throw: every step that can fail has been validated before. */
export function swapProfiles(
  { running, leaving, run, settle }: Swapped,
  { profiles, settings }: Config,
): Omit<Reloaded, 'restart'> {
  const result: Omit<Reloaded, 'restart'> = { added: [], changed: [], removed: [] };
  // Profiles of the old config count too: a server that only one of them loses may still exist in another.
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

/** Lets running calls finish, and drops the profile when its last connection is closed. */
function leave(one: ProfileRuntime, leaving: Set<ProfileRuntime>, settings: Settings): void {
  leaving.add(one);
  one.catalog.close();
  one.pool.update([], settings);
  void one.pool.emptied().then(() => leaving.delete(one));
}

/** Settings that are read only at the start. */
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
