/** Starts each server of a config exactly once, to see whether it works. */
import type { App } from '../app/app.ts';
import type { ServerEntry } from '../catalog/catalog.ts';
import type { Config, ServerSpec } from '../config/config.ts';
import type { Diagnostics } from '../upstream/connection-interface.ts';
import type { Invocation } from './command.ts';
import { withAppOf } from './command-app.ts';
import { whileWaiting } from './progress.ts';

/** A server that was started and listed, or has failed. */
export interface Started {
  spec: ServerSpec;
  /** The catalog's entry, also while later lists arrive. */
  entry(): ServerEntry | undefined;
  diagnostics(): Diagnostics | undefined;
}

/** Milliseconds that a start waits for resources and prompts: a server may never answer a list other than its tools. */
const OTHERS_WAIT = 10_000;

/**
 * Starts every server of the enabled profiles, in the first profile that has it, and stores its lists. `only` names one
 * server. `look` is called while the server still runs.
 */
export function startOnce<T>(
  config: Config,
  invocation: Invocation,
  look: (started: Started) => Promise<T>,
  only?: string,
): Promise<Map<ServerSpec, T>> {
  const owners = ownersOf(config, only);
  const start = async (app: App, spec: ServerSpec, profile: string) => {
    const catalog = app.catalog(profile);
    await catalog.ensure(spec.name);
    await catalog.answered(OTHERS_WAIT, spec.name);
    const entry = () => catalog.servers().find(({ name }) => name === spec.name);
    return [spec, await look({ spec, entry, diagnostics: () => app.diagnostics(spec.name, profile) })] as const;
  };
  const work = async (app: App) => {
    const starts = [...owners].map(([spec, profile]) => start(app, spec, profile));
    const text = only === undefined ? 'starting the servers' : `starting ${only}`;
    return new Map(await whileWaiting(text, Promise.all(starts), invocation.stop));
  };
  return withAppOf(withoutRetries(config), invocation, work, 'live');
}

/** Returns each enabled server with the first enabled profile that has it. */
function ownersOf(config: Config, only: string | undefined): Map<ServerSpec, string> {
  const owners = new Map<ServerSpec, string>();
  for (const { name, enabled, servers } of config.profiles) {
    if (!enabled || (config.profile !== undefined && name !== config.profile)) continue;
    for (const spec of servers) {
      const isWanted = !spec.disabled && (only === undefined || spec.name === only);
      if (isWanted && !owners.has(spec)) owners.set(spec, name);
    }
  }
  return owners;
}

/** Returns the config with servers that stay failed after the first try. */
function withoutRetries(config: Config): Config {
  const once = (spec: ServerSpec): ServerSpec => ({ ...spec, reconnect: { ...spec.reconnect, maxRetries: 0 } });
  const profiles = config.profiles.map((profile) => ({ ...profile, servers: profile.servers.map(once) }));
  return { ...config, profiles };
}
