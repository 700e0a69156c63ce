/** Built-in server `memory`: a small key-value store that exists as long as its connection. */
import { nearest } from '../../render/text.ts';
import { gives, READS, takes } from './define.ts';
import { optionalText, readInteger, readText, rejectInput } from './input.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';

export const MAX_ENTRIES = 1_000;
/** The maximum number of characters of one value as JSON, and of all values together. */
export const MAX_VALUE = 100_000;
export const MAX_TOTAL = 4_000_000;
const MAX_KEY = 200;

type Store = Map<string, { value: unknown; json: string }>;

const KEY = { type: 'string', description: 'Name of the entry', minLength: 1, maxLength: MAX_KEY };
const LIMIT = {
  type: 'integer',
  minimum: 1,
  maximum: MAX_ENTRIES,
  default: 100,
  description: 'Most entries to return',
};
const CHANGES = { readOnlyHint: false, destructiveHint: true, idempotentHint: true, openWorldHint: false };

export function createMemory(): Toolbox {
  const store: Store = new Map();
  return {
    name: 'memory',
    title: 'Memory',
    instructions:
      'Keeps values under names until mcpx stops: notes, intermediate results, anything to look up later. Nothing is written to disk.',
    tools: [setTool(store), getTool(store), listTool(store), searchTool(store), deleteTool(store)],
  };
}

function setTool(store: Store): BuiltinTool {
  return {
    name: 'set',
    title: 'Remember',
    description:
      'Store a value under a key, replacing what was there. The value can be any JSON: text, number, list or object.',
    inputSchema: takes({ key: KEY, value: { description: 'Any JSON value' } }, ['key', 'value']),
    outputSchema: gives({
      key: { type: 'string' },
      replaced: { type: 'boolean', description: 'True when the key existed before' },
      entries: { type: 'integer', description: 'Entries stored now' },
    }),
    annotations: CHANGES,
    run(args) {
      const key = readKey(args);
      const json = JSON.stringify(args.value);
      if (json === undefined) rejectInput('"value" is missing');
      const replaced = store.has(key);
      makeRoom(store, key, json);
      store.set(key, { value: args.value, json });
      return { key, replaced, entries: store.size };
    },
  };
}

function getTool(store: Store): BuiltinTool {
  return {
    name: 'get',
    title: 'Recall',
    description: 'Read the value stored under a key. An unknown key is an error that names similar ones.',
    inputSchema: takes({ key: KEY }, ['key']),
    outputSchema: gives({ key: { type: 'string' }, value: { description: 'The stored JSON value' } }),
    annotations: READS,
    run(args) {
      const key = readKey(args);
      const entry = store.get(key);
      if (!entry) return missing(store, key);
      return { key, value: entry.value };
    },
  };
}

function listTool(store: Store): BuiltinTool {
  return {
    name: 'list',
    title: 'List keys',
    description: 'List the stored keys, in the order they were first stored, optionally only those with a prefix.',
    inputSchema: takes({ prefix: { type: 'string', description: 'Only keys that begin with this' }, limit: LIMIT }),
    outputSchema: gives({
      keys: { type: 'array', items: { type: 'string' } },
      total: { type: 'integer', description: 'Matching keys, also those beyond the limit' },
    }),
    annotations: READS,
    run(args) {
      const prefix = optionalText(args, 'prefix', MAX_KEY) ?? '';
      const keys = [...store.keys()].filter((key) => key.startsWith(prefix));
      return { keys: keys.slice(0, readLimit(args)), total: keys.length };
    },
  };
}

function searchTool(store: Store): BuiltinTool {
  return {
    name: 'search',
    title: 'Search',
    description: 'Find entries whose key or value contains a text, whatever its case.',
    inputSchema: takes(
      {
        query: { type: 'string', description: 'Plain text to look for', minLength: 1, maxLength: 1_000 },
        limit: LIMIT,
      },
      ['query'],
    ),
    outputSchema: gives({
      entries: {
        type: 'array',
        items: gives({ key: { type: 'string' }, value: { description: 'The stored JSON value' } }),
      },
      total: { type: 'integer', description: 'Matching entries, also those beyond the limit' },
    }),
    annotations: READS,
    run(args) {
      const query = readText(args, 'query', 1_000).toLowerCase();
      const found = [...store].filter(([key, { value, json }]) =>
        [key, typeof value === 'string' ? value : json].some((text) => text.toLowerCase().includes(query)),
      );
      const entries = found.slice(0, readLimit(args)).map(([key, { value }]) => ({ key, value }));
      return { entries, total: found.length };
    },
  };
}

function deleteTool(store: Store): BuiltinTool {
  return {
    name: 'delete',
    title: 'Forget',
    description: 'Delete the entry under a key. Says whether there was one.',
    inputSchema: takes({ key: KEY }, ['key']),
    outputSchema: gives({ key: { type: 'string' }, deleted: { type: 'boolean' } }),
    annotations: CHANGES,
    run(args) {
      const key = readKey(args);
      return { key, deleted: store.delete(key) };
    },
  };
}

function readKey(args: Record<string, unknown>): string {
  const key = readText(args, 'key', MAX_KEY);
  return key === '' ? rejectInput('"key" must not be empty') : key;
}

function readLimit(args: Record<string, unknown>): number {
  return readInteger(args, 'limit', { min: 1, max: MAX_ENTRIES, fallback: 100 });
}

function makeRoom(store: Store, key: string, json: string): void {
  if (json.length > MAX_VALUE)
    rejectInput(`the value has ${json.length} characters as JSON; the limit is ${MAX_VALUE}`);
  if (!store.has(key) && store.size >= MAX_ENTRIES) {
    rejectInput(`the memory is full: ${MAX_ENTRIES} entries`, 'delete entries that are no longer needed');
  }
  const others = [...store].reduce((total, [name, entry]) => total + (name === key ? 0 : entry.json.length), 0);
  if (others + json.length > MAX_TOTAL) {
    rejectInput(`the memory is full: ${MAX_TOTAL} characters`, 'delete entries that are no longer needed');
  }
}

function missing(store: Store, key: string): never {
  const near = nearest(key, [...store.keys()]).map((name) => `"${name}"`);
  return rejectInput(`there is no entry "${key}"`, near.length > 0 ? `did you mean ${near.join(' or ')}?` : undefined);
}
