/** The `inspect` tool: describes all servers, one server, or one tool as TypeScript, or searches for tools. */

import { unansweredLists } from '../../catalog/list-requests.ts';
import type { Tool } from '../../catalog/listing.ts';
import type { Settings } from '../../config/config.ts';
import { McpxError, messageOf } from '../../errors.ts';
import { isLarger } from '../../render/json-size.ts';
import { asName, cut, oneLine } from '../../render/text.ts';
import { fits } from '../../render/text-page.ts';
import { estimateTokens } from '../../render/token-estimate.ts';
import {
  firstSentence,
  hasNestedArguments,
  parameterList,
  partSignature,
  renderTool,
} from '../../render/typescript.ts';
import { noServers } from '../../router/not-found.ts';
import type { ServerView, ToolResult } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { aboutServer, wholeInstructions } from '../instructions.ts';
import { dialectOf, written } from './dialect.ts';
import { type Example, exampleCall } from './explain.ts';
import { knownArguments } from './inspect-arguments.ts';
import { inspectResult } from './inspect-result.ts';
import { type Description, findTools, questionOf } from './inspect-search.ts';
import { linesWithin } from './menu.ts';
import { presentText, roomOf } from './result-handle.ts';
import { findTool, meantBy, readTarget } from './tool-target.ts';

type Deps = Pick<ClientDeps, 'router' | 'settings' | 'listed' | 'verify' | 'clientResults' | 'search'>;

export async function inspect(given: Params, _: unknown, deps: Deps): Promise<ToolResult> {
  const args = knownArguments(given);
  return args.result === undefined ? within(await describe(args, deps), deps) : inspectResult(args, deps);
}

async function describe(args: Params, deps: Deps): Promise<Description> {
  const { server, tool } = readTarget(args);
  const question = questionOf(args);
  if (question !== undefined && tool === undefined) return findTools(args, server, deps);
  if (server === undefined && tool === undefined) return inspectAll(deps);
  if (tool === undefined) return inspectServer(server as string, deps);
  if (server !== undefined) return inspectTool({ server, tool }, deps);
  await deps.listed();
  // `method: "github"` may name a server or a tool.
  const named = meantBy(tool, deps.router.servers())?.name;
  if (named === undefined) return inspectTool({ tool }, deps);
  return question === undefined ? inspectServer(named, deps) : findTools(args, named, deps);
}

/** Cuts the text to `limits.resultChars` and stores the rest; leaves out structured content that is larger. */
async function within({ text, structured }: Description, { settings, clientResults }: Deps): Promise<ToolResult> {
  const { inspect: tool } = dialectOf(settings.front);
  const max = settings.limits.resultChars;
  const readOn = (part: Params) => written(tool, part);
  const content = await presentText(text, { settings, clientResults, title: tool, readOn, head: max });
  return { content, ...(structured && !isLarger(structured, max) && { structuredContent: structured }) };
}

/**
 * Milliseconds that the first menu waits for servers that were never listed, so that it is there within 500 ms. Clients
 * start their first turn without tools that are late; a server that is not listed by then is marked so.
 */
export const MENU_WAIT = 400;

async function inspectAll({ router, settings, listed }: Deps): Promise<Description> {
  await listed(MENU_WAIT);
  const lines = router.servers().map((server) => serverLine(server, settings.compression.maxInstructions));
  return { text: lines.length === 0 ? noServers(router.configFile) : lines.sort().join('\n') };
}

async function inspectServer(name: string, { router, settings }: Deps): Promise<Description> {
  const server = await router.server(name);
  const { tools } = server;
  const isShown = settings.front.structured !== 'never' && !areLarger(tools, settings.limits.resultChars);
  const structured = isShown && { server: name, tools: tools.map(definition) };
  return { text: describeServer(server, settings), structured };
}

/** True if the definitions certainly have more than `max` characters; with thousands of tools few of them are read. */
function areLarger(tools: readonly Tool[], max: number): boolean {
  let left = max;
  for (const { name, description = '' } of tools) {
    left -= name.length + description.length;
    if (left < 0) return true;
  }
  return false;
}

async function inspectTool(target: { server?: string; tool: string }, deps: Deps): Promise<Description> {
  const { router, settings } = deps;
  const { name: wanted, path } = readPath(target.tool);
  const { server, tool: name } = await findTool({ ...target, tool: wanted }, deps);
  const tool = await router.tool(server, name);
  if (path !== undefined) return inspectPart({ server, tool, path }, settings);
  const structured = settings.front.structured !== 'never' && definition(tool);
  const about = { server, tool, worked: router.experience.lastArguments(server, name) };
  const hasFailed = router.experience.hasFailed(server, name);
  return { text: describeTool({ ...about, hasFailed }, settings), structured };
}

/** Splits `tool#/path`, which names a part of the tool's definition. */
function readPath(tool: string): { name: string; path?: string } {
  const at = tool.indexOf('#/');
  return at < 0 ? { name: tool } : { name: tool.slice(0, at), path: tool.slice(at + '#/'.length) };
}

interface Part {
  server: string;
  tool: Tool;
  /** Names of properties, or keys of the schema, with a slash between them. */
  path: string;
}

