/** `mcpx export`: prints servers as `mcpServers`, to paste into a client or to import into another mcpx. */
import { exportEntry } from '../client-config/export-entry.ts';
import type { Config, ServerSpec } from '../config/config.ts';
import { environmentOf } from '../config/environment.ts';
import { nameKey } from '../config/server-names.ts';
import type { Invocation } from './command.ts';
import { entryNamed, loadScope } from './config-edit.ts';
import { note, printJson } from './output.ts';
import { status } from './status-lines.ts';

export async function run({ args, flags }: Invocation): Promise<number> {
  const config = loadScope(flags);
  const specs = args.length > 0 ? args.map((name) => entryNamed(name, config)) : enabledServers(config);
  const withSecrets = flags.has('secrets');
  const exported = specs.map((spec) => ({ spec, ...exportEntry(spec, { world: environmentOf(), withSecrets }) }));
  for (const text of exported.flatMap(({ notes }) => notes)) status.warn(text);
  const variables = [...new Set(exported.flatMap((one) => one.variables))];
  if (variables.length > 0)
    note(`secrets are placeholders: set ${variables.join(', ')} for the client, or use --secrets`);
  const masked = exported.filter(({ isMasked }) => isMasked).map(({ spec }) => `"${spec.name}"`);
  if (masked.length > 0) note(`values of ${masked.join(', ')} are masked as ***; --secrets prints them`);
  const entries = exported.flatMap(({ spec, entry }) => (entry === undefined ? [] : [[spec.name, entry] as const]));
  await printJson({ mcpServers: Object.fromEntries(entries) });
  return 0;
}

/** Returns the enabled servers of all profiles. Of two servers with one name, the first one is used. */
function enabledServers({ profiles }: Config): ServerSpec[] {
  const servers = new Map<string, ServerSpec>();
  for (const { name: profile, servers: specs } of profiles) {
    for (const spec of specs) {
      const key = nameKey(spec.name);
      const present = servers.get(key);
      if (present === spec) continue;
      if (present !== undefined) {
        status.warn(
          `server "${spec.name}" of profile "${profile}" is left out, because another profile has one of that name; use --profile ${profile}`,
        );
      } else servers.set(key, spec);
    }
  }
  return [...servers.values()].filter(({ name, disabled }) => {
    if (disabled) note(`server "${name}" is left out: it is disabled; mcpx export ${name} prints it`);
    return !disabled;
  });
}
