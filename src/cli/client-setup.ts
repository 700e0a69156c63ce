/** Connects mcpx to clients: plans the changes of their files, shows them, writes them, and says what is left to do. */
import { type Applied, applyEdits } from '../client-config/apply-edits.ts';
import { placesFor, type Scope } from '../client-config/client-places.ts';
import { type ClientId, rowOf } from '../client-config/client-table.ts';
import type { FoundServer } from '../client-config/found-servers.ts';
import type { Start } from '../client-config/own-entry.ts';
import { runningClients } from '../client-config/running-clients.ts';
import { type ClientState, type FileEdit, planSetup, readClient } from '../client-config/setup-plan.ts';
import { openJournal, type UndoJournal } from '../client-config/undo-journal.ts';
import { absolutePath, environmentOf, lookup } from '../config/environment.ts';
import { homeFolder } from '../config/paths.ts';
import { McpxError } from '../errors.ts';
import { diffOf } from './change-preview.ts';
import type { Flags } from './command.ts';
import { note, printError } from './output.ts';
import { selfCommand } from './own-command.ts';
import { status } from './status-lines.ts';

/** Returns the command that clients run. Options and variables that select another config are part of it. */
export function startOf(flags: Flags): Start {
  const world = environmentOf();
  const { command, args } = selfCommand();
  const configs = flags.values('config').flatMap((file) => ['--config', absolute(file)]);
  const moved = ['MCPX_HOME', 'MCPX_CONFIG'].flatMap((name) => {
    const value = lookup(name, world);
    return value && configs.length === 0 ? [[name, absolute(value)] as const] : [];
  });
  return { command, args: [...args, 'serve', ...configs], env: Object.fromEntries(moved) };
}

function absolute(file: string): string {
  const world = environmentOf();
  return absolutePath(file, world.cwd, world);
}

/** Reads the files of one client in a scope; a file that does not exist yet counts as empty. */
export async function clientStates(client: ClientId, scope: Scope): Promise<ClientState[]> {
  const places = placesFor(client, scope, environmentOf());
  return Promise.all(places.map(readClient));
}

export interface PlannedSetup {
  state: ClientState;
  edit: FileEdit | undefined;
  /** Servers that the client still starts itself. */
  left: FoundServer[];
}

/** Plans the files of clients. A file that cannot be edited is reported, and the others are planned. */
export async function planSetups(
  states: readonly ClientState[],
  start: Start,
  remove: readonly FoundServer[],
): Promise<PlannedSetup[]> {
  const planned: PlannedSetup[] = [];
  for (const state of states) {
    try {
      const edit = await planSetup(state, { start, remove });
      planned.push({ state, edit, left: state.servers.filter((server) => !remove.includes(server)) });
    } catch (error) {
      if (!(error instanceof McpxError)) throw error;
      status.warn(`${rowOf(state.place.client).title} is left out: ${error.message}`);
    }
  }
  return planned;
}

export function editsOf(planned: readonly PlannedSetup[]): FileEdit[] {
  return planned.flatMap(({ edit }) => edit ?? []);
}

export async function setupPreview(edits: readonly FileEdit[], isAnswer: boolean): Promise<string[]> {
  return Promise.all(
    edits.map(({ file, source, after }) =>
      diffOf({ file, format: source.format, before: source.text, after }, isAnswer),
    ),
  );
}

export function journalHere(): UndoJournal {
  return openJournal(homeFolder(environmentOf()));
}

/** Writes the edits and reports each one. Returns the exit code. */
export async function writeSetups(edits: readonly FileEdit[]): Promise<number> {
  const applied = await applyEdits(edits, journalHere());
  for (const one of applied) report(one);
  const done = applied.filter(({ error }) => error === undefined);
  noteRestarts(done.flatMap(({ edit }) => edit.client ?? []));
  return done.length === applied.length ? 0 : 1;
}

function report({ edit, backup, error }: Applied): void {
  if (error !== undefined) {
    printError(error);
    return;
  }
  const title = edit.client === undefined ? '' : `${rowOf(edit.client).title}: `;
  const isConnected = edit.changes.some(({ kind }) => kind === 'set');
  const removed = edit.removed.length === 0 ? '' : `; taken out: ${edit.removed.join(', ')}`;
  note(`${title}${isConnected ? 'connected in' : 'changed'} ${edit.file}${removed}`);
  if (backup !== undefined) note(`  backup: ${backup}`);
}

/** Names the clients that run now and read their config only when they start. */
export function noteRestarts(clients: readonly ClientId[]): void {
  const running = runningClients([...new Set(clients)]);
  const named = (reload: 'restart' | 'session') =>
    running.filter((client) => rowOf(client).reload === reload).map((client) => rowOf(client).title);
  const [restart, session] = [named('restart'), named('session')];
  if (restart.length > 0) note(`running now, restart to apply: ${restart.join(', ')}`);
  if (session.length > 0) note(`running now, applies to new sessions: ${session.join(', ')}`);
}
