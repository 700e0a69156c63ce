/** The entry of a server for the `mcpServers` of any client: absolute paths, no settings of mcpx, secrets as placeholders. */
import type { RemoteServer, ServerSpec, StdioServer } from '../config/config.ts';
import { absolutePath, type Environment, pathsOf } from '../config/environment.ts';
import { createExpander, inputVariable } from '../config/expander.ts';
import { isRecord, type JsonRecord, listText, own, quoted } from '../config/json-data.ts';
import { mapPlaceholders } from '../config/placeholders.ts';
import { maskArgs, maskText, maskValue } from '../config/redact.ts';
import { serverEntry } from '../config/show.ts';
import { moveSecrets } from './literal-secrets.ts';

export interface ExportOptions {
  world: Environment;
  /** True if secrets are written as they are. */
  withSecrets: boolean;
}

export interface ExportedEntry {
  /** Undefined for a server that only mcpx can run. */
  entry: JsonRecord | undefined;
  /** Sentences about parts that are left out. */
  notes: string[];
  /** The variables that the client has to set for the secrets. */
  variables: string[];
  /** True if a secret without a placeholder is masked. */
  isMasked: boolean;
}

export function exportEntry(spec: ServerSpec, options: ExportOptions): ExportedEntry {
  const { type, name } = spec;
  if (type === 'module' || type === 'builtin') {
    const notes = [`server "${name}" is left out: only mcpx can run a server of type "${type}"`];
    return { entry: undefined, notes, variables: [], isMasked: false };
  }
  const plain = type === 'stdio' ? stdioEntry(spec, options.world) : remoteEntry(spec);
  const notes = leftOut(spec, plain);
  const fill = (text: string) => filled(text, folderOf(spec, options.world), options);
  if (options.withSecrets) return { entry: mapTexts(plain, fill), notes, variables: [], isMasked: false };
  const safe = masked(moveSecrets(name, plain, true).entry);
  const variables = [
    ...new Set([...JSON.stringify(safe).matchAll(/\$\{input:([^}]+)\}/g)].map(([, id = '']) => inputVariable(id))),
  ];
  return { entry: mapTexts(safe, fill), notes, variables, isMasked: JSON.stringify(safe).includes('***') };
}

function folderOf({ place }: ServerSpec, world: Environment): string {
  return place.file === '' ? world.cwd : pathsOf(world).dirname(place.file);
}

function stdioEntry(spec: StdioServer, world: Environment): JsonRecord {
  const { command, args, env, envFile, cwd } = spec;
  const folder = folderOf(spec, world);
  const absolute = (path: string) => (path.startsWith('${') ? path : absolutePath(path, folder, world));
  const isPath = world.platform === 'win32' ? /[\\/]/.test(command) : command.includes('/');
  const set = Object.entries(env).filter(([, value]) => value !== null);
  return {
    command: isPath ? absolute(command) : command,
    ...(args.length > 0 && { args }),
    ...(set.length > 0 && { env: Object.fromEntries(set) }),
    ...(envFile.length > 0 && { envFile: envFile.length === 1 ? absolute(envFile[0] ?? '') : envFile.map(absolute) }),
    ...(cwd !== undefined && { cwd: absolute(cwd) }),
  };
}

/** Several clients refuse a URL without a type; Streamable HTTP is what a URL without one means today. */
function remoteEntry({ type, url, headers }: RemoteServer): JsonRecord {
  return { type: type === 'auto' ? 'http' : type, url, ...(Object.keys(headers).length > 0 && { headers }) };
}

function leftOut(spec: ServerSpec, entry: JsonRecord): string[] {
  const fields = Object.keys(serverEntry(spec)).filter(
    (key) => key !== 'type' && key !== 'disabled' && !(key in entry),
  );
  const removed = spec.type === 'stdio' && Object.values(spec.env).includes(null) ? ['env: null'] : [];
  const names = [...fields, ...removed];
  if (names.length === 0) return [];
  return [
    `${listText(quoted(names), 'and')} of server "${spec.name}" ${names.length === 1 ? 'is' : 'are'} left out: clients do not know ${names.length === 1 ? 'it' : 'them'}`,
  ];
}

/** Masks the secrets that did not become placeholders. */
function masked(entry: JsonRecord): JsonRecord {
  const named = (values: unknown) => {
    const pairs = Object.entries(isRecord(values) ? values : {});
    return Object.fromEntries(pairs.map(([name, value]) => [name, maskValue(name, String(value))]));
  };
  const { args, env, headers, url } = entry;
  return {
    ...entry,
    ...(Array.isArray(args) && { args: maskArgs(args.map(String)) }),
    ...(env !== undefined && { env: named(env) }),
    ...(headers !== undefined && { headers: named(headers) }),
    ...(typeof url === 'string' && { url: maskText(url) }),
  };
}

/** Placeholders that only mcpx and a few editors know; the values do not depend on the client. */
const FIXED = ['userHome', 'configDir', 'pathSeparator', '/'];

/** Replaces the placeholders of mcpx: by values, or by variables that every client reads. */
function filled(text: string, folder: string, { world, withSecrets }: ExportOptions): string {
  const expander = createExpander({ folder, workspace: world.cwd, world });
  return mapPlaceholders(text, (written) => {
    const [, id] = /^\$\{input:([^}]+)\}$/.exec(written) ?? [];
    if (id !== undefined) return withSecrets ? expander.text(written) : `\${${inputVariable(id)}}`;
    return FIXED.includes(written.slice(2, -1)) ? expander.text(written) : written;
  });
}

function mapTexts(value: JsonRecord, change: (text: string) => string): JsonRecord {
  const deep = (item: unknown): unknown => {
    if (typeof item === 'string') return change(item);
    if (Array.isArray(item)) return item.map(deep);
    return isRecord(item) ? Object.fromEntries(Object.keys(item).map((key) => [key, deep(own(item, key))])) : item;
  };
  return deep(value) as JsonRecord;
}
