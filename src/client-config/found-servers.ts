/** Reads the servers out of the data of a client's file, and separates mcpx's own entry from them. */
import type { Place, ServerSpec } from '../config/config.ts';
import { createDiagnostics } from '../config/diagnostics.ts';
import { isNoteEntry, isRecord, type JsonRecord, own, type Path } from '../config/json-data.ts';
import { readServer } from '../config/server.ts';
import { type Container, findServers } from '../config/shapes.ts';
import { McpxError, messageOf } from '../errors.ts';
import type { FullRow } from './client-row.ts';
import { type ClientId, rowOf } from './client-table.ts';
import { adaptEntry } from './dialects.ts';

/** A server in a file. */
export interface FoundServer {
  /** The name as written. */
  name: string;
  spec: ServerSpec;
  /** Undefined for a file that belongs to no client. */
  client?: ClientId;
  /** The folder of a project, if the client offers the server only there. */
  project?: string;
  place: Place;
  /** The entry as written. */
  raw: JsonRecord;
  /** Sentences about parts that are not carried over. */
  notes: string[];
}

export interface Contents {
  servers: FoundServer[];
  /** Entries that start mcpx. */
  own: { path: Path; value: JsonRecord }[];
  /** Entries that mcpx cannot run, with the reason. */
  skipped: { name: string; reason: string }[];
  /** The path of the map or list to which the client's next server is added. */
  container: Path;
  /** The length of a list; undefined for a map. */
  length: number | undefined;
}

/** Returns the servers of a client's file. */
export function serversOfClient(data: unknown, file: string, client: ClientId): Contents {
  const row = rowOf(client);
  const document = isRecord(data) ? data : {};
  const keys = [String(row.container[0]), ...(row.beside ?? [])].filter((key) => key !== 'projects');
  const isBare = row.bare === true && own(document, String(row.container[0])) === undefined;
  const picked = isBare ? document : Object.fromEntries(Object.entries(document).filter(([key]) => keys.includes(key)));
  const contents = collect(picked, { file, client });
  const projects = row.beside?.includes('projects') === true ? projectsOf(document) : [];
  for (const [project, value] of projects) {
    const inner = collect({ mcpServers: value }, { file, client, project });
    contents.servers.push(...inner.servers);
    contents.skipped.push(...inner.skipped);
    contents.own.push(...inner.own);
  }
  const place = containerFor(document, picked, row);
  return { ...contents, ...place };
}

/** Returns the servers of a file in any accepted shape. */
export function serversOfFile(data: unknown, file: string): Pick<Contents, 'servers' | 'skipped'> {
  if (!isRecord(data)) {
    throw new McpxError('config', `"${file}" holds no servers`, {
      hint: 'an object such as {"mcpServers": {}} is expected',
    });
  }
  const found = collect(data, { file });
  if (found.servers.length === 0 && found.skipped.length === 0 && found.own.length === 0)
    throw new McpxError('config', `"${file}" holds no servers`, { hint: 'name a file with "mcpServers", or a client' });
  return found;
}

interface Origin {
  file: string;
  client?: ClientId;
  project?: string;
}

function collect(document: JsonRecord, origin: Origin): Omit<Contents, 'container' | 'length'> {
  const result: Omit<Contents, 'container' | 'length'> = { servers: [], own: [], skipped: [] };
  const found = findServers(document);
  for (const container of found.containers) {
    for (const { name, value, path } of entriesOf(container)) {
      const at = origin.project === undefined ? path : ['projects', origin.project, ...path];
      read({ name, value, path: at, container, isOff: found.excludes(name) }, origin, result);
    }
  }
  return result;
}

function entriesOf({ path, value }: Container): { name: string; value: JsonRecord; path: Path }[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => {
      const name = isRecord(item) ? (own(item, 'name') ?? own(item, 'id')) : undefined;
      return isRecord(item) && typeof name === 'string' ? [{ name, value: item, path: [...path, index] }] : [];
    });
  }
  return Object.entries(isRecord(value) ? value : {}).flatMap(([name, item]) =>
    isRecord(item) && !isNoteEntry(name, item) ? [{ name, value: item, path: [...path, name] }] : [],
  );
}

