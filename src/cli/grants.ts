/** `mcpx grants`: lists the OAuth clients that may use the gateway. `mcpx grants --revoke <id>` ends one of these grants. */
import { environmentOf } from '../config/environment.ts';
import { grantsFile } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { createGrantFile, type Grant, type GrantFile } from '../listen/authorization-server/grant-file.ts';
import { nearest } from '../render/text.ts';
import type { Invocation } from './command.ts';
import { print, printJson, table, warn } from './output.ts';
import { status } from './status-lines.ts';

export async function run({ flags }: Invocation): Promise<number> {
  const file = createGrantFile(grantsFile(environmentOf()), warn);
  const asJson = flags.has('json');
  const id = flags.value('revoke');
  if (id !== undefined) return revoke(id, file, asJson);
  const grants = activeGrants(file);
  if (asJson) await printJson(grants.map(describe));
  else if (grants.length === 0) status.info('no OAuth client may use the gateway; they sign in on its consent page');
  else await print(table([HEADER, ...grants.map(rowOf)]));
  return 0;
}

/** Returns the grants that have not expired and whose client has got its tokens, the newest first. */
function activeGrants(file: GrantFile): Grant[] {
  const now = Date.now();
  const active = file.read().grants.filter(({ expires, pairs }) => now < expires && pairs.length > 0);
  return active.sort((a, b) => b.created - a.created);
}

async function revoke(id: string, file: GrantFile, asJson: boolean): Promise<number> {
  const all = activeGrants(file).map((grant) => grant.id);
  const ended = id === 'all' ? all : all.filter((one) => one === id);
  if (id !== 'all' && ended.length === 0) {
    const [close] = nearest(id, all);
    const hint = close === undefined ? 'mcpx grants' : `mcpx grants --revoke ${close}`;
    throw new McpxError('not_found', `there is no grant "${id}"`, { hint });
  }
  await file.change((current) => ({ ...current, grants: current.grants.filter((grant) => !ended.includes(grant.id)) }));
  if (asJson) await printJson({ revoked: ended });
  else await print(ended.length === 1 ? `revoked ${ended[0]}` : `revoked ${ended.length} grants`);
  return 0;
}

const HEADER = ['id', 'client', 'for', 'signed in with', 'profiles', 'last renewed', 'ends'];

function rowOf({ id, client, token, profiles, renewed, expires }: Grant): string[] {
  const who = token === null ? 'the password' : `token ${token}`;
  return [id, client.name || '(no name)', client.redirectHost, who, profiles.join(', '), when(renewed), when(expires)];
}

function describe({ id, client, token, profiles, resource, created, renewed, expires }: Grant) {
  const dates = { created, renewed, expires };
  const iso = Object.entries(dates).map(([name, time]) => [name, new Date(time).toISOString()]);
  return { id, client, token, profiles, resource, ...Object.fromEntries(iso) };
}

function when(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}
