/** Lists everything that one upstream offers: pagination, limits, and sanitizing of names and descriptions. */
import { McpxError, RpcError } from '../errors.ts';
import { type Interruptible, runInSteps } from '../event-loop.ts';
import type { Log } from '../observe/log.ts';
import { clean, cleanName, cut } from '../render/text.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Handshake } from '../upstream/handshake.ts';
import { isRecord, METHOD_NOT_FOUND } from '../wire/message.ts';

/** A listed item as the upstream sent it; unknown fields are kept. */
export type Item = Record<string, unknown>;

export interface Tool extends Item {
  name: string;
  description?: string;
  inputSchema?: unknown;
  outputSchema?: unknown;
  annotations?: Record<string, unknown>;
}

/** A tool and its name on the upstream, which sanitizing may have changed. */
export interface ListedTool {
  tool: Tool;
  upstreamName: string;
}

export interface Offer {
  tools: ListedTool[];
  resources: Item[];
  templates: Item[];
  prompts: Item[];
  /** Milliseconds for which the lists are valid according to the server; absent if it sent no `ttlMs`. */
  freshFor?: number;
  /** Lists that the server did not answer, with reasons; items of an earlier response are kept. */
  unanswered?: Partial<Record<OtherList, string>>;
}

/** The lists other than tools. */
export type OtherList = 'resources' | 'templates' | 'prompts';

export const OTHER_LISTS: OtherList[] = ['resources', 'templates', 'prompts'];

/** The lists whose changes a server announces; templates belong to resources. */
export type ListKind = 'tools' | 'resources' | 'prompts';

export const EMPTY_OFFER: Offer = { tools: [], resources: [], templates: [], prompts: [] };

export const LIST_KINDS: ListKind[] = ['tools', 'resources', 'prompts'];

/** Maximum number of pages. Cursors are opaque and may repeat, so paging is bounded by count. */
const MAX_PAGES = 100;
const MAX_ITEMS = 20_000;
/** Maximum characters of a name. */
const MAX_NAME = 256;
const MAX_DESCRIPTION = 16 * 1024;
const MAX_SCHEMA = 256 * 1024;
const MAX_DEPTH = 128;
/** Milliseconds for one page. A call may take much longer than a list. */
const LIST_TIMEOUT = 60_000;
/** Milliseconds for one page of a list other than tools; a list that times out is recorded and requested again. */
const OTHER_LIST_TIMEOUT = 30_000;

type Asker = Pick<Connection, 'name' | 'request' | 'spec'>;

/** The request of each list other than tools, and the capability that announces it. */
export const OTHERS = {
  resources: { capability: 'resources', method: 'resources/list', key: 'resources' },
  templates: { capability: 'resources', method: 'resources/templates/list', key: 'resourceTemplates' },
  prompts: { capability: 'prompts', method: 'prompts/list', key: 'prompts' },
} as const satisfies Record<OtherList, { capability: string; method: string; key: string }>;

/**
 * Requests one list other than tools; a list that the upstream does not support is empty. Throws if the request fails.
 */
export async function listOther(
  list: OtherList,
  connection: Asker,
  { capabilities }: Pick<Handshake, 'capabilities'>,
  log: Log,
): Promise<Listed> {
  const { capability, method, key } = OTHERS[list];
  if (capabilities[capability] === undefined) return NOTHING;
  const { items, freshFor } = await listPages(connection, method, key);
  if (list === 'prompts') return { items: readPrompts(items, connection.name, log), freshFor };
  return { items: await runInSteps(readResources(items, list === 'resources' ? 'uri' : 'uriTemplate')), freshFor };
}

function* readResources(items: Item[], key: 'uri' | 'uriTemplate'): Interruptible<Item[]> {
  const read: Item[] = [];
  for (const item of items) {
    if (typeof item[key] === 'string') read.push(tidy(item));
    yield;
  }
  return read;
}

/** Lists the tools alone, because calls wait for no other list. */
export async function listTools(
  connection: Asker,
  { capabilities }: Pick<Handshake, 'capabilities'>,
  log: Log,
): Promise<ListedTools> {
  const listed = capabilities.tools === undefined ? NOTHING : await listPages(connection, TOOLS, 'tools');
  return { tools: await runInSteps(readTools(listed.items, connection.name, log)), freshFor: listed.freshFor };
}

export interface ListedTools {
  tools: ListedTool[];
  freshFor: number;
}

const TOOLS = 'tools/list';

export interface Listed {
  items: Item[];
  /** The shortest `ttlMs` of its pages, in milliseconds; 0 if a page has none. */
  freshFor: number;
}

/** The result for a list that was not requested; it does not limit the time to live. */
const NOTHING: Listed = { items: [], freshFor: Number.POSITIVE_INFINITY };

