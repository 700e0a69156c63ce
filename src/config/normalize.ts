/** Converts one file of any accepted shape to the canonical form. The old name `schemas` for `profiles` is handled only here. */
import type { Place } from './config.ts';
import { type Diagnostics, placeText } from './diagnostics.ts';
import type { Environment } from './environment.ts';
import { DOCUMENT } from './fields.ts';
import { DROPPED_KEYS, RENAMED_KEYS } from './foreign-settings.ts';
import {
  inside,
  isNote,
  isNoteEntry,
  isRecord,
  type JsonRecord,
  kindOf,
  own,
  type Path,
  quoted,
  sameJson,
} from './json-data.ts';
import type { Source } from './jsonc-file.ts';
import { didYouMean } from './nearest.ts';
import { type ProfileDraft, readProfiles } from './profiles.ts';
import { type Entry, entryKey, readServer } from './server.ts';
import type { Dialect, Written } from './server-fields.ts';
import { nameKey } from './server-names.ts';
import { type PartialSettings, readSettings } from './settings.ts';
import { type Container, type Found, findServers, looksLikeServer, projectServers, SHAPE_KEYS } from './shapes.ts';

/** The content of one file, before files are merged. The keys of the maps are lower-case names. */
export interface Draft {
  entries: Map<string, Entry>;
  profiles: Map<string, { draft: ProfileDraft; entries: Map<string, Entry> }>;
  /** Settings that the shape of the file implies. */
  defaults: JsonRecord;
  settings: PartialSettings;
}

export interface NormalizeContext {
  findings: Diagnostics;
  world: Environment;
}

export function normalize(source: Source, { findings, world }: NormalizeContext): Draft {
  const document = documentOf(source, findings);
  const found = findServers(document);
  const isBare = found.containers.some(({ path }) => path.length === 0);
  const reader = createReader(source, found, findings);
  const entries = reader.entries(found.containers);
  const profiles = isBare ? new Map() : reader.profiles(document);
  const settings = isBare ? {} : readSettings(document, { file: source.file, findings, world });
  if (!isBare) {
    tellUnknown(document, found, source, findings);
    tellProjects(document, source, findings);
  }
  tellDuplicates(source, reader.maps, findings);
  return { entries, profiles, defaults: found.defaults, settings };
}

function documentOf(source: Source, findings: Diagnostics): JsonRecord {
  const { file, value } = source;
  const place = { file, path: [] };
  if (!isRecord(value)) {
    const hint = 'write {"mcpServers": {…}}';
    findings.error({ message: `a config must be an object, not ${kindOf(value)}`, place, hint });
    return {};
  }
  if (looksLikeServer(value) && Object.keys(value).every((key) => !Object.hasOwn(DOCUMENT, key))) {
    const hint = 'write {"mcpServers": {"some-name": {…}}}';
    findings.error({ message: 'this is one server without a name', place, hint });
    return {};
  }
  return value;
}

interface Reader {
  /** Paths of the objects whose keys are names; a duplicate key in one of them is an error. */
  maps: Path[];
  entries(containers: Container[]): Map<string, Entry>;
  profiles(document: JsonRecord): Draft['profiles'];
}

function createReader(source: Source, found: Pick<Found, 'excludes'>, findings: Diagnostics): Reader {
  const maps: Path[] = [];
  const readAll = ({ path, value, dialect }: Container): Entry[] => {
    maps.push(path);
    const place = { file: source.file, path };
    return writtenIn(value, place, findings).flatMap((written) => {
      const entry = readServer(written, dialect, findings);
      if (entry?.kind !== 'server' || !found.excludes(written.name)) return entry ?? [];
      return [{ ...entry, spec: { ...entry.spec, disabled: true } }];
    });
  };
  const entries = (containers: Container[]) => unique(containers.flatMap(readAll), source, findings);
  return {
    maps,
    entries,
    profiles(document) {
      const drafts = ['profiles', 'schemas'].flatMap((key) => {
        maps.push([key]);
        return readProfiles(own(document, key), { file: source.file, path: [key] }, findings);
      });
      for (const draft of drafts) tellNamesake(draft, drafts, source, findings);
      return new Map(drafts.map((draft) => [nameKey(draft.name), { draft, entries: entries(ownContainer(draft)) }]));
    },
  };
}

function tellNamesake(draft: ProfileDraft, all: ProfileDraft[], source: Source, findings: Diagnostics): void {
  const first = all.find(({ name }) => nameKey(name) === nameKey(draft.name));
  if (first === undefined || first === draft) return;
  const message = `profile "${draft.name}" is defined twice: first at ${placeText(first.place, source)}`;
  findings.error({ message, place: draft.place, part: 'key', hint: 'rename one of them, or remove it' });
}

