/** `mcpx setup`: connects mcpx to a client or to all of them, lists them, or takes the changes back. */
import { applyUndo, planUndo, type Restoration } from '../client-config/apply-edits.ts';
import { installedClients, installedPlaces, type Scope } from '../client-config/client-places.ts';
import { CLIENT_IDS, type ClientId, rowOf } from '../client-config/client-table.ts';
import { planImport } from '../client-config/import-plan.ts';
import { readOwnConfig } from '../client-config/own-config.ts';
import type { ClientState } from '../client-config/setup-plan.ts';
import { environmentOf } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import { agree, diffOf } from './change-preview.ts';
import { clientOf, readClients } from './client-import.ts';
import {
  clientStates,
  editsOf,
  journalHere,
  noteRestarts,
  type PlannedSetup,
  planSetups,
  setupPreview,
  startOf,
  writeSetups,
} from './client-setup.ts';
import type { Flags, Invocation } from './command.ts';
import { inLanguage } from './language/language.ts';
import { note, print, printJson, table, wrapped } from './output.ts';

export async function run(invocation: Invocation): Promise<number> {
  const { args, flags } = invocation;
  const [name] = args;
  if (name !== undefined && flags.has('all'))
    throw new McpxError('usage', 'name a client or give --all, not both', { hint: 'mcpx help setup' });
  const scope = scopeOf(flags);
  if (name === undefined && !flags.has('all')) return listClients(flags);
  if (flags.has('undo')) return undo(name === undefined ? CLIENT_IDS : [clientOf(name)], flags);
  const states = name === undefined ? await allStates(scope) : await namedStates(clientOf(name), scope);
  if (states.length === 0) {
    note('no client was found; mcpx setup lists the clients, mcpx setup <client> connects one anyway');
    return 0;
  }
  const remove = flags.has('replace') ? knownServers(states, flags) : [];
  const planned = await planSetups(states, startOf(flags), remove);
  const edits = editsOf(planned);
  if (flags.has('print')) {
    if (edits.length > 0) await print((await setupPreview(edits, true)).join('\n\n'));
    noteLeft(planned, flags);
    return 0;
  }
  if (edits.length === 0) {
    note(`${[...new Set(states.map(({ place }) => rowOf(place.client).title))].join(', ')}: connected already`);
    noteLeft(planned, flags);
    return 0;
  }
  note((await setupPreview(edits, false)).join('\n\n'));
  if (!(await agree('Make these changes?', invocation))) {
    note('nothing was changed');
    return 1;
  }
  const code = await writeSetups(edits);
  noteLeft(planned, flags);
  note(`mcpx setup ${name ?? '--all'} --undo takes this back`);
  return code;
}

function scopeOf(flags: Flags): Scope {
  const scope = flags.value('scope') ?? 'user';
  if (scope === 'user' || scope === 'project') return scope;
  throw new McpxError('usage', `there is no scope "${scope}"`, { hint: 'use --scope user or --scope project' });
}

async function allStates(scope: Scope): Promise<ClientState[]> {
  const clients = installedClients(environmentOf());
  if (scope === 'user') return readClients(clients);
  const states = await Promise.all(clients.map((client) => clientStates(client, scope)));
  // Several clients read the same file of a project.
  return states
    .flat()
    .filter(({ place }, index, all) => all.findIndex((one) => one.place.file === place.file) === index);
}

async function namedStates(client: ClientId, scope: Scope): Promise<ClientState[]> {
  const states = await clientStates(client, scope);
  if (states.length > 0) return states;
  throw new McpxError('usage', `${rowOf(client).title} has no config file for a project`, {
    hint: `mcpx setup ${client}`,
  });
}

/** Returns the servers of the clients that mcpx has too. */
function knownServers(states: readonly ClientState[], flags: Flags) {
  const world = environmentOf();
  const { servers } = readOwnConfig(flags.values('config'), world);
  const found = states.flatMap((state) => state.servers);
  return planImport(found, { present: servers, world, movesSecrets: false }).known.map(({ found: one }) => one);
}

/** Says which servers the clients still start themselves, because then mcpx saves nothing for them. */
function noteLeft(planned: readonly PlannedSetup[], flags: Flags): void {
  const hint = flags.has('replace') ? 'mcpx import adds them to mcpx' : 'mcpx init imports them and takes them out';
  for (const { state, left } of planned) {
    if (left.length === 0) continue;
    const names = [...new Set(left.map(({ name }) => name))].join(', ');
    note(`${rowOf(state.place.client).title} still starts itself: ${names}; ${hint}`);
  }
}

async function undo(clients: readonly ClientId[], flags: Flags): Promise<number> {
  const journal = journalHere();
  const plans = await planUndo(journal, clients);
  if (plans.length === 0) {
    note('there is nothing to undo: mcpx has not changed the files of these clients');
    return 0;
  }
  if (flags.has('print')) {
    await print((await Promise.all(plans.map(undoDiff))).join('\n\n'));
    return 0;
  }
  await applyUndo(plans, journal);
  for (const { client, source, bytes, isExact } of plans) {
    const how = isExact ? 'restored byte for byte' : 'was changed since, so only the entries of mcpx were taken back';
    note(`${rowOf(client).title}: ${source.file} ${bytes === undefined ? 'is deleted, as before' : how}`);
  }
  noteRestarts(plans.map(({ client }) => client));
  return 0;
}

function undoDiff({ source, bytes }: Restoration): Promise<string> {
  const { file, format, text } = source;
  return diffOf({ file, format, before: text, after: bytes === undefined ? '' : source.decode(bytes) }, true);
}

interface Row {
  client: ClientId;
  title: string;
  file?: string;
  servers: string[];
  connected: boolean;
}

/** Prints the clients with the file of each, its servers, and whether mcpx is connected. */
async function listClients(flags: Flags): Promise<number> {
  if (flags.has('undo') || flags.has('print') || flags.has('replace'))
    throw new McpxError('usage', 'name a client, or give --all', { hint: `clients: ${CLIENT_IDS.join(', ')}` });
  const rows = await Promise.all(CLIENT_IDS.map(describe));
  if (flags.has('json')) {
    await printJson(rows);
    return 0;
  }
  const found = rows.filter(({ file }) => file !== undefined);
  await print(
    table(
      found.map(({ client, file = '', servers, connected }) => [
        client,
        inLanguage(connected ? 'connected' : 'not connected'),
        inLanguage(counted(servers)),
        file,
      ]),
    ) || inLanguage('no client was found'),
  );
  const others = rows.filter(({ file }) => file === undefined).map(({ client }) => client);
  note(wrapped(inLanguage(`\nnot found: ${others.join(', ')}`), { stream: process.stderr }));
  note('mcpx setup <client> connects one, mcpx setup --all those that were found');
  return 0;
}

function counted(servers: readonly string[]): string {
  if (servers.length === 0) return 'no other servers';
  return servers.length === 1 ? '1 other server' : `${servers.length} other servers`;
}

async function describe(client: ClientId): Promise<Row> {
  const { title } = rowOf(client);
  const [main] = installedPlaces(client, environmentOf()).filter(({ isMain }) => isMain);
  if (main === undefined) return { client, title, servers: [], connected: false };
  const states = await readClients([client]);
  const servers = [...new Set(states.flatMap((state) => state.servers.map(({ name }) => name)))];
  return { client, title, file: main.file, servers, connected: states.some(({ own }) => own.length > 0) };
}
