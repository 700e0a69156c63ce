/** The `inspect` tool: the servers, the tools of one, or one tool's whole definition, as TypeScript. */
import type { Tool } from '../catalog/list.ts';
import type { Settings } from '../config/config.ts';
import { messageOf } from '../errors.ts';
import { cut, oneLine } from '../render/text.ts';
import { hasNestedArguments, renderTool } from '../render/typescript.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import type { Params } from '../wire/message.ts';
import { exampleCall } from './explain.ts';
import type { FrontDeps } from './front.ts';
import { ownerOf, readTarget } from './target.ts';

type Deps = Pick<FrontDeps, 'router' | 'settings' | 'listed'>;

export function createInspect(deps: Deps): (args: Params) => Promise<ToolResult> {
  return async (args) => {
    const { server, tool } = readTarget(args);
    if (server === undefined && tool === undefined) return inspectAll(deps);
    if (tool === undefined) return inspectServer(server as string, deps);
    if (server !== undefined) return inspectTool(server, tool, deps);
    await deps.listed();
    // `method: "github"` names a server as often as a tool.
    const known = deps.router.servers().some(({ name }) => name === tool);
    return known ? inspectServer(tool, deps) : inspectTool(ownerOf(tool, deps.router), tool, deps);
  };
}

async function inspectAll({ router, settings, listed }: Deps): Promise<ToolResult> {
  await listed();
  const lines = router.servers().map((server) => serverLine(server, settings.compression.maxInstructions));
  return textResult(lines.length === 0 ? 'No server is configured.' : lines.sort().join('\n'));
}

async function inspectServer(name: string, { router, settings }: Deps): Promise<ToolResult> {
  const server = await router.server(name);
  const structured = settings.front.structured === 'always' && { server: name, tools: server.tools.map(definition) };
  return textResult(describeServer(server, settings), structured);
}

async function inspectTool(server: string, name: string, { router, settings }: Deps): Promise<ToolResult> {
  const tool = await router.tool(server, name);
  const structured = settings.front.structured !== 'never' && definition(tool);
  return textResult(describeTool(server, tool, settings), structured);
}

/** A server in the short form: one signature and one sentence per tool. Throws what kept it from being listed. */
export function describeServer(server: ServerView, { compression }: Pick<Settings, 'compression'>): string {
  const { listing } = server.entry;
  if (listing.kind === 'failed' && server.tools.length === 0) throw listing.error;
  const { maxDescription, schema } = compression;
  const tools = server.tools.map((tool) =>
    schema === 'json' ? JSON.stringify(definition(tool)) : renderTool(tool, { form: 'short', maxDescription }),
  );
  return [serverLine(server, compression.maxInstructions), ...tools].join('\n');
}

/** One tool in full. */
export function describeTool(server: string, tool: Tool, { compression }: Pick<Settings, 'compression'>): string {
  if (compression.schema === 'json') return JSON.stringify(definition(tool));
  const example = hasNestedArguments(tool.inputSchema) ? `\nexample: ${exampleCall(server, tool)}` : '';
  return renderTool(tool, { form: 'full' }) + example;
}

function serverLine({ name, tools, entry }: ServerView, maxInstructions: number): string {
  const { listing, spec, hello } = entry;
  if (listing.kind === 'failed' && tools.length === 0) {
    return `${name}: not available: ${messageOf(listing.error).split('\n')[0]}`;
  }
  if (listing.kind === 'unlisted') return `${name}: still starting`;
  const about = spec.description ?? hello?.instructions ?? '';
  const note = about === '' ? '' : ` — ${cut(oneLine(about), maxInstructions)}`;
  return `${name} (${tools.length === 1 ? '1 tool' : `${tools.length} tools`})${note}`;
}

/** What the upstream said of a tool, untouched. */
export function definition({ name, description, inputSchema, outputSchema, annotations }: Tool): Params {
  return Object.fromEntries(
    Object.entries({ name, description, inputSchema, outputSchema, annotations }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}

function textResult(text: string, structuredContent?: Params | false): ToolResult {
  return { content: [{ type: 'text', text }], ...(structuredContent && { structuredContent }) };
}
