/** The interface of a built-in server: a few dependency-free tools that run inside mcpx. */
import type { ToolAnnotations } from '@modelcontextprotocol/sdk/types.js';
import type { ObjectSchema } from './define.ts';

export interface BuiltinTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: ObjectSchema;
  outputSchema?: ObjectSchema;
  annotations?: ToolAnnotations;
  /**
   * Runs the tool with arguments that match `inputSchema`. A plain object becomes `structuredContent` too; an exception
   * becomes `isError`.
   */
  run(args: Record<string, unknown>): unknown;
}

export interface Toolbox {
  name: string;
  title: string;
  instructions: string;
  tools: BuiltinTool[];
}
