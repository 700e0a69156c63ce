/** The shape of a built-in server: a few dependency-free tools that run inside mcpx itself. */

export interface BuiltinTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: Record<string, unknown>;
  outputSchema?: Record<string, unknown>;
  annotations?: Record<string, unknown>;
  /** Arguments have been checked against `inputSchema`. A plain object becomes `structuredContent` too; what it throws becomes `isError`. */
  run(args: Record<string, unknown>): unknown;
}

export interface Toolbox {
  name: string;
  title: string;
  instructions: string;
  tools: BuiltinTool[];
}
