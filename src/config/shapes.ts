/** The accepted file shapes: the location of the servers in each, and the settings that it implies. */
import { isNote, isNoteEntry, isRecord, type JsonRecord, own, type Path } from './json-data.ts';
import type { Dialect } from './server-fields.ts';
import { TYPES } from './server-target.ts';

/** A map or a list of servers. */
export interface Container {
  path: Path;
  value: unknown;
  dialect: Dialect;
}

/** The servers that were found in a document. */
export interface Found {
  containers: Container[];
  /** Settings that the shape implies; settings that a file sets win. */
  defaults: JsonRecord;
  /** True if another key of the document disables this server. */
  excludes(name: string): boolean;
  /** Unknown keys inside `mcp`. */
  unknown: Path[];
}

interface Shape {
  matches(value: unknown): boolean;
  containers(value: unknown): Container[];
  defaults?: JsonRecord;
}

const at =
  (path: Path, dialect: Dialect = {}) =>
  (value: unknown): Container[] => [{ path, value, dialect }];
const present = (value: unknown): boolean => value !== undefined;

/** Types of entries that only their own client can run. */
const ZED_TYPE = 'extension';
const GOOSE_TYPES = ['builtin', 'platform', 'frontend', 'inline_python'];
export const FOREIGN_TYPES: readonly string[] = [ZED_TYPE, ...GOOSE_TYPES];

/** Shapes by top-level key; a document may have several. `mcpContainers` and `bareMap` handle the other shapes. */
const SHAPES = {
  mcpServers: [{ matches: present, containers: at(['mcpServers']) }],
  mcp_servers: [{ matches: present, containers: at(['mcp_servers']) }],
  schemas: [{ matches: present, containers: () => [], defaults: { naming: { separator: '-' } } }],
  servers: [
    {
      matches: Array.isArray,
      containers: at(['servers'], { seconds: 'short' }),
      defaults: { naming: { separator: '::' } },
    },
    { matches: present, containers: at(['servers']) },
  ],
  mcp: [
    {
      matches: (value) => isRecord(value) && Array.isArray(own(value, 'servers')),
      containers: mcpContainers,
      defaults: { naming: { style: 'plain', onConflict: 'first-wins' } },
    },
    { matches: present, containers: mcpContainers },
  ],
  context_servers: [{ matches: present, containers: at(['context_servers'], { foreign: [ZED_TYPE] }) }],
  'amp.mcpServers': [{ matches: present, containers: at(['amp.mcpServers']) }],
  extensions: [{ matches: isRecord, containers: gooseContainers }],
} as const satisfies Record<string, readonly Shape[]>;

/** Top-level keys that belong to a shape. */
export const SHAPE_KEYS: readonly string[] = [...Object.keys(SHAPES), 'inputs'];

export function findServers(document: JsonRecord): Found {
  const bare = bareMap(document);
  const shapes = Object.entries<readonly Shape[]>(SHAPES).flatMap(([key, candidates]) => {
    const value = own(document, key);
    const shape = bare.length > 0 ? undefined : candidates.find(({ matches }) => matches(value));
    return shape === undefined ? [] : [{ shape, value }];
  });
  const mcp = own(document, 'mcp');
  return {
    containers: [...bare, ...shapes.flatMap(({ shape, value }) => shape.containers(value))],
    defaults: Object.assign({}, ...shapes.map(({ shape }) => shape.defaults ?? {})),
    excludes: exclusion(mcp),
    unknown: bare.length > 0 || !isRecord(mcp) ? [] : unknownInMcp(mcp),
  };
}

/** Returns the servers of single projects of Claude Code, in `projects.<folder>.mcpServers`. mcpx does not load them. */
export function projectServers(document: JsonRecord): { project: string; path: Path; names: string[] }[] {
  const projects = own(document, 'projects');
  return Object.entries(isRecord(projects) ? projects : {}).flatMap(([project, value]) => {
    const servers = isRecord(value) ? own(value, 'mcpServers') : undefined;
    const names = Object.keys(isRecord(servers) ? servers : {});
    return names.length === 0 ? [] : [{ project, path: ['projects', project, 'mcpServers'], names }];
  });
}

/** Returns the document itself as a map of servers if it contains nothing else. */
function bareMap(document: JsonRecord): Container[] {
  const entries = Object.entries(document).filter(([key, value]) => !isNoteEntry(key, value));
  if (entries.length === 0 || !entries.every(([, value]) => looksLikeServer(value))) return [];
  return [{ path: [], value: Object.fromEntries(entries), dialect: {} }];
}

/** Fields that only servers have. */
export const MARKS = ['command', 'cmd', 'url', 'httpUrl', 'serverUrl', 'uri', 'baseUrl', 'module'];

/** True if a value has a field that only servers have. If the value of "url" is a server itself, "url" is the name of a server. */
export function looksLikeServer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const type = own(value, 'type');
  return (
    MARKS.some((mark) => Object.hasOwn(value, mark) && !looksLikeServer(value[mark])) ||
    (typeof type === 'string' && TYPES.has(type.toLowerCase()))
  );
}

/** Returns Goose's extensions. Entries that other programs keep under that key are ignored. */
function gooseContainers(extensions: unknown): Container[] {
  const isExtension = (value: unknown): boolean =>
    isRecord(value) && (typeof value.type === 'string' || isRecord(value.config) || looksLikeServer(value));
  const entries = Object.entries(isRecord(extensions) ? extensions : {}).filter(([, value]) => isExtension(value));
  const dialect: Dialect = { seconds: 'all', foreign: GOOSE_TYPES };
  return [{ path: ['extensions'], value: Object.fromEntries(entries), dialect }];
}

const MCP_KEYS = ['enabled', 'servers', 'resolutionStrategy', 'allowed', 'excluded', 'serverCommand', 'inputs'];

/** Returns the servers in `mcp`: a list or a map under `servers`, or the entries of `mcp` itself. */
function mcpContainers(mcp: unknown): Container[] {
  if (!isRecord(mcp)) return [{ path: ['mcp'], value: mcp, dialect: {} }];
  if (own(mcp, 'enabled') === false) return [];
  const inner = own(mcp, 'servers');
  const nested = inner !== undefined && !looksLikeServer(inner);
  const direct = Object.entries(mcp).filter(([key, value]) => !(nested && key === 'servers') && isEntry(value));
  return [
    ...(nested ? [{ path: ['mcp', 'servers'], value: inner, dialect: {} }] : []),
    ...(direct.length > 0 ? [{ path: ['mcp'], value: Object.fromEntries(direct), dialect: {} }] : []),
  ];
}

/** True if a value is a server, or `{"enabled": false}`, with which OpenCode disables a server of another file. */
function isEntry(value: unknown): boolean {
  const keys = isRecord(value) ? Object.keys(value) : [];
  const isSwitch = keys.length > 0 && keys.every((key) => key === 'enabled' || key === 'disabled');
  return isSwitch || looksLikeServer(value);
}

function unknownInMcp(mcp: JsonRecord): Path[] {
  const unknown = Object.entries(mcp).filter(
    ([key, value]) => !MCP_KEYS.includes(key) && !isNote(key) && !isEntry(value),
  );
  return unknown.map(([key]) => ['mcp', key]);
}

/** Reads Gemini's lists of allowed and excluded servers. */
function exclusion(mcp: unknown): (name: string) => boolean {
  if (!isRecord(mcp)) return () => false;
  const [allowed, excluded] = [own(mcp, 'allowed'), own(mcp, 'excluded')];
  return (name) =>
    (Array.isArray(excluded) && excluded.includes(name)) || (Array.isArray(allowed) && !allowed.includes(name));
}
