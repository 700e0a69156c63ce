/** Plans the change of one client's file: the entry for mcpx is added, and servers that mcpx has are taken out. It changes nothing. */
import { sameJson } from '../config/json-data.ts';
import { type ClientFile, readClientFile } from './client-file.ts';
import type { ClientPlace } from './client-places.ts';
import { type ClientId, rowOf } from './client-table.ts';
import { editText, loadEditor } from './edit-text.ts';
import { type Contents, type FoundServer, serversOfClient } from './found-servers.ts';
import { entryOf, type Start, updatedEntry } from './own-entry.ts';
import type { Change } from './text-editor.ts';

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
    const value = updatedEntry(present.value, wanted);
    return sameJson(value, present.value) ? [] : [{ kind: 'set', path: present.path, value }];
  }
  if (length !== undefined) return [{ kind: 'set', path: [...container, length], value: { name: 'mcpx', ...wanted } }];
  if (list !== undefined && list === source.format)
    return [{ kind: 'set', path: container, value: [{ name: 'mcpx', ...wanted }] }];
  return [{ kind: 'set', path: [...container, 'mcpx'], value: wanted }];
}
