/** One concept, many names: how the fields of other programs' server entries become ours. */
import type { Place } from './config.ts';
import type { ServerField } from './fields.ts';
import { inside, isRecord, type JsonRecord } from './json.ts';

/** Where a part of an entry belongs: a field, or a field inside of one. */
export type Slot =
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
  /** Gives way to a part that is not weak. */
  weak?: true;
}

/** Names of the same thing elsewhere; our own names need no row. */
const SLOTS = new Map<string, Slot>([
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
  ['startup_timeout_sec', 'startupTimeout'],
  ['includeTools', 'tools.allow'],
  ['enabled_tools', 'tools.allow'],
  ['allowedTools', 'tools.allow'],
  ['excludeTools', 'tools.deny'],
  ['disabled_tools', 'tools.deny'],
  ['disabledTools', 'tools.deny'],
  ['blockedTools', 'tools.deny'],
  ['reconnectInterval', 'reconnect.interval'],
  ['maxRetries', 'reconnect.maxRetries'],
]);

/** Fields that say how an entry looks elsewhere; nothing is lost without them. */
export const IGNORED: ReadonlySet<string> = new Set([
  ...['name', 'id', 'title', 'display_name', 'version', 'icon', 'source', 'gallery', 'bundled', 'alwaysLoad', 'dev'],
]);

/** Fields that mean something elsewhere and nothing here, with the reason to tell. */
export const NOT_CARRIED: ReadonlyMap<string, string> = new Map([
  ...['autoApprove', 'alwaysAllow', 'trust', 'default_tools_approval_mode'].map(
    (key) => [key, 'approval stays with the client'] as const,
  ),
  ['headersHelper', 'mcpx runs no program to get headers'],
]);

export function slotOf(key: string): string {
  return SLOTS.get(key) ?? key;
}

/** Every name that is understood, for suggestions. */
export function aliasNames(): string[] {
  return [...SLOTS.keys(), ...UNFOLD.keys()];
}

/** The parts of an entry, with everything that other programs nest or spell differently laid out flat; null is absent. */
export function partsOf(entry: JsonRecord, at: Place): Part[] {
  const present = Object.entries(entry).filter(([, value]) => value !== null);
  return present.flatMap(([key, value]) => unfold({ key, value, place: inside(at, key) }));
}

function unfold(part: Part): Part[] {
  const inner = UNFOLD.get(part.key)?.(part);
  return inner ?? [part.key.endsWith('_sec') ? { ...part, seconds: true } : part];
}

const UNFOLD = new Map<string, (part: Part) => Part[] | undefined>([
  // Goose may put everything under "config", others the connection under "transport".
  ['config', ({ value, place }) => (isRecord(value) && 'type' in value ? partsOf(value, place) : undefined)],
  ['transport', ({ value, place }) => (isRecord(value) ? partsOf(value, place) : undefined)],
  ['command', unfoldCommand],
  ['timeout', unfoldTimeout],
  ['tools', ({ value, place }) => (Array.isArray(value) ? [{ key: 'includeTools', value, place }] : undefined)],
  // An empty list means every tool there.
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
  ['bearerToken', ({ value, place }) => [{ key: 'headers', value: { Authorization: `Bearer ${value}` }, place }]],
  ['auth', ({ value, place }) => (value === 'oauth' ? [{ key: 'oauth', value: {}, place }] : undefined)],
]);

/** A list is the program and its first arguments; Zed once wrote an object. */
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

/** A list of names, or of objects that have one. */
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
