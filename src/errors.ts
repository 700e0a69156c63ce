/** The one error class of mcpx, and the tables that turn its codes into exit codes and JSON-RPC codes. */

/** What went wrong, as a local string code; the tables below say which numbers others know it by. */
export type ErrorCode =
  | 'usage' // the command line is wrong
  | 'config' // the config file is missing, malformed or wrong
  | 'not_found' // no such server, tool, resource, prompt or profile
  | 'arguments' // arguments do not fit the tool's schema
  | 'auth' // credentials are missing or refused
  | 'unreachable' // an upstream cannot be started or reached
  | 'timeout' // an upstream did not answer in time
  | 'cancelled' // the caller gave up
  | 'overloaded' // a limit was reached
  | 'conflict' // something else was changed at the same time
  | 'refused' // permitted in itself, and held back: not confirmed, or no longer what it was
  | 'tool' // the tool itself answered isError
  | 'protocol' // a peer broke the protocol
  | 'failed'; // anything else

/** Exit codes of the command line: 0 ok, 130 interrupted, and these. */
export const EXIT_CODES = {
  failed: 1,
  protocol: 1,
  timeout: 1,
  overloaded: 1,
  conflict: 1,
  refused: 1,
  usage: 2,
  arguments: 2,
  auth: 3,
  unreachable: 4,
  tool: 5,
  config: 6,
  not_found: 7,
  cancelled: 130,
} as const satisfies Record<ErrorCode, number>;

/** JSON-RPC codes, for the cases where a failure must be a protocol error and not a tool result. */
export const RPC_CODES = {
  usage: -32600,
  arguments: -32602,
  not_found: -32602,
  config: -32603,
  auth: -32001,
  unreachable: -32603,
  timeout: -32001,
  cancelled: -32603,
  overloaded: -32000,
  conflict: -32000,
  refused: -32000,
  tool: -32603,
  protocol: -32603,
  failed: -32603,
} as const satisfies Record<ErrorCode, number>;

/** HTTP statuses, for routes that are no MCP. */
export const HTTP_CODES = {
  usage: 400,
  arguments: 422,
  not_found: 404,
  refused: 403,
  conflict: 409,
  tool: 424,
  cancelled: 499,
  overloaded: 503,
  auth: 502,
  config: 502,
  unreachable: 502,
  protocol: 502,
  timeout: 504,
  failed: 500,
} as const satisfies Record<ErrorCode, number>;

export interface ErrorDetails {
  /** A command to run, or one sentence on what to do. */
  hint?: string | undefined;
  cause?: unknown;
  /** Extra facts for machines; never a secret. */
  data?: unknown;
}

/** A failure that mcpx itself describes. `message` is lower-case, names its subject in quotes and has no full stop. */
export class McpxError extends Error {
  override readonly name = 'McpxError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: unknown;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.data = details.data;
  }
}

/** Whoever asked has given up. */
export function cancelled(method: string): McpxError {
  return new McpxError('cancelled', `"${method}" was cancelled`);
}

/** A JSON-RPC error object as it crosses the wire; one that an upstream sent is relayed verbatim. */
export class RpcError extends Error {
  override readonly name = 'RpcError';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data?: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/** Any thrown value as the JSON-RPC error object to send. */
export function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!(error instanceof RpcError || error instanceof McpxError)) return { code: -32603, message: messageOf(error) };
  const { message } = error;
  const [code, data] = error instanceof RpcError ? [error.code, error.data] : [RPC_CODES[error.code], dataOf(error)];
  return { code, message, ...(data === undefined ? {} : { data }) };
}

/** What to do is told beside the facts, where these have names. */
function dataOf({ data, hint }: McpxError): unknown {
  if (hint === undefined || (data !== undefined && !isNamed(data))) return data;
  return { ...data, hint };
}

function isNamed(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

/** The text of anything that was thrown. */
export function messageOf(error: unknown): string {
  if (isTooDeep(error)) return 'a value is nested too deeply to be read or written';
  return error instanceof Error ? error.message : String(error);
}

/** Whether V8 gave up in a recursion, such as that of `JSON.stringify`. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded';
}

/** Any thrown value as a failure that mcpx describes: what is none yet becomes `failed`, with itself as the cause. */
export function toMcpxError(error: unknown): McpxError {
  if (error instanceof McpxError) return error;
  return new McpxError('failed', messageOf(error), { cause: error });
}

/** The same failure with the id of its request, by which it is found in the log. What an upstream said is left alone. */
export function withRequestId(error: unknown, requestId: string | undefined): unknown {
  if (requestId === undefined || error instanceof RpcError) return error;
  const { code, message, hint, data } = toMcpxError(error);
  if (data !== undefined && !isNamed(data)) return error;
  return new McpxError(code, message, { hint, cause: error, data: { ...data, requestId } });
}
