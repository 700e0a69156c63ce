/** The compact front: gives access to every tool of the profile through `inspect` and `exec`. */
import type { Tool } from '../../catalog/listing.ts';
import type { Settings } from '../../config/config.ts';
import { RpcError } from '../../errors.ts';
import { asName } from '../../render/text.ts';
import { withLabel } from '../../render/text-block.ts';
import type { RequestContext, ServerView, ToolResult } from '../../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../../wire/message.ts';
import type { Client, Face } from '../front-interface.ts';
import { menuLimit, settingsFor } from '../known-clients.ts';
import { isForClient } from '../url-elicitation.ts';
import { dialectOf } from './dialect.ts';
import { exec } from './exec-tool.ts';
import { errorResult } from './explain.ts';
import { inspect, MENU_WAIT } from './inspect-tool.ts';
import { renderMenu } from './menu.ts';
import { readResources } from './resources-tool.ts';
import { hasResources, instructionsOf, lookText, toolsOf } from './tool-definitions.ts';

/** Returns the tools that a client lists; the menu fits the client's limit for descriptions. */
export function compactTools(
  servers: ServerView[],
  { front, compression }: Pick<Settings, 'front' | 'compression'>,
  clientInfo?: { name: string; version?: string },
): Tool[] {
  const lookUp = lookText(front, servers);
  const most = menuLimit(front, clientInfo);
  const { maxInstructions } = compression;
  const menu = renderMenu(servers, { budget: most - lookUp.length - 2, maxInstructions });
  return toolsOf(front, servers, menu === '' ? lookUp : `${lookUp}\n\n${menu}`);
}

type Handler = (args: Params, way: RequestContext, client: Client) => Promise<ToolResult>;

/** The handlers of the tools, in the words of each dialect. */
function handlerOf(name: string, { front }: Settings): Handler | undefined {
  const dialect = dialectOf(front);
  if (name === dialect.inspect) return inspect;
  if (name === dialect.exec) return (args, way, client) => exec(args, way, client, 'everything');
  if (name === dialect.read && front.execSplit === true)
    return (args, way, client) => exec(args, way, client, 'read-only');
  return name === 'resources' ? readResources : undefined;
}

function listTools(client: Client): Tool[] {
  const { router, savings, search, settings, identity, read } = client;
  const servers = router.servers();
  const tools = compactTools(servers, settings, identity.clientInfo);
  read.hasResources = hasResources(servers);
  // Counts the menu once per client, after the response is sent.
  if (!read.isCounted) {
    const instructions = instructionsOf(settings.front, servers);
    setImmediate(() => savings.menu(servers, { tools, instructions }, identity));
  }
  read.isCounted = true;
  search.prepare(() => ({ servers: router.servers(), revision: router.revision() }));
  return tools;
}

export function createCompact(): Face {
  return {
    instructions: ({ router, settings }) => instructionsOf(settings.front, router.servers()),
    listWait: MENU_WAIT,
    tools: listTools,
    affected(kinds, { read, router }) {
      const appears =
        kinds.has('resources') &&
        read.hasResources !== undefined &&
        read.hasResources !== hasResources(router.servers());
      return appears ? [...kinds, 'tools'] : kinds;
    },
    async call(name, args, way, client) {
      const handle = handlerOf(name, client.settings);
      if (handle === undefined) throw new RpcError(INVALID_PARAMS, `Unknown tool: ${asName(name)}`);
      const dialect = dialectOf(client.settings.front);
      try {
        const answer = await handle(withoutUnused(args), way, client);
        if (name === dialect.inspect) client.savings.lookup(answer);
        return client.settings.front.labelsJson ? labelled(answer) : answer;
      } catch (error) {
        if (isForClient(error, client.identity)) throw error;
        return errorResult(error, dialect);
      }
    },
    methods: [],
    settingsFor,
  };
}

/** Makes a result acceptable for a client that parses its first text, unless it has structured content. */
function labelled(answer: ToolResult): ToolResult {
  const { content, structuredContent } = answer;
  return structuredContent === undefined && content ? { ...answer, content: withLabel(content) } : answer;
}

/**
 * Removes members that are null, also in `calls`: a model that follows a strict schema of OpenAI sends every member.
 * The arguments of a tool are left as they are.
 */
function withoutUnused(args: unknown): Params {
  const present = isRecord(args) ? dropNulls(args) : {};
  const { calls } = present;
  if (!Array.isArray(calls)) return present;
  return { ...present, calls: calls.map((call) => (isRecord(call) ? dropNulls(call) : call)) };
}

function dropNulls(record: Params): Params {
  // Most calls have no null, and a copy of each took 1.4 % of the time of a call.
  if (!Object.values(record).includes(null)) return record;
  return Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null));
}
