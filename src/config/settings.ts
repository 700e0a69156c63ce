/** Everything in a file but servers and profiles: our own sections, and the settings that other shapes spell differently. */
import { messageOf } from '../errors.ts';
import type { Filter, Place, Settings, Token } from './config.ts';
import { expandText } from './expander.ts';
import { type Field, SETTINGS } from './fields.ts';
import type { Findings } from './findings.ts';
import { inside, isRecord, type JsonRecord, own, type Path } from './json.ts';
import { readField, readFields } from './read.ts';
import { absolutePath, pathsOf, type World } from './world.ts';

/** Settings as far as they are written; sections merge, lists and values replace. */
export type PartialSettings = {
  [S in keyof Settings]?: Settings[S] extends JsonRecord ? Partial<Settings[S]> : Settings[S];
};

/** A setting under a foreign name. */
interface Renamed {
  path: Path;
  to: readonly [section: string, key: string];
  field: Field;
  /** A bare number is seconds. */
  seconds?: true;
  convert?: (value: unknown) => unknown;
}

const BOOLEAN: Field = { kind: 'boolean' };
const COUNT: Field = { kind: 'integer', min: 0 };

const RENAMED: readonly Renamed[] = [
  {
    path: ['schema_compression_enabled'],
    to: ['compression', 'schema'],
    field: BOOLEAN,
    convert: (on) => (on === true ? 'typescript' : 'json'),
  },
  {
    path: ['toon_compression_enabled'],
    to: ['compression', 'toon'],
    field: BOOLEAN,
    convert: (on) => (on === true ? 'auto' : 'off'),
  },
  { path: ['toon_compression_min_size'], to: ['compression', 'toonMinSize'], field: COUNT },
  { path: ['max_description_len'], to: ['compression', 'maxDescription'], field: COUNT },
  { path: ['health_check_enabled'], to: ['health', 'enabled'], field: BOOLEAN },
  { path: ['health_check_interval'], to: ['health', 'interval'], field: { kind: 'duration', min: 1 }, seconds: true },
  { path: ['health_check_failure_threshold'], to: ['health', 'failures'], field: { kind: 'integer', min: 1 } },
  { path: ['server', 'host'], to: ['http', 'host'], field: { kind: 'string' } },
  { path: ['server', 'port'], to: ['http', 'port'], field: { kind: 'integer', min: 0, max: 65535 } },
  {
    path: ['mcp', 'resolutionStrategy'],
    to: ['naming', 'onConflict'],
    field: { kind: 'enum', values: ['first-wins', 'last-wins', 'error'] },
  },
];

/** Top-level keys of other shapes that hold settings. */
export const RENAMED_KEYS: readonly string[] = [...new Set(RENAMED.map(({ path }) => String(path[0])))];

/** Parts of other shapes that have no counterpart, with where to write it instead. */
const NOT_CARRIED: readonly { path: Path; instead: string }[] = [
  { path: ['server', 'cors'], instead: '"http": {"cors": {"origins": ["https://…"]}}' },
  { path: ['logging'], instead: '"log": {"level": "info"}' },
  { path: ['cli'], instead: '"mcpServers": {"…": {"timeout": "30s"}}' },
];

export const DROPPED_KEYS: readonly string[] = NOT_CARRIED.filter(({ path }) => path.length === 1).map(({ path }) =>
  String(path[0]),
);

export interface SettingsContext {
  file: string;
  findings: Findings;
  world: World;
}

/** What the document says; a name of ours wins over a foreign one. */
export function readSettings(document: JsonRecord, { file, findings, world }: SettingsContext): PartialSettings {
  const root: Place = { file, path: [] };
  const settings = readRenamed(document, root, findings);
  for (const [section, value] of Object.entries(readFields(SETTINGS, document, root, findings))) {
    const before = own(settings, section);
    settings[section] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
  }
  for (const { path, instead } of NOT_CARRIED) {
    if (valueAt(document, path) === undefined) continue;
    const message = `"${path.join('.')}" is not carried over`;
    findings.warn({ message, place: inside(root, ...path), part: 'key', hint: `write ${instead}` });
  }
  // Every value was read by the table, which is typed by Settings.
  const read = settings as PartialSettings;
  return { ...read, ...completeHttp(read.http, root), ...filesOf(read, { file, findings, world }) };
}

function readRenamed(document: JsonRecord, root: Place, findings: Findings): JsonRecord {
  const settings: JsonRecord = {};
  for (const { path, to, field, seconds, convert } of RENAMED) {
    const written = valueAt(document, path);
    if (written === undefined) continue;
    const value = readField(
      field,
      seconds && typeof written === 'number' ? written * 1000 : written,
      inside(root, ...path),
      findings,
    );
    const section = own(settings, to[0]);
    if (value !== undefined)
      settings[to[0]] = { ...(isRecord(section) ? section : {}), [to[1]]: convert?.(value) ?? value };
  }
  return settings;
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((inner, key) => (isRecord(inner) ? own(inner, String(key)) : undefined), value);
}

/** Tokens get the fields that they left out. */
function completeHttp(http: PartialSettings['http'], root: Place): Pick<PartialSettings, 'http'> {
  if (http?.auth === undefined) return {};
  const tokens: (Partial<Token> & Pick<Token, 'name' | 'token'>)[] = http.auth.tokens ?? [];
  const none: Filter = {};
  const complete = tokens.map((token, index) => ({
    tools: none,
    resources: none,
    prompts: none,
    admin: false,
    ...token,
    place: inside(root, 'http', 'auth', 'tokens', index),
  }));
  return { http: { ...http, auth: { tokens: complete } } };
}

/** The paths of logs are settled here, where the folder of the file is known. */
function filesOf(settings: PartialSettings, context: SettingsContext): PartialSettings {
  const { log, audit } = settings;
  return {
    ...(typeof log?.file === 'string' ? { log: { ...log, file: settlePath(log.file, 'log', context) } } : {}),
    ...(typeof audit?.file === 'string' ? { audit: { ...audit, file: settlePath(audit.file, 'audit', context) } } : {}),
  };
}

function settlePath(written: string, section: string, { file, findings, world }: SettingsContext): string {
  const folder = pathsOf(world).dirname(file);
  try {
    return absolutePath(expandText(written, { subject: `"${section}.file"`, folder, world }), folder, world);
  } catch (error) {
    findings.error({ message: messageOf(error), place: { file, path: [section, 'file'] } });
    return written;
  }
}
