/** Converts a `Config` to the equivalent canonical file for `config show`, with secrets masked. */
import { type Config, type Filter, type Profile, SERVER_DEFAULTS, type ServerSpec } from './config.ts';
import type { Field } from './field-kinds.ts';
import { SERVER, SETTINGS } from './fields.ts';
import { isRecord, type JsonRecord, own, sameJson } from './json-data.ts';
import { isCredentialName, maskArgs, maskText, maskValue } from './redact.ts';
import { formatDuration, formatSize } from './units.ts';

export function describeConfig(config: Pick<Config, 'settings' | 'profiles'>): JsonRecord {
  const shared = new Set(config.profiles.flatMap(({ servers }) => servers.filter((spec) => !belongsToProfile(spec))));
  const settings = Object.entries(SETTINGS).map(([key, field]) => [
    key,
    written(field, own({ ...config.settings }, key)),
  ]);
  return {
    mcpServers: byName([...shared]),
    profiles: Object.fromEntries(config.profiles.map((profile) => [profile.name, describeProfile(profile, shared)])),
    ...Object.fromEntries(settings),
  };
}

/** True if the place is inside a profile, such as `["profiles", "work", "mcpServers", "jira"]`, or in the older shape. */
function belongsToProfile({ place }: ServerSpec): boolean {
  return place.path.length === 4 && place.path[2] === 'mcpServers';
}

function byName(servers: ServerSpec[]): JsonRecord {
  return Object.fromEntries(servers.map((spec) => [spec.title ?? spec.name, describeServer(spec)]));
}

function describeProfile({ enabled, servers, front, ...filters }: Profile, all: ReadonlySet<ServerSpec>): JsonRecord {
  const ownServers = servers.filter(belongsToProfile);
  const chosen = servers.filter((spec) => all.has(spec));
  return {
    ...(enabled ? {} : { enabled }),
    servers: chosen.length === all.size ? ['*'] : chosen.map(({ name }) => name),
    ...(ownServers.length === 0 ? {} : { mcpServers: byName(ownServers) }),
    ...(front === undefined ? {} : { front }),
    ...filtersOf(filters),
  };
}

/** Returns one entry of `mcpServers` without fields that have their default value, with secrets masked. */
export function describeServer(spec: ServerSpec): JsonRecord {
  return serverEntry(redactSpec(spec));
}

/** Like `describeServer`, with secrets as they are, to be written into a config file. */
export function serverEntry(spec: ServerSpec): JsonRecord {
  const { name: _name, title: _title, label: _label, place: _place, type, ...fields } = spec;
  const entries = Object.entries(fields).filter(([key, value]) => !isDefault(key, value));
  const shown = entries.map(([key, value]) => [key, written(SERVER[key as keyof typeof SERVER], value)]);
  return { type, ...Object.fromEntries(shown) };
}

/** Returns the server with the secrets in its values masked; placeholders stay as written. */
export function redactSpec<T extends ServerSpec>(spec: T): T {
  if (spec.type === 'stdio') return { ...spec, args: maskArgs(spec.args), env: maskRecord(spec.env) };
  if (!('url' in spec)) return spec;
  const oauth = spec.oauth === undefined ? {} : { oauth: maskNamed(spec.oauth) };
  const helper = spec.headersHelper === undefined ? {} : { headersHelper: maskArgs(spec.headersHelper) };
  return { ...spec, url: maskText(spec.url), headers: maskRecord(spec.headers), ...helper, ...oauth };
}

function maskRecord<T>(values: Record<string, T>): Record<string, T> {
  const masked = Object.entries(values).map(([name, value]) => {
    return [name, typeof value === 'string' ? maskValue(name, value) : value];
  });
  return Object.fromEntries(masked);
}

/** Masks OAuth values by their keys: the client's id and scopes are public, its secret is not. */
function maskNamed(values: JsonRecord): JsonRecord {
  const masked = Object.entries(values).map(([name, value]) => {
    if (isRecord(value)) return [name, maskNamed(value)];
    if (typeof value !== 'string') return [name, value];
    return [name, isCredentialName(name) ? maskValue(name, value) : maskText(value)];
  });
  return Object.fromEntries(masked);
}

function isDefault(key: string, value: unknown): boolean {
  if (value === undefined || value === false || sameJson(value, own({ ...SERVER_DEFAULTS }, key))) return true;
  if (key === 'framing') return value === 'newline';
  return Array.isArray(value)
    ? value.length === 0
    : isRecord(value) && key !== 'oauth' && Object.keys(value).length === 0;
}

function filtersOf(profile: Pick<Profile, 'tools' | 'resources' | 'prompts'>): Record<string, Filter> {
  const { tools, resources, prompts } = profile;
  const filters = Object.entries({ tools, resources, prompts });
  return Object.fromEntries(filters.filter(([, filter]) => Object.keys(filter).length > 0));
}

/** Converts a value back to the form in the file: durations and sizes with units, tokens masked. */
function written(field: Field, value: unknown): unknown {
  if (typeof value === 'number' && field.kind === 'duration') return formatDuration(value);
  if (typeof value === 'number' && field.kind === 'size') return formatSize(value);
  if (Array.isArray(value) && field.kind === 'list') return value.map((item) => written(field.of, item));
  if (!isRecord(value) || field.kind !== 'group') return value;
  const known = Object.entries(value).filter(([key]) => Object.hasOwn(field.fields, key));
  const shown = known.map(([key, item]) => {
    const inner = field.fields[key];
    if (isCredentialName(key) && typeof item === 'string') return [key, maskValue(key, item)];
    return [key, inner === undefined ? item : written(inner, item)];
  });
  return Object.fromEntries(shown);
}
