/** Types of the npm package. */

/** A tool as its server describes it. */
export interface Tool {
  name: string;
  description?: string;
  inputSchema?: unknown;
  [field: string]: unknown;
}

/** A tool with the name of its server. */
export interface ListedTool extends Tool {
  server: string;
}

/** A result of `tools/call`. */
export interface ToolResult {
  content?: unknown;
  structuredContent?: unknown;
  isError?: boolean;
  [field: string]: unknown;
}

export interface AppOptions {
  /** The folder for relative paths in the config (default: the working directory). */
  folder?: string;
  /** The profile to use (default: "default", or the first enabled one). */
  profile?: string;
  /** Receives log lines; without it, nothing is logged. */
  log?: (line: string) => void;
}

export interface McpxApp {
  /** Lists the tools of all servers, and starts the servers if necessary. */
  tools(): Promise<ListedTool[]>;
  /** Calls a tool, such as `time.now`. Throws if the call is refused or fails; a tool error is a result with `isError`. */
  call(target: string, args?: object, options?: { signal?: AbortSignal }): Promise<ToolResult>;
  /** Sends an MCP request, such as `tools/list`, as a client of mcpx. */
  request(method: string, params?: Record<string, unknown>, options?: { signal?: AbortSignal }): Promise<unknown>;
  /** Ends all servers. */
  stop(): Promise<void>;
}

/** An error with a code such as `config`, `not_found`, `arguments` or `unreachable`, and a hint. */
export declare class McpxError extends Error {
  readonly code: string;
  readonly hint: string | undefined;
}

/** The version of the package. */
export declare const VERSION: string;

/** Runs the servers of a config of any accepted shape. Throws `McpxError` with the code `config` if it has a mistake. */
export declare function createApp(config: object, options?: AppOptions): McpxApp;
