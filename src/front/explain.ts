/** Failures in words for a model: what is wrong, how the tool is called, and one call that works. */
import type { Tool } from '../catalog/list.ts';
import { McpxError, messageOf, RpcError } from '../errors.ts';
import { renderTool } from '../render/typescript.ts';
import { exampleArguments } from '../router/arguments.ts';
import type { ArgumentFault } from '../router/missing.ts';
import type { ToolResult } from '../router/router.ts';

/** Every failure is a result, so that the model can correct itself. */
export function errorResult(error: unknown): ToolResult {
  return { content: [{ type: 'text', text: explain(error) }], isError: true };
}

function explain(error: unknown): string {
  if (error instanceof RpcError) return `error ${error.code}: ${error.message}`;
  if (!(error instanceof McpxError)) return `error: ${messageOf(error)}`;
  if (error.code === 'arguments' && isFault(error.data)) return explainFault(error.message, error.data);
  const hint = error.hint === undefined ? '' : `\nhint: ${error.hint}`;
  return `error: ${error.message}${hint}`;
}

function explainFault(message: string, { server, tool }: ArgumentFault): string {
  return [
    `error: ${message}`,
    '',
    renderTool(tool, { form: 'full' }),
    '',
    `example: ${exampleCall(server, tool)}`,
  ].join('\n');
}

/** An `exec` call of this tool that passes its check. */
export function exampleCall(server: string, tool: Tool): string {
  const call = { server_name: server, tool_name: tool.name, arguments: exampleArguments(tool.inputSchema) };
  return `exec ${JSON.stringify(call)}`;
}

function isFault(data: unknown): data is ArgumentFault {
  return typeof data === 'object' && data !== null && 'problems' in data && 'tool' in data;
}
