/** Error messages for a model: the problem, the tool's signature and a valid example call. */
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import type { Tool } from '../../catalog/listing.ts';
import { McpxError, messageOf, RpcError } from '../../errors.ts';
import { textBlock } from '../../render/text-block.ts';
import { pageText } from '../../render/text-page.ts';
import { renderTool } from '../../render/typescript.ts';
import { exampleArguments } from '../../router/arguments.ts';
import type { ArgumentFault } from '../../router/not-found.ts';
import type { ToolResult } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import { type Dialect, written } from './dialect.ts';

/** Returns a failure as a tool result, so that the model can correct its call. */
export function errorResult(error: unknown, dialect: Dialect): ToolResult {
  return { content: [textBlock(explain(error, dialect))], isError: true } satisfies CallToolResult;
}

function explain(error: unknown, dialect: Dialect): string {
  if (error instanceof RpcError) return `error ${error.code}: ${error.message}`;
  if (!(error instanceof McpxError)) return `error: ${messageOf(error)}`;
  if (error.code === 'arguments' && isFault(error.data)) return explainFault(error.message, error.data, dialect);
  const hint = error.hint === undefined ? '' : `\nhint: ${error.hint}`;
  return `error: ${error.message}${hint}`;
}

function explainFault(message: string, { server, tool, worked }: ArgumentFault, dialect: Dialect): string {
  const about = written(dialect.inspect, dialect.target(server, tool.name));
  return [
    `error: ${message}`,
    '',
    bounded(renderTool(tool, { form: 'full' }), about),
    '',
    `example: ${bounded(exampleCall({ server, tool, worked }, dialect), about)}`,
  ].join('\n');
}

/** Maximum characters of a signature, and of an example, in an error. */
const MAX_PART = 10_000;

function bounded(text: string, about: string): string {
  const { text: head, next } = pageText(text, 0, MAX_PART);
  return next === undefined ? text : `${head}\n… ${text.length - head.length} more characters: ${about}`;
}

export interface Example {
  server: string;
  tool: Tool;
  /** Arguments of an earlier successful call; otherwise the example is built from the schema. */
  worked?: Params | undefined;
}

/** Returns a call of this tool that passes its argument check. */
export function exampleCall({ server, tool, worked }: Example, dialect: Dialect): string {
  const args = worked ?? exampleArguments(tool.inputSchema);
  return written(dialect.exec, { ...dialect.target(server, tool.name), arguments: args });
}

function isFault(data: unknown): data is ArgumentFault {
  return typeof data === 'object' && data !== null && 'problems' in data && 'tool' in data;
}
