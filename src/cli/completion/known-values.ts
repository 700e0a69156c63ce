/** Values for completions: servers and profiles of the config, tools of the stored catalogs, clients and files. It starts no server. */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { createCatalogStore } from '../../catalog/catalog-store.ts';
import type { Item, Offer } from '../../catalog/listing.ts';
import { CLIENT_IDS, rowOf } from '../../client-config/client-table.ts';
import { type Config, mainProfile, type ServerSpec } from '../../config/config.ts';
import { environmentOf, userHome } from '../../config/environment.ts';
import { demoConfig, loadConfig } from '../../config/load.ts';
import { homeFolder } from '../../config/paths.ts';
import { SILENT } from '../../observe/log.ts';
import { type Access, createAccess } from '../../policy/access.ts';
import { firstSentence } from '../../render/first-sentence.ts';
import { dereference, directParts, isSchema } from '../../render/schema-refs.ts';
import { cleanName } from '../../render/text.ts';
import { parameters } from '../../render/tool-parameters.ts';
import { TOOLBOXES } from '../../upstream/transports/builtin.ts';
import { isRecord } from '../../wire/message.ts';
import type { Candidate, GivenFlags, Values } from './candidates.ts';

/** Entries of a folder that are offered at most. */
const MAX_FILES = 1000;

export function createValues(): Values {
  return {
    servers: (flags) => serversOf(flags).map(({ name }) => ({ value: name })),
    profiles: (flags) => configOf(flags)?.profiles.map(({ name }) => ({ value: name })) ?? [],
    tools: (prefix, flags) => itemsOf('tool', prefix, flags),
    prompts: (prefix, flags) => itemsOf('prompt', prefix, flags),
    uris: (flags) => urisOf(flags),
    parameters: (kind, target, given, flags) => parametersOf(kind, target, given, flags),
    clients: () => CLIENT_IDS.map((value) => ({ value, doc: rowOf(value).title })),
    files: filesUnder,
  };
}

/** Returns the config that the options select; undefined if it cannot be loaded. */
function configOf(flags: GivenFlags): Config | undefined {
  const overrides = { profile: flags.get('profile')?.at(-1) };
  try {
    if (flags.has('demo')) return demoConfig({ overrides });
    return loadConfig({ files: flags.get('config') ?? [], overrides }).config;
  } catch {
    // A completion cannot report a mistake in the config; the command will.
    return undefined;
  }
}

/** Returns the servers of the named profile, else of all profiles. */
function serversOf(flags: GivenFlags): ServerSpec[] {
  const config = configOf(flags);
  const all = config?.profiles.filter(({ name }) => config.profile === undefined || name === config.profile) ?? [];
  return all.flatMap(({ servers }) => servers);
}

interface Known {
  servers: ServerSpec[];
  access: Access;
}

/** Returns the servers that a call may use, with the rules about their tools. */
function usable(flags: GivenFlags): Known | undefined {
  const config = configOf(flags);
  const profile = config && mainProfile(config);
  if (config === undefined || profile === undefined) return undefined;
  const access = createAccess({ profile, policy: config.settings.policy });
  const servers = profile.servers.filter(({ name, disabled }) => !disabled && access.allowsServer(name));
  return { servers, access };
}

type Listed = 'tool' | 'prompt';

/** Returns `server.` for each server; if the prefix leaves one server, its tools or prompts with their full names. */
function itemsOf(kind: Listed, prefix: string, flags: GivenFlags): Candidate[] {
  const known = usable(flags);
  const fits =
    known?.servers.filter(({ name }) => `${name}.`.startsWith(prefix) || prefix.startsWith(`${name}.`)) ?? [];
  const [only] = fits;
  if (known === undefined || only === undefined) return [];
  if (fits.length > 1) return fits.map(({ name }) => ({ value: `${name}.`, isOpen: true }));
  const names = namedItems(kind, only, known.access).map(({ name, description }) => ({
    value: `${only.name}.${name}`,
    doc: firstSentence(String(description ?? '')),
  }));
  return names.length > 0 ? names : [{ value: `${only.name}.`, isOpen: true }];
}

function namedItems(kind: Listed, spec: ServerSpec, access: Access): Item[] {
  const { tools, prompts } = offerOf(spec);
  const all = kind === 'tool' ? tools.map(({ tool }): Item => tool) : prompts;
  return all.filter(({ name }) => {
    const isSafe = typeof name === 'string' && cleanName(name) === name;
    return isSafe && access.allows({ server: spec.name, kind, name });
  });
}

/** Returns the lists of a server as they were stored last. The tools of a built-in server are part of the program. */
function offerOf(spec: ServerSpec): Pick<Offer, 'tools' | 'prompts' | 'resources'> {
  if (spec.type === 'builtin') {
    const create = new Map(Object.entries(TOOLBOXES)).get(spec.builtin);
    const tools = create?.().tools.map(({ run: _run, ...tool }) => ({ tool, upstreamName: tool.name })) ?? [];
    return { tools, prompts: [], resources: [] };
  }
  const folder = join(homeFolder(environmentOf()), 'cache');
  const stored = createCatalogStore({ folder, log: SILENT }).read(spec);
  return [...(stored?.bySet.values() ?? [])].at(-1)?.offer ?? { tools: [], prompts: [], resources: [] };
}

