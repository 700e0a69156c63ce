/** `mcpx config validate`: what `serve` would say of a config, without starting anything. */
import type { Config } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { McpxError } from '../errors.ts';
import type { Flags, Invocation } from './command.ts';
import { note, paint, print, printJson } from './output.ts';
import { readConfig } from './session.ts';

export async function run({ args, flags }: Invocation): Promise<number> {
  const config = await read(flags, args[0]);
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

/** Mistakes are told to programs as well, with their places. */
async function read(flags: Flags, file: string | undefined): Promise<Config> {
  try {
    return readConfig(flags, { file });
  } catch (error) {
    if (flags.has('json') && error instanceof McpxError && error.code === 'config')
      await printJson({ ok: false, mistakes: error.data ?? [{ message: error.message, hint: error.hint }] });
    throw error;
  }
}

function missingByServer({ profiles, settings }: Config): { server: string; variables: string[] }[] {
  return [...new Set(profiles.flatMap(({ servers }) => servers))]
    .filter((spec) => !spec.disabled)
    .map((spec) => ({ server: spec.name, variables: missingVariables(spec, settings.connect) }))
    .filter(({ variables }) => variables.length > 0);
}
