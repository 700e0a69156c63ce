/** Edits one server in the text of a config file, and keeps comments, order and indentation. */
import { readFileSync } from 'node:fs';
import { findNodeAtLocation, getNodePath, type JSONPath, parseTree } from 'jsonc-parser';
import { McpxError } from '../errors.ts';
import { writeFileAtomic } from '../files.ts';
import type { Config, ServerSpec } from './config.ts';
import { type JsonRecord, sameJson } from './json-data.ts';
import { encodedLike, readSource } from './jsonc-file.ts';
import { removeAt } from './remove.ts';
import { nameKey } from './server-names.ts';
import { setValue } from './set-value.ts';

export type ServerEdit =
  | { kind: 'add'; name: string; entry: JsonRecord }
  /** Each field replaces the one of the entry; null removes it. */
  | { kind: 'change'; name: string; fields: JsonRecord }
  | { kind: 'remove'; name: string };

/** The text of a file before and after an edit. */
export interface Edited {
  file: string;
  before: string;
  after: string;
}

/** Returns the edited text and writes nothing. Throws `not_found` for an unknown server, `usage` for an existing or ambiguous one. */
export function editServer(config: Pick<Config, 'files' | 'profiles'>, edit: ServerEdit): Edited {
  const places = placesOf(config, edit.name);
  if (edit.kind === 'add') return addServer(config, edit, places);
  const spec = onlyOne(places, edit.name);
  const { file, path } = spec.place;
  const before = readSource(file).text;
  if (edit.kind === 'remove') return { file, before, after: unlist(removeAt(before, path), spec) };
  const after = Object.entries(edit.fields).reduce(
    (text, [key, value]) => (value === null ? removeAt(text, [...path, key]) : setValue(text, [...path, key], value)),
    before,
  );
  return { file, before, after };
}

/** Removes the name of a server from the `servers` lists of profiles, where an unknown name would be an error. */
function unlist(text: string, { name, place }: ServerSpec): string {
  if (isOwn(place.path)) return text;
  const root = parseTree(text, [], { allowTrailingComma: true });
  const profiles = root && findNodeAtLocation(root, ['profiles']);
  const listed = (profiles?.children ?? []).flatMap((profile) => {
    const list = profile.children?.[1] && findNodeAtLocation(profile.children[1], ['servers']);
    const items = list?.type === 'array' ? (list.children ?? []) : [];
    return items.filter(({ value }) => typeof value === 'string' && nameKey(value) === nameKey(name));
  });
  // Items are removed from the end, so that the paths of earlier items stay valid.
  return listed.reverse().reduce((rest, item) => removeAt(rest, getNodePath(item)), text);
}

/** True if an entry belongs to one profile. */
export function isOwn(path: JSONPath): boolean {
  return path[0] === 'profiles' || path[0] === 'schemas';
}

/** Writes the new text and keeps the old one as `<file>.bak`. Throws `conflict` if the file has changed in the meantime. */
export function writeEdit({ file, before, after }: Edited): void {
  if (readSource(file).text !== before) {
    throw changedMeanwhile(file);
  }
  const bytes = readFileSync(file);
  writeFileAtomic(`${file}.bak`, bytes);
  writeFileAtomic(file, encodedLike(bytes, after));
}

export function changedMeanwhile(file: string, cause?: unknown): McpxError {
  return new McpxError('conflict', `"${file}" was changed by another program just now`, { hint: 'try again', cause });
}

function placesOf({ profiles }: Pick<Config, 'profiles'>, name: string): ServerSpec[] {
  const all = profiles.flatMap(({ servers }) => servers).filter((spec) => nameKey(spec.name) === nameKey(name));
  // An entry occurs once in every profile that uses it.
  return all.filter((spec, index) => all.findIndex((other) => sameJson(other.place, spec.place)) === index);
}

function onlyOne(places: ServerSpec[], name: string): ServerSpec {
  const shared = places.filter(({ place }) => !isOwn(place.path));
  const [spec, ...more] = shared.length > 0 ? shared : places;
  if (spec === undefined) throw new McpxError('not_found', `no server is called "${name}"`);
  if (more.length === 0) return spec;
  const written = [spec, ...more].map(({ place }) => place.path.join('.')).join(', ');
  throw new McpxError('usage', `server "${name}" is in several places: ${written}`, { hint: 'edit the file' });
}

function addServer(
  { files, profiles }: Pick<Config, 'files' | 'profiles'>,
  { name, entry }: Extract<ServerEdit, { kind: 'add' }>,
  places: ServerSpec[],
): Edited {
  if (places.length > 0) throw new McpxError('usage', `there is a server "${name}" already`);
  const file = files.at(-1);
  if (file === undefined)
    throw new McpxError('usage', 'there is no config file to write to', { hint: 'mcpx config path' });
  const before = readSource(file).text;
  return { file, before, after: insertServer(before, containerOf(profiles, file), { name, entry }) };
}

/** Returns the text with a new entry at the end of the map or list of servers. */
export function insertServer(
  text: string,
  container: JSONPath,
  { name, entry }: Pick<Extract<ServerEdit, { kind: 'add' }>, 'name' | 'entry'>,
): string {
  const node = findNodeAtLocation(parseTree(text, [], { allowTrailingComma: true }) ?? EMPTY, container);
  if (node?.type !== 'array') return setValue(text, [...container, name], entry);
  const items = node.children ?? [];
  const key = items.some((item) => findNodeAtLocation(item, ['id']) !== undefined) ? 'id' : 'name';
  return setValue(text, [...container, items.length], { [key]: name, ...entry });
}

const EMPTY = { type: 'object', offset: 0, length: 0 } as const;

/** Returns the path under which the file keeps its servers, which depends on its shape. */
export function containerOf(profiles: Config['profiles'], file: string): JSONPath {
  const specs = profiles.flatMap(({ servers }) => servers).filter(({ place }) => place.file === file);
  const path = specs.find(({ place }) => !isOwn(place.path))?.place.path;
  return path === undefined ? ['mcpServers'] : path.slice(0, -1);
}
