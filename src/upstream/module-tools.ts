/** What a module of local tools exports, read into one form, and what its handlers return, as MCP results. */
import { McpxError, messageOf } from '../errors.ts';
import { isRecord } from '../wire/message.ts';

/** What a handler is told beside its arguments. */
export interface ModuleContext {
  /** Aborted when the caller gives up or goes away. */
  signal: AbortSignal;
  /** Tells the caller how far it is; does nothing when nobody asked. */
  progress(progress: number, total?: number, message?: string): void;
}

/**
 * One tool. Any other field of a tool definition (`title`, `annotations`, `outputSchema`) is listed as written.
 * A string is the answer; a plain object is the structured answer; an object with a `content` list is a whole MCP result;
 * what is thrown is an answer with `isError`.
 */
export interface ModuleTool {
  name: string;
  description?: string;
  /** JSON Schema (default: any object). */
  inputSchema?: Record<string, unknown>;
  handler(args: Record<string, unknown>, context: ModuleContext): unknown;
}

/** `export const tools = [...]`, or an object of tools by name; as named exports or in the default export. */
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
  // Called on the tool itself, so that a handler may use `this`.
  return { ...rest, name, handler: (args, context) => handler.call(value, args, context) };
}

/** The definition of a tool as a list shows it. */
export function definitionOf({ handler: _handler, inputSchema, ...rest }: ModuleTool): Record<string, unknown> {
  return { ...rest, inputSchema: inputSchema ?? { type: 'object' } };
}

/** Never rejects: a failure of the handler is an answer that says so. */
export async function runTool(tool: ModuleTool, args: Record<string, unknown>, context: ModuleContext) {
  try {
    return toResult(await tool.handler(args, context));
  } catch (error) {
    return { content: [{ type: 'text', text: messageOf(error) }], isError: true };
  }
}

function toResult(value: unknown): Record<string, unknown> {
  if (isRecord(value) && Array.isArray(value.content)) return value;
  if (value === undefined || value === null) return { content: [] };
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? String(value));
  return { content: [{ type: 'text', text }], ...(isRecord(value) ? { structuredContent: value } : {}) };
}