function urisOf(flags: GivenFlags): Candidate[] {
  const known = usable(flags);
  const named = flags.get('server')?.at(-1);
  const servers = known?.servers.filter(({ name }) => named === undefined || name === named) ?? [];
  return servers.flatMap((spec) =>
    offerOf(spec).resources.flatMap(({ uri, title, name }) => {
      if (typeof uri !== 'string' || cleanName(uri) !== uri) return [];
      if (known?.access.allows({ server: spec.name, kind: 'resource', name: uri }) !== true) return [];
      return [{ value: uri, doc: cleanName(String(title ?? name ?? '')) }];
    }),
  );
}

interface Argument {
  name: string;
  required: boolean;
  doc: string;
  schema?: unknown;
}

function parametersOf(kind: Listed, target: string, typed: readonly string[], flags: GivenFlags): Candidate[] {
  const dot = target.indexOf('.');
  const known = usable(flags);
  const spec = known?.servers.find(({ name }) => name === target.slice(0, dot));
  const item = spec && known && namedItems(kind, spec, known.access).find(({ name }) => name === target.slice(dot + 1));
  if (item === undefined) return [];
  const all = kind === 'tool' ? toolArguments(item) : promptArguments(item);
  const current = typed.at(-1) ?? '';
  const [, name, operator = '='] = /^([^=:]+)(:?=)/.exec(current) ?? [];
  if (name !== undefined) {
    const schema = dereference(item.inputSchema, all.find((one) => one.name === name)?.schema);
    return valuesIn(item.inputSchema, schema).map((value) => ({ value: `${name}${operator}${value}` }));
  }
  const given = new Set(typed.slice(0, -1).map((pair) => pair.replace(/:?=.*$/s, '')));
  return all
    .filter((one) => !given.has(one.name) && /^[^=:\s]+$/.test(one.name))
    .sort((a, b) => Number(b.required) - Number(a.required))
    .map(({ name: key, doc, schema }) => ({
      value: `${key}${isJson(item.inputSchema, schema) ? ':=' : '='}`,
      doc,
      isOpen: true,
    }));
}

function toolArguments({ inputSchema }: Item): Argument[] {
  return parameters(inputSchema).map(({ name, required, schema }) => {
    const target = dereference(inputSchema, schema);
    const description = [schema, target].find((one) => isSchema(one) && typeof one.description === 'string');
    const doc = isSchema(description) ? firstSentence(String(description.description)) : '';
    return { name, required, schema, doc };
  });
}

function promptArguments({ arguments: given }: Item): Argument[] {
  return (Array.isArray(given) ? given : []).filter(isRecord).map(({ name, description, required }) => ({
    name: String(name),
    required: required === true,
    doc: firstSentence(String(description ?? '')),
  }));
}

/** True if a value has to be written as JSON: for lists and objects. */
function isJson(root: unknown, schema: unknown): boolean {
  const target = dereference(root, schema);
  if (!isSchema(target)) return false;
  const types = [target.type].flat();
  return types.includes('array') || types.includes('object');
}

/** Returns the values that a schema names: of `enum`, `const`, a boolean, or of its alternatives. */
function valuesIn(root: unknown, schema: unknown, depth = 0): string[] {
  if (!isSchema(schema) || depth > 2) return [];
  const named = Array.isArray(schema.enum) ? schema.enum : 'const' in schema ? [schema.const] : [];
  const own = [schema.type].flat().includes('boolean') && named.length === 0 ? [true, false] : named;
  const texts = own.filter((value) => typeof value !== 'object').map(String);
  const parts = directParts(schema).flatMap((part) => valuesIn(root, dereference(root, part), depth + 1));
  return [...texts.filter((text) => cleanName(text) === text && text !== ''), ...parts];
}

/** Returns the entries of the folder that the prefix names. Hidden files are offered after a dot. */
function filesUnder(prefix: string): Candidate[] {
  const base = prefix.slice(prefix.lastIndexOf('/') + 1);
  const folder = prefix.slice(0, prefix.length - base.length);
  try {
    const entries = readdirSync(folder === '' ? '.' : folder.replace(/^~(?=\/)/, userHome()), { withFileTypes: true });
    return entries
      .filter(({ name }) => name.startsWith(base) && (base !== '' || !name.startsWith('.')) && cleanName(name) === name)
      .slice(0, MAX_FILES)
      .map((entry) => ({
        value: `${folder}${entry.name}${entry.isDirectory() ? '/' : ''}`,
        isOpen: entry.isDirectory(),
      }));
  } catch {
    // A folder that does not exist or cannot be read has no completion.
    return [];
  }
}
