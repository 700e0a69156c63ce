/** `mcpx list`: prints the configured servers of every profile, or of the named one, without starting any. */
import type { Profile, ServerSpec } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { redactSpec } from '../config/show.ts';
import type { Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { print, printJson, table } from './output.ts';
import { noteNoServers } from './reachable-servers.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const config = readConfig(flags);
  const profiles = config.profiles.filter(({ name }) => config.profile === undefined || name === config.profile);
  const rows = profiles.flatMap((profile) =>
    profile.servers.map((spec) => describe(spec, profile, missingVariables(spec, config.settings.connect))),
  );
  if (flags.has('json')) {
    await printJson(rows);
    return 0;
  }
  if (rows.length === 0) {
    noteNoServers();
    return 0;
  }
  const several = profiles.length > 1;
  const lines = rows.map((row) => [...(several ? [row.profile] : []), row.name, row.type, row.target, remark(row)]);
  await print(table(lines));
  return 0;
}

interface Row {
  profile: string;
  profileEnabled: boolean;
  name: string;
  type: string;
  target: string;
  disabled: boolean;
  /** The variables that have to be set before it can start. */
  missing: string[];
}

function describe(spec: ServerSpec, profile: Profile, missing: string[]): Row {
  const { name, type, disabled } = spec;
  return {
    profile: profile.name,
    profileEnabled: profile.enabled,
    name,
    type,
    target: target(spec),
    disabled,
    missing,
  };
}

function remark({ missing, disabled, profileEnabled }: Row): string {
  if (!profileEnabled) return 'the profile is disabled';
  if (disabled) return 'disabled';
  return missing.length > 0 ? `needs ${missing.join(', ')}` : '';
}

/** Returns the command or URL of a server, with placeholders as written and secrets masked. */
function target(server: ServerSpec): string {
  const spec = redactSpec(server);
  switch (spec.type) {
    case 'stdio':
      return [spec.command, ...spec.args].join(' ');
    case 'module':
      return spec.module;
    case 'builtin':
      return spec.builtin;
    default:
      return spec.url;
  }
}
