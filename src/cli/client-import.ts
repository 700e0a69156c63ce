/** Reads the files of clients, plans what an import adds to the config of mcpx, shows it and writes it. */
import { type ClientPlace, installedPlaces } from '../client-config/client-places.ts';
import { CLIENT_IDS, type ClientId, clientNamed, rowOf } from '../client-config/client-table.ts';
import type { FoundServer } from '../client-config/found-servers.ts';
import { type ImportPlan, planImport } from '../client-config/import-plan.ts';
import {
  type OwnConfig,
  readOwnConfig,
  withServers,
  writeOwnConfig,
  writeSecrets,
} from '../client-config/own-config.ts';
import { type ClientState, readClient } from '../client-config/setup-plan.ts';
import { environmentOf } from '../config/environment.ts';
import { nearest } from '../config/nearest.ts';
import { secretsFile } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { diffOf } from './change-preview.ts';
import type { Flags } from './command.ts';
import { note } from './output.ts';
import { status } from './status-lines.ts';

export interface PlannedImport {
  config: OwnConfig;
  plan: ImportPlan;
  after: string;
}

/** Throws `usage` with the nearest name for an unknown client. */
export function clientOf(name: string): ClientId {
  const client = clientNamed(name);
  if (client !== undefined) return client;
  const begun = CLIENT_IDS.filter((id) => id.startsWith(`${name.toLowerCase()}-`));
  const close = begun.length > 0 ? begun.join('" or "') : nearest(name.toLowerCase(), CLIENT_IDS);
  const hint = close === undefined ? 'mcpx setup lists the clients' : `did you mean "${close}"?`;
  throw new McpxError('usage', `there is no client "${name}"`, { hint });
}

/** A file of a client that cannot be read. */
export interface UnreadFile {
  place: ClientPlace;
  error: McpxError;
}

/** Reads every file of the clients. A file that cannot be read is reported, and the others are used. */
export async function readClients(clients: readonly ClientId[]): Promise<ClientState[]> {
  const { states, unread } = await readClientFiles(clients);
  for (const { place, error } of unread) status.warn(`${rowOf(place.client).title} is left out: ${error.message}`);
  return states;
}

/** Reads every file of the clients, and returns the files that cannot be read with their errors. */
export async function readClientFiles(
  clients: readonly ClientId[],
): Promise<{ states: ClientState[]; unread: UnreadFile[] }> {
  const places = clients.flatMap((client) => installedPlaces(client, environmentOf()));
  const states: ClientState[] = [];
  const unread: UnreadFile[] = [];
  for (const place of places) {
    try {
      states.push(await readClient(place));
    } catch (error) {
      if (!(error instanceof McpxError)) throw error;
      unread.push({ place, error });
    }
  }
  return { states, unread };
}

/** Plans the import into the config that the options name. */
export function importPlan(found: readonly FoundServer[], flags: Flags, movesSecrets: boolean): PlannedImport {
  const world = environmentOf();
  const config = readOwnConfig(flags.values('config'), world);
  const plan = planImport(found, { present: config.servers, world, movesSecrets });
  const { after, warnings } = withServers(config, plan.additions, world);
  plan.notes.push(...warnings.filter((warning) => !plan.notes.includes(warning)));
  return { config, plan, after };
}

/** Returns the diff of the config, and says which secrets move. */
export async function importPreview({ config, plan, after }: PlannedImport, isAnswer: boolean): Promise<string[]> {
  const changes =
    plan.additions.length === 0 ? [] : [{ file: config.file, format: 'json' as const, before: config.text, after }];
  const diffs = await Promise.all(changes.map((change) => diffOf(change, isAnswer)));
  const names = [...new Set(plan.secrets.map(({ variable }) => variable))];
  return names.length === 0
    ? diffs
    : [...diffs, `${secretsFile(environmentOf())}\n${names.map((name) => `+${name}=***`).join('\n')}`];
}

/** Prints what is renamed, not carried over, or left in the clients. */
export function noteImport({ plan }: PlannedImport, states: readonly ClientState[]): void {
  for (const text of [...new Set(plan.notes)]) status.warn(text);
  for (const { place, skipped } of states) {
    for (const { name, reason } of skipped) status.warn(`"${name}" stays in ${rowOf(place.client).title}: ${reason}`);
  }
  if (plan.literal.length > 0 && plan.secrets.length === 0) {
    const names = plan.literal.map((name) => `"${name}"`).join(', ');
    note(
      `literal secrets are copied as they are (${names}); --move-secrets puts them into ${secretsFile(environmentOf())}`,
    );
  }
}

/** Writes the secrets first, because the config refers to them. */
export async function writeImport({ config, plan, after }: PlannedImport): Promise<void> {
  const world = environmentOf();
  await writeSecrets(plan.secrets, world);
  await writeOwnConfig(config, after, world);
  const count = plan.additions.length;
  if (count > 0) note(`imported ${count} ${count === 1 ? 'server' : 'servers'} into ${config.file}`);
}
