/** Maps the field names that other MCP clients use in server entries to mcpx's own field names. */
import type { Place } from './config.ts';
import type { ServerField } from './fields.ts';
import { inside, isRecord, type JsonRecord } from './json-data.ts';

/** The mcpx field that a written field maps to: a field of a server entry, or a field inside one. */
export type FieldName =
  | ServerField
  | 'tools.allow'
  | 'tools.deny'
  | 'reconnect.interval'
  | 'reconnect.maxRetries'
  | 'enabled';

/** One field of an entry, as it was written. */
export interface Part {
  key: string;
  value: unknown;
  place: Place;
  /** A bare number is seconds. */
  seconds?: true;
  /** Set if a part without this mark takes precedence. */
  weak?: true;
}

/** Maps names that other clients use to our fields. Our own names are not listed. */
const SLOTS = new Map<string, FieldName>([
  ['cmd', 'command'],
  ['serverUrl', 'url'],
  ['httpUrl', 'url'],
  ['uri', 'url'],
  ['baseUrl', 'url'],
  ['transport', 'type'],
  ['transportType', 'type'],
  ['protocol', 'type'],
  ['environment', 'env'],
  ['envs', 'env'],
  ['http_headers', 'headers'],
  ['working_directory', 'cwd'],
  ['workingDirectory', 'cwd'],
  ['auth', 'oauth'],
  ['toolTimeoutMs', 'timeout'],
  ['requestTimeoutMs', 'timeout'],
  ['request_timeout_ms', 'timeout'],
  ['tool_timeout_sec', 'timeout'],
  ['startup_timeout_ms', 'startupTimeout'],
  ['startupTimeoutMs', 'startupTimeout'],
  ['startup_timeout_sec', 'startupTimeout'],
  ['includeTools', 'tools.allow'],
  ['enabled_tools', 'tools.allow'],
  ['enabledTools', 'tools.allow'],
  ['allowedTools', 'tools.allow'],
  ['excludeTools', 'tools.deny'],
  ['disabled_tools', 'tools.deny'],
  ['disabledTools', 'tools.deny'],
  ['blockedTools', 'tools.deny'],
  ['reconnectInterval', 'reconnect.interval'],
  ['maxRetries', 'reconnect.maxRetries'],
]);

/** Fields that only affect how another client displays or installs an entry. They are ignored without a warning. */
export const IGNORED: ReadonlySet<string> = new Set([
  ...[
    'name',
    'id',
    'title',
    'display_name',
    'version',
    'icon',
    'source',
    'gallery',
    'bundled',
    'alwaysLoad',
    'dev',
    'settings',
  ],
]);

/** Fields that have an effect in other clients and none in mcpx, with the reason for the warning. */
export const NOT_CARRIED: ReadonlyMap<string, string> = new Map([
  ...['autoApprove', 'alwaysAllow', 'trust', 'default_tools_approval_mode'].map(
    (key) => [key, 'the client approves calls, mcpx does not'] as const,
  ),
]);

export function fieldNameOf(key: string): string {
  return SLOTS.get(key) ?? key;
}

/** Returns the foreign names that stand for one of our fields, with that field. */
export function foreignNames(): [alias: string, field: FieldName][] {
  return [...SLOTS];
}

/** Returns every foreign name that mcpx understands, for suggestions. */
export function aliasNames(): string[] {
  return [...SLOTS.keys(), ...UNFOLD.keys()];
}

/** Returns the fields of an entry as a flat list. Fields that other clients nest are flattened; null counts as absent. */
export function partsOf(entry: JsonRecord, at: Place): Part[] {
  const present = Object.entries(entry).filter(([, value]) => value !== null);
  return present.flatMap(([key, value]) => unfold({ key, value, place: inside(at, key) }));
}

function unfold(part: Part): Part[] {
  const inner = UNFOLD.get(part.key)?.(part);
  return inner ?? [part.key.endsWith('_sec') ? { ...part, seconds: true } : part];
}

const UNFOLD = new Map<string, (part: Part) => Part[] | undefined>([
  // Goose may nest the whole entry under "config"; other clients nest the connection under "transport".
  ['config', ({ value, place }) => (isRecord(value) && 'type' in value ? partsOf(value, place) : undefined)],
  ['transport', ({ value, place }) => (isRecord(value) ? partsOf(value, place) : undefined)],
  ['command', unfoldCommand],
  ['timeout', unfoldTimeout],
  ['tools', ({ value, place }) => (Array.isArray(value) ? [{ key: 'includeTools', value, place }] : undefined)],
  // In that client, an empty list means every tool.
  ['available_tools', ({ value, place }) => (isEmpty(value) ? [] : [{ key: 'includeTools', value, place }])],
  ['requestOptions', ({ value, place }) => (isRecord(value) ? partsOf(value, place) : undefined)],
  ['env_vars', passThrough],
  ['env_keys', passThrough],
  [
    'env_http_headers',
    ({ value, place }) => (isRecord(value) ? [{ key: 'headers', value: asVariables(value), place }] : undefined),
  ],
  ['bearer_token_env_var', bearerVariable],
  ['bearer_token_env', bearerVariable],
  ['bearerTokenEnv', bearerVariable],
  ['bearerTokenEnvVar', bearerVariable],
  ['bearerToken', ({ value, place }) => [{ key: 'headers', value: { Authorization: `Bearer ${value}` }, place }]],
  ['auth', ({ value, place }) => (value === 'oauth' ? [{ key: 'oauth', value: {}, place }] : undefined)],
]);

/** Splits a list into the program and its first arguments. Old versions of Zed wrote an object. */
function unfoldCommand({ value, place }: Part): Part[] | undefined {
  if (Array.isArray(value)) {
    const [command, ...rest] = value;
    const parts: Part[] = [{ key: 'command', value: command, place: inside(place, 0) }];
    return rest.length === 0 ? parts : [...parts, { key: 'leading', value: rest, place }];
  }
  if (!isRecord(value)) return undefined;
  return partsOf(value, place).map((part) => (part.key === 'path' ? { ...part, key: 'command' } : part));
}

function unfoldTimeout({ value, place }: Part): Part[] | undefined {
  if (!isRecord(value)) return undefined;
  const names = new Map([
    ['startup', 'startupTimeout'],
    ['request', 'timeout'],
  ]);
  return partsOf(value, place).map((part) => ({ ...part, key: names.get(part.key) ?? part.key }));
}

/** Reads a list of variable names, or of objects with a `name`, as variables to inherit. */
function passThrough({ value, place }: Part): Part[] | undefined {
  const names = Array.isArray(value) ? value.map((item) => (isRecord(item) ? item.name : item)) : [undefined];
  if (!names.every((name) => typeof name === 'string')) return undefined;
  return [{ key: 'env', value: Object.fromEntries(names.map((name) => [name, `\${${name}}`])), place, weak: true }];
}

function asVariables(headers: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(headers).map(([header, variable]) => [header, `\${${variable}}`]));
}

function bearerVariable({ value, place }: Part): Part[] {
  return [{ key: 'headers', value: { Authorization: `Bearer \${${value}}` }, place }];
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
