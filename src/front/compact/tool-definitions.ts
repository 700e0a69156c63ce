/** The compact front's tool definitions: names, descriptions and arguments, in both dialects. */
import type { Tool as SdkTool } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../catalog/listing.ts';
import type { Settings } from '../../config/config.ts';
import type { ServerView } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import { dialectOf } from './dialect.ts';
import { execAnnotations } from './exec-annotations.ts';

const STRING = { type: 'string' };
const INTEGER = { type: 'integer' };
/** Allows any member explicitly, because converters for strict schemas otherwise drop all members. */
const ANY_OBJECT = { type: 'object', additionalProperties: true };

/** The language of `select`, the order of a batch and the references to results, which the schema does not explain. */
const RUN =
  "Run a tool, or calls in order until one fails. select: JMESPath, 'x' strings. Arguments take {$from:'0.id'} of result 0, '{{r1.id}}' of kept r1. each:'0.ids' repeats with {{item}}, show:false hides";

/** Texts of each dialect; the same handlers serve both. */
const WORDS = {
  inspect: {
    target: { tool: STRING },
    server: { server_name: STRING },
    look: 'Run known ones with exec at once: bad arguments are answered with types, not run. query: one action. tool: server[.tool]',
    instructions: 'The description of inspect lists what there is; inspect finds the rest, exec runs it.',
  },
  describe: {
    target: { method: STRING },
    server: { method: STRING },
    look: 'Run known ones with call at once: bad arguments are answered with types, not run. query: one action. method: server[.tool]',
    instructions: 'The description of describe lists what there is; describe finds the rest, call runs it.',
  },
} as const satisfies Record<
  Settings['front']['dialect'],
  { target: Params; server: Params; look: string; instructions: string }
>;

/**
 * `_meta` for Claude Code: exempts the tools from its tool search, gives that search a hint anyway, and allows
 * results of up to 500,000 characters, its maximum: https://code.claude.com/docs/en/mcp
 */
const metaFor = (searchHint: string) => ({
  'anthropic/alwaysLoad': true,
  'anthropic/searchHint': searchHint,
  'anthropic/maxResultSizeChars': 500_000,
});

const READS = { readOnlyHint: true, idempotentHint: true, openWorldHint: false };

/** Returns the instructions. Server names come first, because some clients show the model only about 200 characters. */
export function instructionsOf(front: Settings['front'], servers: ServerView[]): string {
  const names = someNames(servers);
  const own = toolsOf(front, servers, '').map(({ name }) => name);
  const listed = `${own.slice(0, -1).join(', ')} and ${own.at(-1)}`;
  return `${names === '' ? '' : `${names}: `}MCP servers behind ${listed}. ${WORDS[front.dialect].instructions}`;
}

/** Returns the text before the menu. */
export function lookText({ dialect }: Settings['front'], servers: ServerView[]): string {
  const names = someNames(servers);
  const what = names === '' ? 'Look up unknown MCP tools' : `${names}: look up unknown tools`;
  return `${what}. ${WORDS[dialect].look}`;
}

/** Maximum characters of the server names at the beginning. */
const MAX_NAMES = 120;

function someNames(servers: ServerView[]): string {
  const names = servers.map(({ name }) => name).sort((a, b) => (a < b ? -1 : 1));
  let text = '';
  for (const [index, name] of names.entries()) {
    const longer = index === 0 ? name : `${text}, ${name}`;
    if (longer.length > MAX_NAMES) return index === 0 ? '' : `${text} and ${names.length - index} more`;
    text = longer;
  }
  return text;
}

/** `look` is the complete description of the `inspect` tool, with the menu. */
export function toolsOf(front: Settings['front'], servers: ServerView[], look: string): Tool[] {
  const names = dialectOf(front);
  const { target, server } = WORDS[front.dialect];
  const one = { ...target, arguments: ANY_OBJECT };
  const shown = { ...one, select: STRING };
  const runs = {
    type: 'object',
    properties: {
      ...shown,
      calls: { type: 'array', items: { ...ANY_OBJECT, properties: one } },
      parallel: { type: 'boolean' },
      onError: { enum: ['continue'] },
    },
  } satisfies SdkTool['inputSchema'];
  const { openWorldHint } = execAnnotations(servers);
  const all = [
    {
      name: names.inspect,
      title: 'Look up tools',
      description: look,
      inputSchema: {
        type: 'object',
        properties: { ...target, query: STRING, result: STRING, select: STRING, offset: INTEGER, limit: INTEGER },
      },
      annotations: READS,
      _meta: metaFor('find, list and describe the tools of every connected MCP server'),
    },
    {
      name: names.exec,
      title: 'Run a tool',
      description: RUN,
      inputSchema: runs,
      annotations: execAnnotations(servers),
      _meta: metaFor('run, call or execute a tool of any connected MCP server'),
    },
    front.execSplit === true && {
      name: names.read,
      title: 'Run a tool that only reads',
      description: `Read-only ${names.exec}`,
      // It accepts `calls` as well, which are not repeated to save tokens.
      inputSchema: { type: 'object', properties: shown },
      annotations: { readOnlyHint: true, openWorldHint },
      _meta: metaFor('run a read-only tool of any connected MCP server'),
    },
    hasResources(servers) && {
      name: 'resources',
      title: 'Read resources',
      description: 'List the resources of the MCP servers, or read one by its uri.',
      inputSchema: { type: 'object', properties: { ...server, uri: STRING } },
      annotations: { readOnlyHint: true, idempotentHint: true, openWorldHint },
      _meta: metaFor('list and read the resources of every connected MCP server'),
    },
  ] satisfies (SdkTool | false)[];
  return all.filter((tool) => tool !== false);
}

/** True if any server has resources; only then the `resources` tool is listed. */
export function hasResources(servers: ServerView[]): boolean {
  return servers.some(({ resources, templates }) => resources.length > 0 || templates.length > 0);
}
