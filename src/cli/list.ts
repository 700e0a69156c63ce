/** `mcpx list`: prints the configured servers of every profile, or of the named one, without starting any. */
import { accessTo } from '../app/begin-sign-in.ts';
import type { Profile, ServerSpec, Settings } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { environmentOf } from '../config/environment.ts';
import { tokensFile } from '../config/paths.ts';
import { redactSpec } from '../config/show.ts';
import { createLog } from '../observe/log.ts';
import { createOAuth, type OAuth } from '../upstream/oauth/oauth.ts';
import type { Invocation } from './command.ts';
import { readConfig } from './command-app.ts';
import { print, printJson, table } from './output.ts';
import { noteNoServers } from './reachable-servers.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const config = readConfig(flags);
  const profiles = config.profiles.filter(({ name }) => config.profile === undefined || name === config.profile);
  const { connect } = config.settings;
  const oauth = createOAuth({
    file: tokensFile(environmentOf()),
    log: createLog({ ...config.settings.log, level: 'warn' }),
  });
  const rows = profiles.flatMap((profile) =>
    profile.servers.map((spec) => {
      const missing = missingVariables(spec, connect);
      const signIn = missing.length > 0 ? undefined : signInCommand(spec, connect, oauth);
      return describe(spec, profile, { missing, signIn });
    }),
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
  /** The command that signs in, if the server is known to need that. */
  signIn?: string | undefined;
}

/** Returns the command for a server that has OAuth settings, or had a sign-in, and now has none. No server is asked. */
function signInCommand(spec: ServerSpec, connect: Settings['connect'], oauth: OAuth): string | undefined {
  if (!('url' in spec)) return undefined;
  try {
    return oauth.neededCommand(accessTo(spec, { connect }));
  } catch {
    // A setting that cannot be used has its own message when the server starts.
    return undefined;
  }
}

function describe(spec: ServerSpec, profile: Profile, { missing, signIn }: Pick<Row, 'missing' | 'signIn'>): Row {
  const { name, type, disabled } = spec;
  return {
    profile: profile.name,
    profileEnabled: profile.enabled,
    name,
    type,
    target: target(spec),
    disabled,
    missing,
    ...(signIn !== undefined && { signIn }),
  };
}

function remark({ missing, disabled, profileEnabled, signIn }: Row): string {
  if (!profileEnabled) return 'the profile is disabled';
  if (disabled) return 'disabled';
  if (missing.length > 0) return `needs ${missing.join(', ')}`;
  return signIn === undefined ? '' : `sign in needed: ${signIn}`;
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
