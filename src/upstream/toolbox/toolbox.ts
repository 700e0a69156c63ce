/** The interface of a built-in server: a few dependency-free tools that run inside mcpx. */

export interface BuiltinTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
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