async function listPages(connection: Asker, method: string, key: string): Promise<Listed> {
  const items: Item[] = [];
  let freshFor = Number.POSITIVE_INFINITY;
  let cursor: unknown;
  for (let page = 0; page < MAX_PAGES && items.length < MAX_ITEMS; page++) {
    const result = await ask(connection, method, cursor);
    if (result === undefined) break;
    if (!isRecord(result)) throw noList(connection, method);
    freshFor = Math.min(freshFor, typeof result.ttlMs === 'number' ? result.ttlMs : 0);
    const found = result[key];
    // Some servers leave out an empty list, or write it as null.
    if (found !== undefined && found !== null && !Array.isArray(found)) throw noList(connection, method);
    for (const item of found ?? []) if (isRecord(item)) items.push(item);
    if (typeof result.nextCursor !== 'string') break;
    cursor = result.nextCursor;
  }
  return { items: items.slice(0, MAX_ITEMS), freshFor };
}

function noList({ name }: Asker, method: string): McpxError {
  return new McpxError('protocol', `server "${name}" answered "${method}" with something that is no list`);
}

/** Requests one page; undefined if the server does not have the method. */
async function ask(connection: Asker, method: string, cursor: unknown): Promise<unknown> {
  try {
    const timeout = Math.min(method === TOOLS ? LIST_TIMEOUT : OTHER_LIST_TIMEOUT, connection.spec.timeout);
    // A list that hangs must not take a slot of the concurrency limit from a call.
    const options = { repeatable: true, bypassQueue: true, purpose: 'list', timeout } as const;
    return await connection.request(method, cursor === undefined ? {} : { cursor }, options);
  } catch (error) {
    // Some servers announce a capability but lack one of its lists; the other lists are still used.
    if (error instanceof RpcError && error.code === METHOD_NOT_FOUND) return undefined;
    throw error;
  }
}

/** Reads the listed tools. An invalid tool is left out with a warning, and the others are kept. */
function* readTools(items: Item[], server: string, log: Log): Interruptible<ListedTool[]> {
  const byName = new Map<string, ListedTool>();
  for (const item of items) {
    const listed = readTool(item);
    if (typeof listed === 'string') log.warn(`a tool of "${server}" is left out: ${listed}`);
    else if (!byName.has(listed.tool.name)) byName.set(listed.tool.name, listed);
    else if (byName.get(listed.tool.name)?.upstreamName !== listed.upstreamName)
      log.warn(`a tool of "${server}" is left out: its name looks like that of another, "${listed.tool.name}"`);
    yield;
  }
  return [...byName.values()];
}

function readTool(item: Item): ListedTool | string {
  if (typeof item.name !== 'string') return 'it has no name';
  const name = cleanName(item.name);
  if (name === '') return 'its name is empty';
  if (name.length > MAX_NAME) return `its name is longer than ${MAX_NAME} characters`;
  if (!withinBounds(item.inputSchema) || !withinBounds(item.outputSchema))
    return `the schema of "${name}" is too large`;
  if (!depthWithin(item, MAX_DEPTH + 1)) return `the definition of "${name}" is nested too deeply`;
  const tool: Tool = { ...tidy(item), name };
  if (typeof item.description !== 'string') delete tool.description;
  if (isRecord(item.annotations)) tool.annotations = tidy(item.annotations);
  return { tool, upstreamName: item.name };
}

/** Sanitizes the texts of an item that people and models read; its URI is not changed. */
function tidy(item: Item): Item {
  const texts = ['name', 'title', 'description'].filter((field) => typeof item[field] === 'string');
  const cleaned = texts.map((field) => [field, cut(clean(String(item[field])), MAX_DESCRIPTION)]);
  return { ...item, ...Object.fromEntries(cleaned) };
}

function readPrompts(items: Item[], server: string, log: Log): Item[] {
  const byName = new Map<unknown, Item>();
  for (const item of items) {
    if (!byName.has(item.name) && hasPlainNames(item, server, log)) byName.set(item.name, tidyPrompt(item));
  }
  return [...byName.values()];
}

/**
 * Returns false for a prompt whose names need sanitizing: a client requests a prompt by its name and those of its
 * arguments, so they cannot be changed.
 */
function hasPlainNames({ name, arguments: args }: Item, server: string, log: Log): boolean {
  const isPlain = (one: unknown) => typeof one !== 'string' || (one.length <= MAX_NAME && clean(one) === one);
  const names = [name, ...(Array.isArray(args) ? args.filter(isRecord).map((one) => one.name) : [])];
  const plain = typeof name === 'string' && names.every(isPlain);
  if (!plain)
    log.warn(`a prompt of "${server}" is left out: its name, or that of an argument, is none that can be shown`);
  return plain;
}

function tidyPrompt(item: Item): Item {
  const { arguments: args } = item;
  if (!Array.isArray(args)) return tidy(item);
  return { ...tidy(item), arguments: args.map((one) => (isRecord(one) ? tidy(one) : one)) };
}

function withinBounds(schema: unknown): boolean {
  if (schema === undefined) return true;
  return depthWithin(schema, MAX_DEPTH) && JSON.stringify(schema).length <= MAX_SCHEMA;
}

function depthWithin(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return left > 0 && Object.values(value).every((child) => depthWithin(child, left - 1));
}
