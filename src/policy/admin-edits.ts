/** Checks configuration edits made through the API: they may change URLs, but not run a program or send a secret to another address. */
import type { Config, RemoteServer, ServerSpec } from '../config/config.ts';
import { sameJson } from '../config/json-data.ts';
import { placeholdersIn } from '../config/placeholders.ts';
import { McpxError } from '../errors.ts';

type Profiles = Pick<Config, 'profiles'>;

/**
 * Fields that may be changed even for a server that runs a program: they neither select the program nor pass input to
 * it.
 */
const HARMLESS: ReadonlySet<string> = new Set([
  ...['disabled', 'enabled', 'description', 'tools', 'resources', 'prompts'],
  ...['timeout', 'startupTimeout', 'concurrency', 'share', 'reconnect'],
]);

/** True if none of these fields affects how the server is reached. */
export function isHarmless(fields: Readonly<Record<string, unknown>>): boolean {
  return Object.keys(fields).every((field) => HARMLESS.has(field));
}

/**
 * Throws `refused` for a change that only the owner of the machine may make. Servers are compared in their resolved
 * form and in every profile, because one field has many spellings and one name may denote several servers.
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
  if (!sameJson(old?.headersHelper, spec.headersHelper))
    throw refused(`"headersHelper" of server "${spec.name}" would run a program`);
  // A new placeholder could send a variable or a file of this machine to the URL of the entry.
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

/** True if a secret that was configured for the old address would be sent to the new one. */
function keepsSecrets(old: RemoteServer, next: RemoteServer): boolean {
  const sent = new Map(Object.entries(old.headers));
  if (Object.entries(next.headers).some(([name, value]) => sent.get(name) === value)) return true;
  if (next.headersHelper !== undefined) return true;
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
