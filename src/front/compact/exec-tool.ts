/** The `exec` tool: runs one tool, or several as a batch, and formats the results for a model. */
import type { Tool } from '../../catalog/listing.ts';
import { McpxError } from '../../errors.ts';
import { asksForInput } from '../../mcp/multi-round-trip.ts';
import { followingBlock } from '../../render/text-block.ts';
import { isReadOnly } from '../../render/tool-hints.ts';
import type { RequestContext, ToolCall, ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { knownClient } from '../known-clients.ts';
import { rewriteUris } from '../rewrite-uris.ts';
import { type BatchSlot, readCalls, runBatch } from './batch.ts';
import { shareProgress } from './batch-progress.ts';
import { dialectOf, written } from './dialect.ts';
import { errorResult } from './explain.ts';
import { withLinkLines } from './resource-links.ts';
import { isText, shapeResult, valuesOf } from './results.ts';
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

export async function exec(args: Params, way: RequestContext, client: ClientDeps, runs: Runs): Promise<ToolResult> {
  if (args.calls === undefined) return (await run(args, { way, client, runs })).shown;
  if (Object.keys(readTarget(args)).length > 0) {
    throw new McpxError('arguments', 'name one tool, or several in "calls", and not both');
  }
  return runAll(readCalls(args.calls), { way, client, runs });
}

async function find(args: Params, { way, client }: Request): Promise<Located> {
  const { server, tool } = readTarget(args);
  if (tool === undefined) {
    const dialect = dialectOf(client.settings.front);
    const [name] = Object.keys(dialect.target('', ''));
    throw new McpxError('arguments', `say which tool to run in "${name === 'method' ? name : 'tool_name'}"`, {
      hint: `${dialect.inspect} lists the tools`,
    });
  }
  try {
    return await findTool({ ...(server !== undefined && { server }), tool }, client);
  } catch (error) {
    client.router.missed('tool', (denied) => denied.find(({ name }) => name === tool), way);
    throw error;
  }
}

/**
 * Returns the named tool without a lookup if its server is not listed yet; the router then waits, and the call is
 * visible meanwhile.
 */
function unlistedTarget(args: Params, { router }: ClientDeps): Located | undefined {
  const { server, tool } = readTarget(args);
  return server !== undefined && tool !== undefined && router.awaits(server) ? { server, tool } : undefined;
}

const unwanted =
  (server: string, { runs, client }: Request) =>
  (tool: Tool) => {
    if (runs === 'everything' || isReadOnly(tool.annotations)) return undefined;
    return new McpxError('arguments', `"${server}.${tool.name}" is not declared read-only, so it was not run`, {
      hint: `run it with ${dialectOf(client.settings.front).exec}`,
    });
  };

type Called = [result: ToolResult, target: Located];

async function callTool(args: Params, request: Request, more: Partial<ToolCall>): Promise<Called> {
  const { way, client } = request;
  const call = async (target: Located): Promise<Called> => {
    const own = { ...target, arguments: argumentsOf(args), unwanted: unwanted(target.server, request) };
    return [await client.router.call({ ...way, ...more, ...own }), target];
  };
  const target = unlistedTarget(args, client);
  if (target === undefined) return call(await find(args, request));
  try {
    return await call(target);
  } catch (error) {
    if (!(error instanceof McpxError) || error.code !== 'not_found') throw error;
    // The server is listed now, so the name may resolve to a tool in another way.
    const found = await find(args, request);
    if (found.server === target.server && found.tool === target.tool) throw error;
    return call(found);
  }
}

/** Runs one tool; `among` is the number of calls in its batch. */
async function run(args: Params, request: Request, among?: number): Promise<BatchSlot<ToolResult> & Located> {
  const { client } = request;
  const { settings, clientResults, savings } = client;
  const select = await readSelect(args.select);
  const notes: string[] = [];
  const [answer, target] = await callTool(args, request, {
    noted: (said) => void notes.push(...said),
    // In a batch, a single call cannot answer with an input-required result.
    questions: among === undefined ? 'pass' : 'ask',
  });
  if (asksForInput(answer)) return { ...target, shown: answer };
  const result = rewriteUris(answer, target.server, settings.naming.resources);
  const shortened = await shapeResult(result, {
    settings,
    clientResults,
    title: `${target.server}.${target.tool}`,
    readOn: (part) => written(dialectOf(settings.front).inspect, part),
    select,
    ...(among !== undefined && { among }),
  });
  const shaped = withLinkLines(shortened, target.server, among ?? 1, client);
  savings.result(answer, shaped, knownClient(client.identity.clientInfo));
  const shown = withNotes(shaped, notes);
  // Only other calls of the same batch can refer to the result.
  const isReferable = among !== undefined && result.isError !== true;
  return { ...target, shown, ...(isReferable && { values: referable(result) }) };
}

async function runAll(calls: Params[], request: Request): Promise<ToolResult> {
  const { settings } = request.client;
  // Other params of the request apply to all of it, so no single call gets them.
  const { extra: _, ...way } = request.way;
  const progress = shareProgress(calls.length, way.progress);
  const slots = await runBatch<ToolResult>(calls, {
    async run(call, index) {
      const slot = await run(call, { ...request, way: { ...way, ...progress?.of(index) } }, calls.length);
      progress?.done(index);
      return slot;
    },
    failed(error, index) {
      progress?.done(index);
      return errorResult(error, dialectOf(settings.front));
    },
  });
  return together(calls, slots, settings.front.structured !== 'never');
}

/** The arguments of `exec` itself. */
const OWN = ['server_name', 'tool_name', 'method', 'arguments', 'select', 'calls'];

/** Some models put a tool's arguments next to `arguments`, which is then missing or empty. */
function argumentsOf(args: Params): unknown {
  const given = args.arguments ?? '';
  const isEmpty = given === '' || (isRecord(given) && Object.keys(given).length === 0);
  const beside = Object.entries(args).filter(([key]) => !OWN.includes(key));
  return isEmpty && beside.length > 0 ? Object.fromEntries(beside) : args.arguments;
}

/** Compiles `select` before the tool runs, so that an invalid expression has no side effects. */
async function readSelect(expression: unknown): Promise<Projection | undefined> {
  if (expression === undefined || expression === null || expression === '') return undefined;
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

/** Returns the values that a later call may refer to: the JSON of a result, else its text. */
function referable(result: ToolResult): unknown[] {
  const values = valuesOf(result);
  if (values.length > 0) return values;
  return [textOf(Array.isArray(result.content) ? result.content : [])];
}

/**
 * Merges the results of a batch: each block follows the number of its call, and `isError` is set if all calls failed.
 * The structured content is as complete as the text: a result without structured content appears as text.
 */
function together(calls: Params[], slots: ToolResult[], structured: boolean): ToolResult {
  const content: unknown[] = [];
  for (const [index, { content: blocks = [], isError }] of slots.entries()) {
    const head = `[${index}] ${nameOf(calls[index] ?? {})}${isError === true ? ' failed' : ''}`;
    const [first, ...rest] = blocks;
    if (isText(first)) content.push({ ...first, ...followingBlock(content, `${head}\n${first.text}`) }, ...rest);
    else content.push(followingBlock(content, head), ...blocks);
  }
  const results = slots.map(({ structuredContent, content = [], isError }) => ({
    ...(structuredContent === undefined ? { text: textOf(content) } : { structuredContent }),
    ...(isError === true && { isError }),
  }));
  const telling = structured && slots.some(({ structuredContent }) => structuredContent !== undefined);
  return {
    content,
    ...(slots.every(({ isError }) => isError === true) && { isError: true }),
    ...(telling && { structuredContent: { results } }),
  };
}

function textOf(content: unknown[]): string {
  return content
    .filter(isText)
    .map(({ text }) => text)
    .join('\n');
}

function nameOf({ server_name, tool_name, method }: Params): string {
  const names = [server_name, tool_name ?? method].filter((name) => typeof name === 'string' && name !== '');
  return names.join('.');
}
