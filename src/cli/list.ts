/** `mcpx list`: the configured servers, without starting any. */
import type { ServerSpec } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { redactSpec } from '../config/show.ts';
import type { Invocation } from './command.ts';
import { print, printJson, table } from './output.ts';
import { readConfig } from './session.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const config = readConfig(flags);
  const rows = config.profiles.flatMap((profile) =>
    profile.servers.map((spec) => describe(spec, profile.name, missingVariables(spec, config.settings.connect))),
  );
  if (flags.has('json')) {
    await printJson(rows);
    return 0;
  }
  if (rows.length === 0) {
    await print('no server is configured; add one to "mcpServers" in the file that `mcpx config path` names');
    return 0;
  }
  const several = config.profiles.length > 1;
  const lines = rows.map((row) => [
    ...(several ? [row.profile] : []),
    row.name,
    row.type,
    row.target,
    row.missing.length > 0 ? `needs ${row.missing.join(', ')}` : row.disabled ? 'disabled' : '',
  ]);
  await print(table(lines));
  return 0;
}

function describe(spec: ServerSpec, profile: string, missing: string[]) {
  return { profile, name: spec.name, type: spec.type, target: target(spec), disabled: spec.disabled, missing };
}

/** What would be started or called, placeholders as written and secrets starred out. */
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