interface Candidate {
  name: string;
  value: JsonRecord;
  path: Path;
  container: Container;
  isOff: boolean;
}

function read(
  { name, value, path, container, isOff }: Candidate,
  origin: Origin,
  result: Omit<Contents, 'container' | 'length'>,
): void {
  const { file, client, project } = origin;
  const findings = createDiagnostics();
  const place = { file, path };
  const adapted = adaptEntry(value, client === undefined ? {} : { client });
  const entry = readServer({ name, value: adapted.value, place }, container.dialect, findings);
  const warnings = findings.warnings([]).map(({ message }) => message);
  if (entry?.kind === 'off') return;
  try {
    findings.check([]);
  } catch (error) {
    result.skipped.push({ name, reason: firstMessage(error) });
    return;
  }
  if (entry === undefined) {
    result.skipped.push({ name, reason: reasonOf(warnings[0]) });
    return;
  }
  const spec = isOff ? { ...entry.spec, disabled: true } : entry.spec;
  if (isMcpx(name, spec)) {
    result.own.push({ path, value });
    return;
  }
  const origins = { ...(client && { client }), ...(project !== undefined && { project }) };
  const notes = [...adapted.notes.map((note) => `server "${name}": ${note}`), ...warnings];
  result.servers.push({ name, spec: inProject(spec, project), ...origins, place, raw: value, notes });
}

/** The name precedes the reason in every message, so it is not repeated. */
function reasonOf(warning = 'it is not a server that mcpx can run'): string {
  return warning.replace(/^server ".*?" is skipped: /, '');
}

function firstMessage(error: unknown): string {
  const [first] = error instanceof McpxError && Array.isArray(error.data) ? error.data : [];
  return isRecord(first) ? String(first.message) : messageOf(error);
}

/** A server of one project runs in its folder, so relative paths stay valid. */
function inProject(spec: ServerSpec, project: string | undefined): ServerSpec {
  return project === undefined || spec.type !== 'stdio' || spec.cwd !== undefined ? spec : { ...spec, cwd: project };
}

/** True if an entry starts mcpx, whichever copy of it, or has its name. */
function isMcpx(name: string, spec: ServerSpec): boolean {
  if (name === 'mcpx') return true;
  if (spec.type !== 'stdio') return false;
  const program = (path: string) =>
    path
      .split(/[\\/]/)
      .at(-1)
      ?.replace(/\.exe$/i, '');
  const isProgram = program(spec.command) === 'mcpx' || spec.args.some((arg) => program(arg) === 'mcpx.cjs');
  return isProgram && (spec.args.length === 0 || spec.args.includes('serve'));
}

function projectsOf(document: JsonRecord): [string, unknown][] {
  const projects = own(document, 'projects');
  return Object.entries(isRecord(projects) ? projects : {}).flatMap(([project, value]): [string, unknown][] =>
    isRecord(value) && isRecord(own(value, 'mcpServers')) ? [[project, own(value, 'mcpServers')]] : [],
  );
}

function containerFor(document: JsonRecord, picked: JsonRecord, row: FullRow): Pick<Contents, 'container' | 'length'> {
  const [used] = findServers(picked).containers.filter(({ path }) => path[0] === row.container[0] || path.length === 0);
  const value = used === undefined ? undefined : valueAt(document, used.path);
  if (used !== undefined && Array.isArray(value)) return { container: used.path, length: value.length };
  if (used !== undefined && isRecord(value)) return { container: used.path, length: undefined };
  // Version 2 of OpenCode keeps its servers one level deeper.
  const first = own(document, String(row.container[0]));
  const inner = isRecord(first) && isRecord(own(first, 'servers')) && row.form === 'local-list';
  return { container: inner ? [...row.container, 'servers'] : row.container, length: undefined };
}

export function valueAt(data: unknown, path: Path): unknown {
  return path.reduce<unknown>((value, key) => {
    if (Array.isArray(value)) return value[Number(key)];
    return isRecord(value) ? own(value, String(key)) : undefined;
  }, data);
}
