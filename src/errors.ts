/** The one error class of mcpx, and the tables that turn its codes into exit codes and JSON-RPC codes. */

/** The kind of a failure as a string code; the tables below map it to exit codes, JSON-RPC codes and HTTP statuses. */
export type ErrorCode =
  | 'usage' // the command line is wrong
  | 'config' // the config file is missing, malformed or wrong
  | 'not_found' // no such server, tool, resource, prompt or profile
  | 'arguments' // arguments do not fit the tool's schema
  | 'auth' // credentials are missing or refused
  | 'unreachable' // an upstream cannot be started or reached
  | 'timeout' // an upstream did not answer in time
  | 'cancelled' // the client cancelled the request
  | 'overloaded' // a limit was reached
  | 'conflict' // another change was made at the same time
  | 'refused' // permitted, but held back: not confirmed, or its definition has changed
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

/** HTTP statuses, for routes that do not speak MCP. */
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

/** The cause of a failed start or connection, for programs that advise the user. */
export type Fault =
  | 'exited' // the process ended
  | 'not-mcp' // its stdout is not MCP
  | 'slow' // it did not answer in time
  | 'handshake' // it refused "initialize"
  | 'certificate' // its certificate is not trusted
  | 'tls' // TLS failed for another reason
  | 'dns' // its host name is unknown
  | 'no-listener' // nothing listens at its address
  | 'no-connection' // no connection was made for another reason
  | 'no-endpoint' // the URL is no MCP endpoint
  | 'status' // another HTTP status
  | 'credentials'; // configured credentials were refused

export interface ErrorDetails {
  /** A command to run, or one sentence on what to do. */
  hint?: string | undefined;
  cause?: unknown;
  /** Additional machine-readable facts; never a secret. */
  data?: unknown;
  fault?: Fault | undefined;
}

/** A failure that mcpx itself describes. `message` is lower-case, names its subject in quotes and has no full stop. */
export class McpxError extends Error {
  override readonly name = 'McpxError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly data: unknown;
  readonly fault: Fault | undefined;

  constructor(code: ErrorCode, message: string, details: ErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.hint = details.hint;
    this.data = details.data;
    this.fault = details.fault;
  }
}

/** Returns the error of a request that its client has cancelled. */
export function cancelled(method: string): McpxError {
  return new McpxError('cancelled', `"${method}" was cancelled`);
}

/** A JSON-RPC error object as it is sent; an error that an upstream sent is relayed verbatim. */
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

/** Converts any thrown value to the JSON-RPC error object to send. */
export function toRpcError(error: unknown): { code: number; message: string; data?: unknown } {
  if (!(error instanceof RpcError || error instanceof McpxError)) return { code: -32603, message: messageOf(error) };
  const { message } = error;
  const [code, data] = error instanceof RpcError ? [error.code, error.data] : [RPC_CODES[error.code], dataOf(error)];
  return { code, message, ...(data === undefined ? {} : { data }) };
}

/** The data of an error that a sign-in of the user would solve. */
export interface SignInData {
  /** The name of the server. */
  signIn: string;
  /** The scopes to request, if the server asked for more than the sign-in has. */
  scope?: string | undefined;
}

/** Returns the data of an error that a sign-in would solve; undefined for any other error. */
export function signInData(error: unknown): SignInData | undefined {
  if (!(error instanceof McpxError)) return undefined;
  const data = error.data as Partial<SignInData> | null | undefined;
  return typeof data?.signIn === 'string' ? (data as SignInData) : undefined;
}

/** Returns the error's data with the hint added, if the data is an object or absent. */
function dataOf({ data, hint }: McpxError): unknown {
  if (hint === undefined || (data !== undefined && !isNamed(data))) return data;
  return { ...data, hint };
}

function isNamed(data: unknown): data is Record<string, unknown> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

/** Returns the message of any thrown value. */
export function messageOf(error: unknown): string {
  if (isTooDeep(error)) return 'a value is nested too deeply to be read or written';
  return error instanceof Error ? error.message : String(error);
}

/** True if V8 ran out of stack in a recursion, such as that of `JSON.stringify`. */
function isTooDeep(error: unknown): boolean {
  return error instanceof RangeError && error.message === 'Maximum call stack size exceeded';
}

/** Converts any thrown value to a McpxError: another error becomes `failed`, with the original as its cause. */
export function toMcpxError(error: unknown): McpxError {
  if (error instanceof McpxError) return error;
  return new McpxError('failed', messageOf(error), { cause: error });
}

/**
 * Returns the same failure with the id of its request, which also stands in the log. An error of an upstream is not
 * changed.
 */
export function withRequestId(error: unknown, requestId: string | undefined): unknown {
  if (requestId === undefined || error instanceof RpcError) return error;
  const { code, message, hint, data } = toMcpxError(error);
  if (data !== undefined && !isNamed(data)) return error;
  return new McpxError(code, message, { hint, cause: error, data: { ...data, requestId } });
}
