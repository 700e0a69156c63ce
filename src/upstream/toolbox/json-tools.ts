/** Built-in server `json`: queries, formats, compares, validates and tabulates JSON. */
import { gives, READS, takes } from './define.ts';
import { readChoice, readFlag, readInteger, readJson, readText, rejectInput } from './input.ts';
import { differences, MAX_FINDINGS, mismatches } from './json-compare.ts';
import { follow, MAX_PATH, parsePath } from './json-path.ts';
import { FORMATS, tableOf, writeTable } from './json-table.ts';
import type { BuiltinTool, Toolbox } from './toolbox.ts';

const VALUE = { description: 'A JSON value, or a text that contains JSON' };

const QUERY: BuiltinTool = {
  name: 'query',
  title: 'Look into JSON',
  description:
    'Pick values out of JSON by a path such as "users[0].name", "items[*].id" or "[\\"odd key\\"]". Negative indexes count from the end.',
  inputSchema: takes(
    { value: VALUE, path: { type: 'string', description: 'The path to follow', maxLength: MAX_PATH } },
    ['value', 'path'],
  ),
  outputSchema: gives({
    matches: { type: 'array', description: 'The values found, in order' },
    count: { type: 'integer' },
  }),
  annotations: READS,
  run(args) {
    const matches = follow(readJson(args, 'value'), parsePath(readText(args, 'path', MAX_PATH)));
    return { matches, count: matches.length };
  },
};

const FORMAT: BuiltinTool = {
  name: 'format',
  title: 'Format JSON',
  description: 'Check that a text is JSON and write it anew: indented or compact, with keys sorted if wanted.',
  inputSchema: takes(
    {
      value: VALUE,
      indent: {
        type: 'integer',
        minimum: 0,
        maximum: 8,
        default: 2,
        description: 'Spaces per level; 0 writes one line',
      },
      sort_keys: { type: 'boolean', default: false, description: 'Sort the keys of every object' },
    },
    ['value'],
  ),
  outputSchema: gives({ text: { type: 'string' } }),
  annotations: READS,
  run(args) {
    const value = readJson(args, 'value');
    const shown = readFlag(args, 'sort_keys') ? sortKeys(value) : value;
    return { text: JSON.stringify(shown, null, readInteger(args, 'indent', { min: 0, max: 8, fallback: 2 })) };
  },
};

const DIFF: BuiltinTool = {
  name: 'diff',
  title: 'Compare JSON',
  description:
    'Compare two JSON values by structure and list what was added, removed or changed, by path. The order of keys does not matter.',
  inputSchema: takes({ before: { description: 'The old JSON value' }, after: { description: 'The new JSON value' } }, [
    'before',
    'after',
  ]),
  outputSchema: gives({
    equal: { type: 'boolean' },
    differences: {
      type: 'array',
      maxItems: MAX_FINDINGS,
      items: {
        type: 'object',
        properties: {
          path: { type: 'string' },
          change: { enum: ['added', 'removed', 'changed'] },
          before: {},
          after: {},
        },
        required: ['path', 'change'],
      },
    },
  }),
  annotations: READS,
  run(args) {
    const found = differences(readJson(args, 'before'), readJson(args, 'after'));
    return { equal: found.length === 0, differences: found };
  },
};

const VALIDATE: BuiltinTool = {
  name: 'validate',
  title: 'Check JSON against a shape',
  description:
    'Check a JSON value against a shape written as an example of types: {"name": "string", "age?": "integer", "tags": ["string"], "id": "string|number"}. A question mark makes a key optional.',
  inputSchema: takes(
    { value: VALUE, shape: { description: 'Type name, [type] for lists, or an object of keys and shapes' } },
    ['value', 'shape'],
  ),
  outputSchema: gives({
    valid: { type: 'boolean' },
    problems: {
      type: 'array',
      maxItems: MAX_FINDINGS,
      items: gives({ path: { type: 'string' }, message: { type: 'string' } }),
    },
  }),
  annotations: READS,
  run(args) {
    const problems = mismatches(readJson(args, 'value'), readJson(args, 'shape'));
    return { valid: problems.length === 0, problems };
  },
};

const TO_TABLE: BuiltinTool = {
  name: 'to_table',
  title: 'Tabulate JSON',
  description: 'Write a list of objects as a Markdown, CSV or TSV table.',
  inputSchema: takes(
    {
      value: { description: 'A list of objects, or a text that contains one' },
      columns: { type: 'array', items: { type: 'string' }, description: 'Keys to show; all of them when absent' },
      format: { type: 'string', enum: FORMATS, default: 'markdown', description: 'Notation of the table' },
    },
    ['value'],
  ),
  outputSchema: gives({ text: { type: 'string' }, rows: { type: 'integer' } }),
  annotations: READS,
  run(args) {
    const table = tableOf(readJson(args, 'value'), readColumns(args));
    return { text: writeTable(table, readChoice(args, 'format', FORMATS, 'markdown')), rows: table.rows.length };
  },
};

export function createJson(): Toolbox {
  return {
    name: 'json',
    title: 'JSON',
    instructions: 'Works on JSON given as a value or as text: pick out, format, compare, check, tabulate.',
    tools: [QUERY, FORMAT, DIFF, VALIDATE, TO_TABLE],
  };
}

function readColumns(args: Record<string, unknown>): string[] | undefined {
  const columns = args.columns;
  if (columns === undefined) return undefined;
  if (!Array.isArray(columns) || !columns.every((name) => typeof name === 'string')) {
    rejectInput('"columns" must be a list of strings');
  }
  return columns;
}

/** Sorts keys recursively; the depth was limited on input. A null prototype keeps a key such as `__proto__`. */
function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys);
  if (typeof value !== 'object' || value === null) return value;
  const sorted: Record<string, unknown> = Object.create(null);
  for (const [key, inner] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) sorted[key] = sortKeys(inner);
  return sorted;
}
