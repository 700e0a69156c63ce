/** The `exec` tool: runs one tool, or several as a batch, and formats the results for a model. */
import type { Named } from '../../catalog/exposed-names.ts';
import type { Tool } from '../../catalog/listing.ts';
import { McpxError } from '../../errors.ts';
import { asksForInput } from '../../mcp/multi-round-trip.ts';
import { followingBlock } from '../../render/text-block.ts';
import { isReadOnly } from '../../render/tool-hints.ts';
import type { RequestContext, ToolCall, ToolResult } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { rewriteUris } from '../rewrite-uris.ts';
import { type Batch, type Ran, readBatch, runBatch } from './batch.ts';
import { shareProgress } from './batch-progress.ts';
import { mergedResult } from './batch-result.ts';
import { type BatchRoom, createRoom } from './batch-room.ts';
import { dialectOf, written } from './dialect.ts';
import { checkBatch, hasStrays, knownCall, withStrays } from './exec-arguments.ts';
import { isAbsent, isEmptyList } from './exec-members.ts';
import { errorResult } from './explain.ts';
import { resolved, type Scope } from './reference-lookup.ts';
import { mayRefer } from './references.ts';
import { withLinkLines } from './resource-links.ts';
import { type Given, givenBy, givenByValue, partOf, readResult } from './result-values.ts';
import { isShownAsItIs, type Shaping, shapeResult } from './results.ts';
import { compileProjection, type Projection } from './select.ts';
import { findTool, type Located, readTarget } from './tool-target.ts';

/** `read-only` refuses tools that are not declared read-only. */
type Runs = 'everything' | 'read-only';

/** One `exec` request. */
interface Request {
  way: RequestContext;
  client: ClientDeps;
  runs: Runs;
}

export async function exec(given: Params, way: RequestContext, client: ClientDeps, runs: Runs): Promise<ToolResult> {
  const args = knownCall(given);
  const request = { way, client, runs };
  const isNamed = Object.keys(readTarget(args)).length > 0;
  // A client that fills in every member sends an empty list.
  const isBatch = args.calls !== undefined && !(isNamed && isEmptyList(args.calls));
  if (isBatch) {
    if (isNamed) {
      throw new McpxError('arguments', 'name one tool, or several in "calls", and not both');
    }
    checkBatch(args);
    return runAll(readBatch(args), request);
  }
  if (!isAbsent(args.each)) return runAll(readBatch({ ...args, calls: [args] }), request);
  if (isResolved(args)) return (await run(args, request)).shown;
  const scope = { own: 0, earlier: async () => undefined, stored: client.clientResults };
  return (await run(await resolve(args, scope, client), request)).shown;
}

/** Finds the tool of a call that the router has not recorded; if there is none, the call is recorded as such. */
async function find(args: Params, request: Request): Promise<Located> {
  const { server, tool: name } = readTarget(args);
  try {
    return await locate(args, request);
  } catch (error) {
    const pick = (denied: Named[]) =>
      denied.find((one) => one.name === name && (server === undefined || one.server === server));
    if (name !== undefined) request.client.router.missed('tool', { server, name, pick }, request.way);
    throw error;
  }
}

async function locate(args: Params, { client }: Request): Promise<Located> {
  const { server, tool } = readTarget(args);
  if (tool === undefined) {
    const dialect = dialectOf(client.settings.front);
    const [name] = Object.keys(dialect.target('', ''));
    throw new McpxError('arguments', `say which tool to run in "${name}", such as "server.tool"`, {
      hint: `${dialect.inspect} lists the tools`,
    });
  }
  return findTool({ ...(server !== undefined && { server }), tool }, client);
}

/**
 * Returns the named tool without a lookup if its server is not listed yet; the router then waits, and the call is
 * visible meanwhile.
 */
function unlistedTarget(args: Params, { router }: ClientDeps): Located | undefined {
  const { server, tool } = readTarget(args);
  return server !== undefined && tool !== undefined && router.awaits(server) ? { server, tool } : undefined;
}

/** Returns the tool of exactly this name if it is listed. Any other name is looked up. */
function listedTarget(args: Params, { router }: ClientDeps): Located | undefined {
  const { server, tool } = readTarget(args);
  return server !== undefined && tool !== undefined && router.knows(server, tool) ? { server, tool } : undefined;
}

const unwanted =
  (server: string, { runs, client }: Request) =>
  (tool: Tool) => {
    if (runs === 'everything' || isReadOnly(tool.annotations)) return undefined;
    return new McpxError('arguments', `"${server}.${tool.name}" is not declared read-only, so it was not run`, {
      hint: `run it with ${dialectOf(client.settings.front).exec}`,
    });
  };

/** A request and what a call adds to it. */
interface Calling {
  request: Request;
  more: Partial<ToolCall>;
}

type Called = [result: ToolResult, target: Located];

function callListed({ server, tool }: Located, args: Params, { request, more }: Calling): Promise<ToolResult> {
  const own = { server, tool, arguments: args.arguments, unwanted: unwanted(server, request) };
  return request.client.router.call({ ...request.way, ...more, ...own });
}

/** Looks the tool up, which may list its server first, and calls it. */
async function findAndCall(args: Params, calling: Calling): Promise<Called> {
  const { request } = calling;
  const { client } = request;
  const call = async (target: Located): Promise<Called> => [await callListed(target, args, calling), target];
  const target = unlistedTarget(args, client);
  if (target === undefined) return call(await find(args, request));
  try {
    return await call(target);
  } catch (error) {
    if (!(error instanceof McpxError) || error.code !== 'not_found') throw error;
    // The server is listed now, so the name may resolve to a tool in another way.
    const found = await locate(args, request);
    if (found.server === target.server && found.tool === target.tool) throw error;
    return call(found);
  }
}