function ownContainer({ mcpServers, place }: ProfileDraft): Container[] {
  const dialect: Dialect = {};
  return mcpServers === undefined ? [] : [{ path: inside(place, 'mcpServers').path, value: mcpServers, dialect }];
}

/** Returns the entries of a map with their keys as names, or of a list with their `name` or `id`. */
function writtenIn(value: unknown, at: Place, findings: Diagnostics): Written[] {
  if (isRecord(value)) {
    const named = Object.entries(value).filter(([name, entry]) => !isNoteEntry(name, entry));
    return named.map(([name, entry]) => ({ name, value: entry, place: inside(at, name) }));
  }
  if (!Array.isArray(value)) {
    findings.error({ message: `"${at.path.join('.')}" must be an object of servers, not ${kindOf(value)}`, place: at });
    return [];
  }
  return value.flatMap((entry, index) => {
    const place = inside(at, index);
    const name = isRecord(entry) ? (own(entry, 'name') ?? own(entry, 'id')) : undefined;
    if (typeof name === 'string' && name !== '') return [{ name, value: entry, place }];
    findings.error({ message: 'a server in a list needs a "name"', place, hint: 'add "name": "…"' });
    return [];
  });
}

/** Merges entries with the same name if they are identical; otherwise reports an error that names both places. */
function unique(entries: Entry[], source: Source, findings: Diagnostics): Map<string, Entry> {
  const byName = new Map<string, Entry>();
  for (const entry of entries) {
    const earlier = byName.get(entryKey(entry));
    if (earlier === undefined) byName.set(entryKey(entry), entry);
    else if (!sameJson(contentOf(earlier), contentOf(entry))) {
      const first = placeText(placeOf(earlier), source);
      const message = `server "${nameOf(entry)}" is defined twice with different values: first at ${first}`;
      findings.error({ message, place: placeOf(entry), part: 'key', hint: 'rename one of them, or remove it' });
    }
  }
  return byName;
}

function contentOf(entry: Entry): unknown {
  if (entry.kind === 'off') return 'off';
  const { name: _name, title: _title, place: _place, ...content } = entry.spec;
  return content;
}

function placeOf(entry: Entry): Place {
  return entry.kind === 'off' ? entry.place : entry.spec.place;
}

function nameOf(entry: Entry): string {
  return entry.kind === 'off' ? entry.name : (entry.spec.title ?? entry.spec.name);
}

function tellDuplicates(source: Source, maps: Path[], findings: Diagnostics): void {
  for (const { path, first, second } of source.duplicates) {
    const place = { file: source.file, path };
    const where = placeText(place, source, first);
    const name = JSON.stringify(path.at(-1));
    if (maps.some((map) => sameJson(map, path.slice(0, -1)))) {
      const message = `${name} is defined twice with different values: first at ${where}`;
      findings.error({ message, place, position: second, hint: 'rename one of them, or remove it' });
    } else {
      findings.warn({
        message: `${name} is written twice: the last one counts, not the one at ${where}`,
        place,
        position: second,
      });
    }
  }
}

const KNOWN = [...Object.keys(DOCUMENT), ...SHAPE_KEYS, ...RENAMED_KEYS, ...DROPPED_KEYS];

/** Reports unknown keys. Those without a similar known key share one message, because a client's settings file may hold dozens. */
function tellUnknown(document: JsonRecord, found: Found, { file }: Source, findings: Diagnostics): void {
  const isTold = (key: string) => key === 'projects' && projectServers(document).length > 0;
  const top = Object.keys(document).filter((key) => !KNOWN.includes(key) && !isNote(key) && !isTold(key));
  const paths: Path[] = [...top.map((key) => [key]), ...found.unknown];
  const strange = paths.filter((path) => didYouMean(String(path.at(-1)), Object.keys(DOCUMENT)) === undefined);
  const together = strange.length > 3 ? strange : [];
  for (const path of paths) {
    if (together.includes(path)) continue;
    const key = String(path.at(-1));
    const message = `unknown key "${path.join('.')}"`;
    findings.unknown({ message, place: { file, path }, part: 'key', hint: didYouMean(key, Object.keys(DOCUMENT)) });
  }
  const [first] = together;
  if (first === undefined) return;
  const names = together.map((path) => `"${path.join('.')}"`).join(', ');
  findings.unknown({ message: `unknown keys ${names}`, place: { file, path: first }, part: 'key' });
}

/** Warns that servers of project scope are not loaded, and names them. */
function tellProjects(document: JsonRecord, { file }: Source, findings: Diagnostics): void {
  for (const { project, path, names } of projectServers(document)) {
    const message = `servers of the project "${project}" are not loaded: ${quoted(names).join(', ')}`;
    const hint = 'copy those that you want into the "mcpServers" at the top of the file';
    findings.unknown({ message, place: { file, path }, part: 'key', hint });
  }
}
