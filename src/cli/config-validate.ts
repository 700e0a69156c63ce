/** `mcpx config validate`: what `serve` would say of a config, without starting anything. */
import type { Config } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { McpxError } from '../errors.ts';
import type { Invocation } from './command.ts';
import { note, paint, print, printJson } from './output.ts';
import { readConfig } from './session.ts';

export async function run({ args, flags }: Invocation): Promise<number> {
  const config = readConfig(flags, { file: args[0] });
  if (config.files.length === 0)
    throw new McpxError('config', 'there is no config yet', { hint: 'mcpx serve writes a first one' });
  const servers = config.profiles.flatMap((profile) => profile.servers);
  const missing = missingByServer(config);
  for (const { server, variables } of missing) {
    note(`${paint('yellow', 'warning:')} server "${server}" will not start: set ${variables.join(', ')}`);
  }
  if (flags.has('json')) {
    await printJson({ ok: true, files: config.files, servers: servers.length, warnings: config.warnings, missing });
    return 0;
  }
  const count = new Set(servers).size;
  await print(`${config.files.join(', ')}: ok, ${count} ${count === 1 ? 'server' : 'servers'}`);
  return 0;
}

function missingByServer({ profiles, settings }: Config): { server: string; variables: string[] }[] {
  return [...new Set(profiles.flatMap(({ servers }) => servers))]
    .filter((spec) => !spec.disabled)
    .map((spec) => ({ server: spec.name, variables: missingVariables(spec, settings.connect) }))
    .filter(({ variables }) => variables.length > 0);
}
