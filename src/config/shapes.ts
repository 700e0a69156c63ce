/** The shapes of file that are accepted as they are: where each keeps its servers, and what it implies. */
import { isNote, isNoteEntry, isRecord, type JsonRecord, own, type Path } from './json.ts';
import type { Dialect } from './parts.ts';
import { TYPES } from './target.ts';

/** A map or a list of servers. */
export interface Container {
  path: Path;
  value: unknown;
  dialect: Dialect;
}

/** What a document turned out to hold. */
export interface Found {
  containers: Container[];
  /** Settings that the shape implies; anything written wins. */
  defaults: JsonRecord;
  /** Whether another key of the document switches a server off. */
  excludes(name: string): boolean;
  /** Keys inside of `mcp` that mean nothing. */
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

/** By top-level key; a document may have several. `mcp` and the bare map follow below. */
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
  context_servers: [{ matches: present, containers: at(['context_servers'], { foreign: ['extension'] }) }],
  'amp.mcpServers': [{ matches: present, containers: at(['amp.mcpServers']) }],
  extensions: [{ matches: isRecord, containers: gooseContainers }],
} as const satisfies Record<string, readonly Shape[]>;

/** Top-level keys that some shape owns. */
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

/** Servers that Claude Code keeps for one project, in `projects.<folder>.mcpServers`; they are not taken. */
export function projectServers(document: JsonRecord): { project: string; path: Path; names: string[] }[] {
  const projects = own(document, 'projects');
  return Object.entries(isRecord(projects) ? projects : {}).flatMap(([project, value]) => {
    const servers = isRecord(value) ? own(value, 'mcpServers') : undefined;
    const names = Object.keys(isRecord(servers) ? servers : {});
    return names.length === 0 ? [] : [{ project, path: ['projects', project, 'mcpServers'], names }];
  });
}

/** A document that is nothing but servers. */
function bareMap(document: JsonRecord): Container[] {
  const entries = Object.entries(document).filter(([key, value]) => !isNoteEntry(key, value));
  if (entries.length === 0 || !entries.every(([, value]) => looksLikeServer(value))) return [];
  return [{ path: [], value: Object.fromEntries(entries), dialect: {} }];
}

const MARKS = ['command', 'cmd', 'url', 'httpUrl', 'serverUrl', 'uri', 'baseUrl', 'module'];

/** Only such a value can be told from a setting. A server may be called "url": then the value is a map of servers. */
export function looksLikeServer(value: unknown): boolean {
  if (!isRecord(value)) return false;
  const type = own(value, 'type');
  return (
    MARKS.some((mark) => Object.hasOwn(value, mark) && !looksLikeServer(value[mark])) ||
    (typeof type === 'string' && TYPES.has(type.toLowerCase()))
  );
}

/** Goose's extensions; other programs keep other things under that key. */
function gooseContainers(extensions: unknown): Container[] {
  const isExtension = (value: unknown): boolean =>
    isRecord(value) && (typeof value.type === 'string' || isRecord(value.config) || looksLikeServer(value));
  const entries = Object.entries(isRecord(extensions) ? extensions : {}).filter(([, value]) => isExtension(value));
  const dialect: Dialect = { seconds: 'all', foreign: ['builtin', 'platform', 'frontend', 'inline_python'] };
  return [{ path: ['extensions'], value: Object.fromEntries(entries), dialect }];
}

const MCP_KEYS = ['enabled', 'servers', 'resolutionStrategy', 'allowed', 'excluded', 'serverCommand', 'inputs'];

/** `mcp` holds a list or a map under `servers`, or the servers themselves. */
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

/** OpenCode switches a server of another file off with `{"enabled": false}`. */
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

/** Gemini names the servers that are on, or those that are off, apart from the servers. */
function exclusion(mcp: unknown): (name: string) => boolean {
  if (!isRecord(mcp)) return () => false;
  const [allowed, excluded] = [own(mcp, 'allowed'), own(mcp, 'excluded')];
  return (name) =>
    (Array.isArray(excluded) && excluded.includes(name)) || (Array.isArray(allowed) && !allowed.includes(name));
}