/** Describes one parameter, or a part of it or of the result, completely. */
function inspectPart({ server, tool, path }: Part, { front, compression }: Settings): Description {
  const part = partSignature(tool, path);
  const name = `${server}.${tool.name}`;
  if (part === undefined) {
    throw new McpxError('not_found', `"${name}" has no part "#/${asName(path)}"`, {
      hint: `the parameters are: ${parameterList(tool.inputSchema)}`,
    });
  }
  const { schema } = part;
  const structured = front.structured !== 'never' && { tool: name, path: `#/${path}`, schema };
  const text = compression.schema === 'json' ? JSON.stringify(schema) : `${name}#/${path}: ${part.text}`;
  return { text, structured };
}

/** Forms of a tool's line, the longest first; a server may have thousands of tools. */
const FORMS: ((tool: Tool, maxDescription: number) => string)[] = [
  (tool, maxDescription) => renderTool(tool, { form: 'short', maxDescription }),
  (tool, maxDescription) => {
    const sentence = cut(firstSentence(tool.description ?? ''), maxDescription);
    return `${tool.name}(${parameterList(tool.inputSchema)})${sentence === '' ? '' : ` // ${sentence}`}`;
  },
  (tool) => `${tool.name}(${parameterList(tool.inputSchema)})`,
  (tool) => tool.name,
];

/** Maximum characters of a server's tools; with more, it is cheaper to search. */
const MAX_SERVER = 24_000;

/**
 * Describes a server with one signature and one sentence per tool, or shorter lines if the text would exceed
 * `MAX_SERVER` or `limits.resultChars`. Throws the error that kept the server from being listed.
 */
export function describeServer(
  server: ServerView,
  { compression, limits, front }: Pick<Settings, 'compression' | 'limits' | 'front'>,
): string {
  const { listing } = server.entry;
  if (listing.kind === 'failed' && server.tools.length === 0) throw listing.error;
  const { maxDescription, schema } = compression;
  const { maxInstructions } = compression;
  const instructions = wholeInstructions(server, maxInstructions, limits.resultChars / 2);
  const line = serverLine(server, instructions.length === 0 ? maxInstructions : 0);
  const head = [line, ...instructions, ...unansweredLists(server.entry.offer)].join('\n');
  if (schema === 'json') return [head, ...server.tools.map((tool) => JSON.stringify(definition(tool)))].join('\n');
  const dialect = dialectOf(front);
  const search = written(dialect.inspect, { ...dialect.server(server.name), query: '…' });
  // A shell command has no limit.
  const most = Number.isFinite(limits.resultChars) ? MAX_SERVER : Number.POSITIVE_INFINITY;
  const room = roomOf({ limits });
  for (const [index, form] of FORMS.entries()) {
    const note = index === 0 ? '' : `\n${TOO_MANY}${search})`;
    const max = Math.min(most, room.chars) - head.length - note.length;
    const lines = linesWithin(server.tools, (tool) => `\n${form(tool, maxDescription)}`, max);
    const text = lines === undefined ? undefined : `${head}${note}${lines}`;
    if (text !== undefined && fits(text, room)) return text;
  }
  return `${head}\n${TOO_MANY}${search})\n${firstTools(server.tools)}`;
}

const TOO_MANY = '(too many tools to describe all here; to find one: ';

/** Maximum characters of the names of a server whose tools are not even all named. */
const MAX_NAMES = 8_000;

function firstTools(tools: readonly Tool[]): string {
  let left = MAX_NAMES;
  const shown = tools.filter(({ name }) => {
    left -= name.length + 1;
    return left >= 0;
  });
  return [...shown.map(({ name }) => name), `… and ${tools.length - shown.length} more`].join('\n');
}

interface Described extends Example {
  /** True if an earlier call of this client failed; then the text includes an example. */
  hasFailed: boolean;
}

/**
 * Describes one tool completely, with an example if an earlier call failed, or if its arguments are nested and the text
 * stays clearly shorter than the tool's JSON.
 */
export function describeTool(
  { server, tool, worked, hasFailed }: Described,
  { compression, front }: Pick<Settings, 'compression' | 'front'>,
): string {
  const json = JSON.stringify(definition(tool));
  if (compression.schema === 'json') return json;
  const dialect = dialectOf(front);
  const more = (path: string) => `more: ${written(dialect.inspect, dialect.target(server, tool.name + path))}`;
  const text = renderTool(tool, { form: 'full', titled: true, more });
  if (!hasFailed && !hasNestedArguments(tool.inputSchema)) return text;
  const whole = `${text}\nexample: ${exampleCall({ server, tool, worked }, dialect)}`;
  return hasFailed || estimateTokens(whole) <= WITH_EXAMPLE * estimateTokens(json) ? whole : text;
}

/** Share of the tokens of a tool's JSON that its description may take with an example. */
const WITH_EXAMPLE = 0.75;

function serverLine({ name, tools, entry }: ServerView, maxInstructions: number): string {
  const { listing } = entry;
  if (listing.kind === 'failed' && tools.length === 0) {
    return `${name}: not available: ${messageOf(listing.error).split('\n')[0]}`;
  }
  if (listing.kind === 'unlisted') return `${name}: still starting`;
  const about = cut(oneLine(aboutServer({ entry })), maxInstructions);
  const note = about === '' ? '' : ` — ${about}`;
  return `${name} (${tools.length === 1 ? '1 tool' : `${tools.length} tools`})${note}`;
}

/** Returns the tool's definition as the upstream sent it. */
export function definition({ name, title, description, inputSchema, outputSchema, annotations }: Tool): Params {
  return Object.fromEntries(
    Object.entries({ name, title, description, inputSchema, outputSchema, annotations }).filter(
      ([, value]) => value !== undefined,
    ),
  );
}
