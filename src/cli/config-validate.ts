/** `mcpx config validate`: reports errors and warnings of a config, and an audit log that cannot be written. With --check it also starts and lists every server once. */
import type { App } from '../app/app.ts';
import { unansweredLists } from '../catalog/list-requests.ts';
import type { Config } from '../config/config.ts';
import { missingVariables } from '../config/env.ts';
import { EXIT_CODES, McpxError } from '../errors.ts';
import { checkAuditFile } from '../observe/audit.ts';
import type { ServerView } from '../router/router.ts';
import type { Flags, Invocation } from './command.ts';
import { longestOf, readConfig, withAppOf } from './command-app.ts';
import { inLanguage } from './language/language.ts';
import { print, printJson, table } from './output.ts';
import { whileWaiting } from './progress.ts';
import { whyUnreachable } from './reachable-servers.ts';
import { status } from './status-lines.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const config = await read(flags, args[0]);
  if (config.files.length === 0)
    throw new McpxError('config', 'there is no config file yet', { hint: 'mcpx serve creates one' });
  const servers = config.profiles.flatMap((profile) => profile.servers);
  const missing = missingByServer(config);
  for (const { server, variables } of missing) {
    status.warn(`server "${server}" will not start: set ${variables.join(', ')}`);
  }
  const checked = flags.has('check') ? await check(config, invocation) : undefined;
  const ok = checked?.every((one) => one.ok) ?? true;
  const { files, warnings } = config;
  if (flags.has('json')) {
    await printJson({ ok, files, servers: servers.length, warnings, missing, ...(checked && { checked }) });
    return ok ? 0 : EXIT_CODES.unreachable;
  }
  const count = new Set(servers).size;
  const counted = inLanguage(count === 1 ? '1 server' : `${count} servers`);
  await print(`${files.join(', ')}: ${ok ? inLanguage('ok, ') : ''}${counted}`);
  if (checked && checked.length > 0) await print(table(checked.map(row)));
  return ok ? 0 : EXIT_CODES.unreachable;
}

interface Checked {
  profile: string;
  server: string;
  ok: boolean;
  tools: number;
  /** The reason for a failed listing, or the lists that the server did not answer. */
  reason?: string;
}

/** Starts every server of every enabled profile and stores their catalogs for the next client. */
function check(config: Config, invocation: Invocation): Promise<Checked[]> {
  const work = async (app: App) => {
    const profiles = config.profiles.filter(({ enabled }) => enabled);
    const lists = profiles.map(({ name, servers }) =>
      app.listed(name, longestOf(servers, config.settings.connect), 'all'),
    );
    await whileWaiting('starting the servers', Promise.all(lists), invocation.stop);
    return profiles.flatMap(({ name }) =>
      app
        .router(name)
        .servers()
        .map((view) => describe(name, view)),
    );
  };
  return withAppOf(config, invocation, work, 'live');
}

function describe(profile: string, view: ServerView): Checked {
  const { name: server, entry, tools } = view;
  const ok = entry.listing.kind === 'listed';
  const reason = ok ? unansweredLists(entry.offer).join('; ') : whyUnreachable(view);
  return { profile, server, ok, tools: tools.length, ...(reason !== '' && { reason }) };
}

function row({ server, ok, tools, reason = '' }: Checked): string[] {
  return [
    server,
    inLanguage(ok ? (tools === 1 ? '1 tool' : `${tools} tools`) : 'not available'),
    inLanguage(reason.split('\n')[0] ?? ''),
  ];
}

/** Loads the config. With --json, errors are printed as JSON with their places. */
async function read(flags: Flags, file: string | undefined): Promise<Config> {
  try {
    const config = readConfig(flags, { file });
    const { audit } = config.settings;
    if (audit.file !== null) checkAuditFile(audit.file);
    return config;
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
