/** Reads the exports of a local tool module and converts the return values of its handlers into MCP results. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { McpxError, messageOf } from '../../errors.ts';
import { isRecord } from '../../wire/message.ts';

/** The second argument of a handler. */
export interface ModuleContext {
  /** Aborts when the caller cancels or disconnects. */
  signal: AbortSignal;
  /** Sends a progress notification; does nothing if the caller did not request progress. */
  progress(progress: number, total?: number, message?: string): void;
}

/**
 * One tool. Other fields of a tool definition (`title`, `annotations`, `outputSchema`) are listed as written. A handler
 * returns a string (text), a plain object (structured content) or an object with a `content` list (a whole MCP result);
 * an exception becomes a result with `isError`.
 */
export interface ModuleTool {
  name: string;
  description?: string;
  /** JSON Schema of the arguments (default: any object). */
  inputSchema?: Record<string, unknown>;
  handler(args: Record<string, unknown>, context: ModuleContext): unknown;
}

/** A module exports `tools` as an array or as an object by name, as named exports or in the default export. */
export interface LocalModule {
  tools: Map<string, ModuleTool>;
  instructions?: string;
}

const HINT = 'export const tools = [{ name, description, inputSchema, handler(args) { … } }]';

export function readModule(exported: unknown, file: string): LocalModule {
  const sources = isRecord(exported) ? [exported, exported.default] : [];
  const [given] = [...sources.map((source) => field(source, 'tools')), sources[1]].filter(isList);
  const instructions = sources.map((source) => field(source, 'instructions')).find((text) => typeof text === 'string');
  if (given === undefined) throw new McpxError('config', `module "${file}" exports no tools`, { hint: HINT });
  const tools = new Map<string, ModuleTool>();
  for (const [name, value] of entries(given)) {
    const tool = readTool(name, value, file);
    if (tools.has(tool.name)) throw new McpxError('config', `module "${file}" exports two tools "${tool.name}"`);
    tools.set(tool.name, tool);
  }
  return { tools, ...(instructions === undefined ? {} : { instructions: String(instructions) }) };
}

function field(source: unknown, name: string): unknown {
  return isRecord(source) && Object.hasOwn(source, name) ? source[name] : undefined;
}

function isList(value: unknown): value is unknown[] | Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function entries(given: unknown[] | Record<string, unknown>): [string | undefined, unknown][] {
  return Array.isArray(given) ? given.map((tool) => [undefined, tool]) : Object.entries(given);
}

function readTool(key: string | undefined, value: unknown, file: string): ModuleTool {
  const { name = key, handler, ...rest } = isRecord(value) ? value : {};
  if (typeof name !== 'string' || name === '') {
    throw new McpxError('config', `module "${file}" exports a tool without a name`, { hint: HINT });
  }
  if (typeof handler !== 'function') {
    throw new McpxError('config', `tool "${name}" of module "${file}" has no handler`, { hint: HINT });
  }
  // The handler is called on the tool itself, so that it may use `this`.
  return { ...rest, name, handler: (args, context) => handler.call(value, args, context) };
}

/** Returns the tool definition for `tools/list`. */
export function definitionOf({ handler: _handler, inputSchema, ...rest }: ModuleTool): Record<string, unknown> {
  return { ...rest, inputSchema: inputSchema ?? { type: 'object' } };
}

/** Runs a tool; never rejects: an exception becomes a result with `isError`. */
export async function runTool(tool: ModuleTool, args: Record<string, unknown>, context: ModuleContext) {
  try {
    return toResult(await tool.handler(args, context));
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true } satisfies CallToolResult;
  }
}

function toResult(value: unknown): Record<string, unknown> {
  if (isRecord(value) && Array.isArray(value.content)) return value;
  if (value === undefined || value === null) return { content: [] } satisfies CallToolResult;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  const structured = isRecord(value) && { structuredContent: value };
  return { content: [{ type: 'text', text }], ...structured } satisfies CallToolResult;
}
