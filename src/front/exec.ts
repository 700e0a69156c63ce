/** The `exec` tool: runs one tool, or several as a batch, and shapes what they answer for a model. */
import type { Tool } from '../catalog/list.ts';
import { McpxError } from '../errors.ts';
import { followingBlock } from '../render/block.ts';
import { isReadOnly } from '../render/tool-hints.ts';
import { readCalls, runBatch, type Slot } from '../router/batch.ts';
import { compileProjection, type Projection } from '../router/project.ts';
import { isText, shapeResult, valuesOf } from '../router/results.ts';
import type { ToolCall, ToolResult, Way } from '../router/router.ts';
import { asksForInput } from '../upstream/rounds.ts';
import { isRecord, type Params } from '../wire/message.ts';
import { knownClient } from './clients.ts';
import { dialectOf, written } from './dialect.ts';
import { errorResult } from './explain.ts';
import type { FrontDeps } from './front.ts';
import { exposeLinks } from './links.ts';
import { findTool, type Located, readTarget } from './target.ts';
import { shareProgress } from './together.ts';

export interface ExecOptions {
  /** `read-only`: tools that do not say that they are get refused. */
  runs: 'everything' | 'read-only';
}

export function createExec(deps: FrontDeps, { runs }: ExecOptions): (args: Params, way: Way) => Promise<ToolResult> {
  const { router, shelf, meter } = deps;
  const dialect = dialectOf(deps.settings.front);

  async function find(args: Params, way: Way): Promise<Located> {
    const { server, tool } = readTarget(args);
    if (tool === undefined) {
      const [name] = Object.keys(dialect.target('', ''));
      throw new McpxError('arguments', `say which tool to run in "${name === 'method' ? name : 'tool_name'}"`, {
        hint: `${dialect.inspect} lists the tools`,
      });
    }
    try {
      return await findTool({ ...(server !== undefined && { server }), tool }, deps);
    } catch (error) {
      router.missed('tool', (denied) => denied.find(({ name }) => name === tool), way);
      throw error;
    }
  }

  /** Where the server that is named has to be listed first, its call waits for that, so that it is seen while it waits. */
  function named(args: Params): Located | undefined {
    const { server, tool } = readTarget(args);
    return server !== undefined && tool !== undefined && router.awaits(server) ? { server, tool } : undefined;
  }

  const unwanted = (server: string) => (tool: Tool) => {
    if (runs === 'everything' || isReadOnly(tool.annotations)) return undefined;
    return new McpxError('arguments', `"${server}.${tool.name}" does not say that it only reads, so it was not run`, {
      hint: `run it with ${dialect.exec}`,
    });
  };

  async function callTool(args: Params, way: Way, more: Partial<ToolCall>): Promise<[ToolResult, Located]> {
    const call = async (target: Located): Promise<[ToolResult, Located]> => [
      await router.call({
        ...way,
        ...target,
        arguments: argumentsOf(args),
        ...more,
        unwanted: unwanted(target.server),
      }),
      target,
    ];
    const target = named(args);
    if (target === undefined) return call(await find(args, way));
    return call(target).catch(async (error: unknown) => {
      if (!(error instanceof McpxError) || error.code !== 'not_found') throw error;
      // What the server has is known now: the name may be another one of a tool.
      const found = await find(args, way);
      if (found.server === target.server && found.tool === target.tool) throw error;
      return call(found);
    });
  }

  async function run(args: Params, way: Way, among?: number): Promise<Slot<ToolResult> & Located> {
    const { settings } = deps;
    const select = await readSelect(args.select);
    const notes: string[] = [];
    const [answer, target] = await callTool(args, way, {
      noted: (said) => void notes.push(...said),
      // In a batch no single call may answer with a question.
      questions: among === undefined ? 'pass' : 'ask',
    });
    if (asksForInput(answer)) return { ...target, shown: answer };
    const result = exposeLinks(answer, target.server, settings.naming.resources);
    const shaped = await shapeResult(result, {
      settings,
      shelf,
      title: `${target.server}.${target.tool}`,
      readOn: (part) => written(dialect.inspect, part),
      select,
      ...(among !== undefined && { among }),
    });
    meter.result(answer, shaped, knownClient(deps.caller.clientInfo));
    const shown = withNotes(shaped, notes);
    // Only another call of the same batch can refer to it.
    const isReferable = among !== undefined && result.isError !== true;
    return { ...target, shown, ...(isReferable && { values: referable(result) }) };
  }

  /** What else the request holds belongs to it as a whole, and no single call may have it. */
  async function runAll(calls: Params[], { extra: _, ...way }: Way): Promise<ToolResult> {
    const { settings } = deps;
    const progress = shareProgress(calls.length, way.progress);
    const slots = await runBatch<ToolResult>(calls, {
      async run(call, index) {
        const slot = await run(call, { ...way, ...progress?.of(index) }, calls.length);
        progress?.done(index);
        return slot;
      },
      failed(error, index) {
        progress?.done(index);
        return errorResult(error, dialect);
      },
    });
    return together(calls, slots, settings.front.structured !== 'never');
  }

  return async (args, way) => {
    if (args.calls === undefined) return (await run(args, way)).shown;
    if (Object.keys(readTarget(args)).length > 0) {
      throw new McpxError('arguments', 'name one tool, or several in "calls", and not both');
    }
    return runAll(readCalls(args.calls), way);
  };
}

/** What `exec` itself takes. */
const OWN = ['server_name', 'tool_name', 'method', 'arguments', 'select', 'calls'];

/** Some models write the arguments of a tool beside `arguments`, which they leave out or empty. */
function argumentsOf(args: Params): unknown {
  const given = args.arguments ?? '';
  const isEmpty = given === '' || (isRecord(given) && Object.keys(given).length === 0);
  const beside = Object.entries(args).filter(([key]) => !OWN.includes(key));
  return isEmpty && beside.length > 0 ? Object.fromEntries(beside) : args.arguments;
}

/** Read before anything is run: what is wrong with it then costs nothing. */
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

/** What a later call may refer to: the JSON of a result, else its text. */
function referable(result: ToolResult): unknown[] {
  const values = valuesOf(result);
  if (values.length > 0) return values;
  return [textOf(Array.isArray(result.content) ? result.content : [])];
}

/**
 * One result of many: every block under the number of its call, `isError` when none of them worked. The structured part says
 * no less than the text: a result without one is there as its text.
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
