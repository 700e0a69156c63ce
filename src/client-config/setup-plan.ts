/** Plans the change of one client's file: the entry for mcpx is added, and servers that mcpx has are taken out. It changes nothing. */
import { isRecord, type JsonRecord, own, sameJson } from '../config/json-data.ts';
import { type ClientFile, readClientFile } from './client-file.ts';
import type { ClientPlace } from './client-places.ts';
import type { EntryForm } from './client-row.ts';
import { type ClientId, rowOf } from './client-table.ts';
import { editText, loadEditor } from './edit-text.ts';
import { type Contents, type FoundServer, serversOfClient } from './found-servers.ts';
import type { Change } from './text-editor.ts';

/** The command that starts mcpx. It is absolute, because applications do not have the PATH of a shell. */
export interface Start {
  command: string;
  args: string[];
  /** Variables that mcpx needs to find its files. */
  env: Record<string, string>;
}

/** A client's file with its servers. */
export interface ClientState extends Contents {
  place: ClientPlace;
  source: ClientFile;
}

export async function readClient(place: ClientPlace): Promise<ClientState> {
  const source = readClientFile(place.file);
  const editor = await loadEditor(source.format);
  return { place, source, ...serversOfClient(editor.parse(source.text, place.file), place.file, place.client) };
}

/** The planned change of one file. */
export interface FileEdit {
  file: string;
  client?: ClientId;
  source: ClientFile;
  after: string;
  changes: Change[];
  /** Names of the servers that are taken out. */
  removed: string[];
}

export interface SetupOptions {
  start: Start;
  /** The servers to take out. */
  remove: readonly FoundServer[];
}

/** Returns the edit of a client's file; undefined if nothing has to change. */
export async function planSetup(state: ClientState, { start, remove }: SetupOptions): Promise<FileEdit | undefined> {
  const { source, place } = state;
  const editor = await loadEditor(source.format);
  const gone = remove.filter((server) => server.place.file === place.file);
  const entries = place.isMain ? entryChanges(state, start) : [];
  const changes = [...entries, ...removals(gone)];
  if (changes.length === 0) return undefined;
  const after = editText(editor, source.text, { file: place.file, changes });
  if (after === source.text) return undefined;
  return { file: place.file, client: place.client, source, after, changes, removed: gone.map(({ name }) => name) };
}

/** Items are removed from the end, so that the paths of earlier items stay valid. */
function removals(servers: readonly FoundServer[]): Change[] {
  return servers.map(({ place }): Change => ({ kind: 'remove', path: place.path })).reverse();
}

/** Updates an entry that starts another copy of mcpx, or adds one. */
function entryChanges({ own: entries, container, length, place, source }: ClientState, start: Start): Change[] {
  const { form, list } = rowOf(place.client);
  const wanted = entryOf(form, start);
  const [present] = entries.filter(({ path }) => path.length === container.length + 1);
  if (present !== undefined) {
    const value = updated(present.value, wanted);
    return sameJson(value, present.value) ? [] : [{ kind: 'set', path: present.path, value }];
  }
  if (length !== undefined) return [{ kind: 'set', path: [...container, length], value: { name: 'mcpx', ...wanted } }];
  if (list !== undefined && list === source.format)
    return [{ kind: 'set', path: container, value: [{ name: 'mcpx', ...wanted }] }];
  return [{ kind: 'set', path: [...container, 'mcpx'], value: wanted }];
}

/** Keeps everything that the user added to an entry, such as a profile in the arguments; only the program changes. */
function updated(present: JsonRecord, wanted: JsonRecord): JsonRecord {
  const isRemote = ['url', 'serverUrl', 'httpUrl', 'uri', 'baseUrl'].some((key) => own(present, key) !== undefined);
  if (isRemote) return present;
  const arguments_ = (value: JsonRecord) => {
    const list = Array.isArray(value.command) ? value.command.slice(1) : own(value, 'args');
    return Array.isArray(list) ? list : [];
  };
  const kept =
    arguments_(present).includes('serve') && !arguments_(wanted).some((arg) => arg !== 'serve')
      ? arguments_(present)
      : arguments_(wanted);
  const list = Array.isArray(wanted.command) ? { command: [wanted.command[0], ...kept] } : { args: kept };
  const { command: _command, cmd: _cmd, args: _args, env, ...others } = wanted;
  const environment =
    isRecord(env) && Object.keys(env).length > 0
      ? { env: { ...(isRecord(present.env) ? present.env : {}), ...env } }
      : {};
  const program = 'cmd' in wanted ? { cmd: wanted.cmd } : { command: wanted.command };
  return {
    ...others,
    ...present,
    ...program,
    ...list,
    ...environment,
    ...('alwaysLoad' in wanted && { alwaysLoad: true }),
  };
}

/** Returns the entry for mcpx in the form of a client. */
export function entryOf(form: EntryForm, { command, args, env }: Start): JsonRecord {
  const variables = Object.keys(env).length === 0 ? {} : { env };
  switch (form) {
    case 'typed':
      return { type: 'stdio', command, args, ...variables };
    case 'always-loaded':
      return { type: 'stdio', command, args, ...variables, alwaysLoad: true };
    case 'local-list':
      return { type: 'local', command: [command, ...args], enabled: true, ...(variables.env && { environment: env }) };
    case 'local-tools':
      return { type: 'local', command, args, ...variables, tools: ['*'] };
    case 'transport':
      return { transport: 'stdio', command, args, ...variables };
    case 'goose':
      return { name: 'mcpx', type: 'stdio', cmd: command, args, envs: env, enabled: true, timeout: 300 };
    case 'zed':
      return { command, args, env };
    default:
      return { command, args, ...variables };
  }
}
