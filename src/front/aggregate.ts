/** The aggregate front: lists every tool of the profile under its exposed name; changes only names and URIs. */
import { exposeNames, mayBeOf, type Named } from '../catalog/exposed-names.ts';
import type { Item, Tool } from '../catalog/listing.ts';
import { mapPages } from '../catalog/pagination.ts';
import { McpxError, RpcError, signInData } from '../errors.ts';
import type { RequestContext, ServerView, ToolCall, ToolResult } from '../router/router.ts';
import { INVALID_PARAMS } from '../wire/message.ts';
import { dialectOf } from './compact/dialect.ts';
import { errorResult } from './compact/explain.ts';
import type { ExposedTool } from './exposed-tables.ts';
import { extensionMethod } from './extensions.ts';
import type { Client, Face } from './front-interface.ts';
import { joinInstructions } from './instructions.ts';
import { provenance } from './prompts-resources.ts';
import { refreshAndFind } from './refresh-and-find.ts';
import { exposePage, rewriteUris } from './rewrite-uris.ts';
import { TASK_METHODS } from './task-methods.ts';

export function createAggregate(): Face {
  return {
    instructions: ({ router }) => joinInstructions(router.servers()),
    tool: (name, { exposed }) => exposed.tools().get(name)?.tool,
    tools: (client) => mapPages([...client.exposed.tools()], ([name, target]) => exposedTool(name, target, client)),
    call: callExposed,
    methods: TASK_METHODS,
    extension: extensionMethod,
  };
}

/** Finds a tool that the catalog lacks; throws if there is none. */
async function search(name: string, way: RequestContext, client: Client): Promise<Named> {
  const { naming } = client.settings;
  const find = () => client.exposed.tools().get(name);
  const mayHave = ({ name: server, entry }: ServerView) => mayBeOf(entry.spec.label ?? server, name, naming);
  return (await refreshAndFind({ find, mayHave }, client)) ?? unlisted(name, client) ?? missing(name, way, client);
}

function callExposed(name: string, args: unknown, way: RequestContext, client: Client): Promise<ToolResult> {
  const known = client.exposed.tools().get(name);
  return known === undefined ? searchAndCall(name, args, way, client) : call(known, args, way, client);
}

async function searchAndCall(name: string, args: unknown, way: RequestContext, client: Client): Promise<ToolResult> {
  return call(await search(name, way, client), args, way, client);
}

async function call(target: Named, args: unknown, way: RequestContext, client: Client): Promise<ToolResult> {
  try {
    const result = await client.router.call(toolCall(target, args, way));
    return rewriteUris(result, target.server, client.settings.naming.resources);
  } catch (error) {
    return refusalResult(error, client);
  }
}

function toolCall({ server, name: tool }: Named, args: unknown, way: RequestContext): ToolCall {
  return { ...way, server, tool, arguments: args, mode: 'verbatim', questions: 'pass' };
}

/**
 * Returns the tool error from which the model learns why mcpx refused the call, or that the user has to sign in; throws
 * any other error.
 */
function refusalResult(error: unknown, { settings }: Client): ToolResult {
  const isForModel = (error instanceof McpxError && error.code === 'refused') || signInData(error) !== undefined;
  if (!isForModel) throw error;
  return errorResult(error, dialectOf(settings.front));
}

/**
 * Returns the tool that the name means on the first server that could not be listed and may have it. The call is
 * recorded, and its error is the server's failure.
 */
function unlisted(name: string, { router, settings }: Client): Named | undefined {
  const { style, separator } = settings.naming;
  const down = router.servers().filter(({ name: server }) => router.awaits(server));
  const prefixes = down.map(({ name: server, entry }) => ({
    server,
    prefix: `${entry.spec.label ?? server}${separator}`,
  }));
  const named = prefixes.find(({ prefix }) => name.startsWith(prefix));
  if (named !== undefined) return { server: named.server, name: name.slice(named.prefix.length) };
  return style === 'prefix' || down[0] === undefined ? undefined : { server: down[0].name, name };
}

function missing(name: string, way: RequestContext, { router, settings }: Client): never {
  router.missed('tool', { name, pick: (denied) => exposeNames(denied, settings.naming).table.get(name) }, way);
  throw new RpcError(INVALID_PARAMS, `Unknown tool: ${name}`);
}

function exposedTool(name: string, { server, tool }: ExposedTool, { settings }: Client): Tool {
  const item = provenance(tool, server, { name });
  return { ...item, name, _meta: exposePage(item._meta as Item, server, settings.naming.resources) };
}
