/** What may be changed from afar: where servers are, but no program that runs, and no secret that would reach somebody else. */
import type { Config, RemoteServer, ServerSpec } from '../config/config.ts';
import { sameJson } from '../config/json.ts';
import { placeholdersIn } from '../config/placeholders.ts';
import { McpxError } from '../errors.ts';

type Profiles = Pick<Config, 'profiles'>;

/** Fields of a server that runs a program which may be changed all the same: they neither choose it nor feed it. */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['disabled', 'enabled', 'description', 'tools', 'resources', 'prompts'],
  ...['timeout', 'startupTimeout', 'concurrency', 'share', 'reconnect'],
]);

/** Whether a change of these fields has nothing to do with how the server is reached. */
export function isHarmless(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(fields).every((field) => HARMLESS.has(field));
}

/**
 * Throws `refused` for what only the owner of the machine may decide. Servers are compared as they would be launched, in
 * every profile: one field has many spellings, and one name may mean several servers.
 */
export function checkRemoteEdit(now: Profiles, next: Profiles): void {
  for (const profile of next.profiles) {
    const before = now.profiles.find(({ name }) => name === profile.name)?.servers ?? [];
    for (const spec of profile.servers) {
      const was = before.find(({ name }) => name === spec.name);
      if (was === undefined || !sameJson(was, spec)) checkServer(was, spec);
    }
  }
}

function checkServer(was: ServerSpec | undefined, spec: ServerSpec): void {
  if (!isRemote(spec)) throw refused(`server "${spec.name}" would run a program, and only URLs are accepted`);
  const old = was !== undefined && isRemote(was) ? was : undefined;
  // With one a variable or a file of this machine would be sent to whatever address the entry names.
  const known = new Set(placeholdersOf(old));
  if (placeholdersOf(spec).some((one) => !known.has(one)))
    throw refused(`placeholders are not accepted for server "${spec.name}"`);
  if (old === undefined || originOf(old.url) === originOf(spec.url) || !keepsSecrets(old, spec)) return;
  throw new McpxError('refused', `the credentials of server "${spec.name}" would be sent to another address`, {
    hint: 'send the "headers" of the new address with it, null for none; or remove the server and add it again',
  });
}

function isRemote(spec: ServerSpec): spec is RemoteServer {
  return 'url' in spec;
}

function placeholdersOf(spec: RemoteServer | undefined): string[] {
  return spec === undefined ? [] : placeholdersIn(JSON.stringify([spec.url, spec.headers, spec.oauth]));
}

/** Whether anything that the old address was trusted with would go to the new one. */
function keepsSecrets(old: RemoteServer, next: RemoteServer): boolean {
  const sent = new Map(Object.entries(old.headers));
  if (Object.entries(next.headers).some(([name, value]) => sent.get(name) === value)) return true;
  return placeholdersOf(next).length > 0 || (old.oauth !== undefined && next.oauth !== undefined);
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url;
}

function refused(message: string): McpxError {
  return new McpxError('refused', message, {
    hint: 'set "http": {"admin": {"commands": true}} in the config to allow it',
  });
}