/** True if all arguments of the tool are in their place, without references. */
function isResolved(args: Params): boolean {
  return !mayRefer(args.arguments) && !hasStrays(args);
}

/** Returns the call with all arguments of the tool in their place, and the references in them replaced by their values. */
async function resolve(args: Params, scope: Scope, client: ClientDeps): Promise<Params> {
  if (isResolved(args)) return args;
  const tool = await listedTool(args, client);
  const call = tool !== undefined && hasStrays(args) ? withStrays(args, tool.inputSchema) : args;
  if (!mayRefer(call.arguments)) return call;
  return { ...call, arguments: await resolved(call.arguments, scope, tool?.inputSchema) };
}

/** Returns the tool of a call; undefined for a missing one, which the call itself reports. */
async function listedTool(args: Params, client: ClientDeps): Promise<Tool | undefined> {
  const { server, tool } = readTarget(args);
  if (tool === undefined) return undefined;
  try {
    const found = await findTool({ ...(server !== undefined && { server }), tool }, client);
    return await client.router.tool(found.server, found.tool);
  } catch {
    return undefined;
  }
}

/** True if the server is listed and declares the tool as read-only; other calls keep their place in the order. */
async function declaresReadOnly(args: Params, client: ClientDeps): Promise<boolean> {
  if (unlistedTarget(args, client) !== undefined) return false;
  return isReadOnly((await listedTool(args, client))?.annotations);
}

/** A call of a batch. */
interface Slot {
  room: BatchRoom;
  /** The arguments of all calls that the user confirms together. */
  together?: { arguments: unknown[] } | undefined;
}

async function run(args: Params, request: Request, slot?: Slot): Promise<Ran<ToolResult>> {
  const { client } = request;
  const { settings, clientResults, savings } = client;
  const select = isAbsent(args.select) ? undefined : await readSelect(args.select);
  const notes: string[] = [];
  const more: Calling['more'] = {
    noted: (said) => void notes.push(...said),
    // In a batch, a single call cannot answer with an input-required result.
    questions: slot === undefined ? 'pass' : 'ask',
    ...(slot?.together && { together: slot.together }),
  };
  const listed = listedTarget(args, client);
  const [answer, target] =
    listed === undefined
      ? await findAndCall(args, { request, more })
      : [await callListed(listed, args, { request, more }), listed];
  if (asksForInput(answer)) return { shown: answer };
  const result = rewriteUris(answer, target.server, settings.naming.resources);
  const among = slot?.room.share(result);
  const shaping: Shaping = {
    settings,
    clientResults,
    title: `${target.server}.${target.tool}`,
    readOn: (part) => written(dialectOf(settings.front).inspect, part),
    select,
    isHidden: isHidden(args),
    ...(among !== undefined && { among }),
  };
  const shortened = isShownAsItIs(result, shaping) ? result : await shapeResult(result, shaping);
  const shaped = withLinkLines(shortened, target.server, slot?.room.results ?? 1, client);
  savings.result(answer, shaped, client.identity.clientInfo);
  const shown = withNotes(shaped, notes);
  // Only other calls of the same batch can refer to the result.
  if (slot === undefined || shaped.isError === true) return { shown };
  return { shown, given: givenTo(result, select) };
}

/** Returns what later calls of the batch refer to: the selected part, else all of the result. */
function givenTo(result: ToolResult, select: Projection | undefined): Given {
  const given = givenBy(readResult(result));
  return select === undefined ? given : givenByValue(partOf(given, select).part);
}

async function runAll(batch: Batch, request: Request): Promise<ToolResult> {
  const { client } = request;
  const { settings } = client;
  // Other params of the request apply to all of it, so no single call gets them.
  const { extra: _, ...way } = request.way;
  const progress = shareProgress(batch.calls.length, way.progress);
  const room = createRoom(batch.calls.length, settings.limits.resultChars);
  const outcomes = await runBatch<ToolResult>(batch, {
    resolve: (call, scope) => resolve(call, scope, client),
    isReadOnly: (call) => declaresReadOnly(call, client),
    stored: client.clientResults,
    async run(call, place, together) {
      room.begin(place);
      const ran = await run(call, { ...request, way: { ...way, ...progress?.of(place) } }, { room, together });
      progress?.done(place);
      return ran;
    },
    failed(error, place) {
      progress?.done(place);
      return errorResult(error, dialectOf(settings.front));
    },
  });
  return mergedResult(batch, outcomes, settings.front.structured !== 'never');
}

function isHidden({ show }: Params): boolean {
  return show === false || show === 'false';
}

/** Compiles `select` before the tool runs, so that an invalid expression has no side effects. */
async function readSelect(expression: unknown): Promise<Projection> {
  try {
    return await compileProjection(expression);
  } catch (error) {
    if (!(error instanceof McpxError)) throw error;
    throw new McpxError(error.code, `${error.message}; the tool was not run`, { hint: error.hint, cause: error });
  }
}

function withNotes(result: ToolResult, notes: string[]): ToolResult {
  if (notes.length === 0) return result;
  const content = result.content ?? [];
  const note = followingBlock(content, notes.map((note) => `note: ${note}`).join('\n'));
  return { ...result, content: [...content, note] };
}
