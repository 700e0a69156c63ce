/** Error messages of failed calls for the client, and reason codes for the call record. */
import { McpxError, RpcError } from '../errors.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/error-codes.ts';
import type { Kind } from '../policy/access.ts';
import { asName } from '../render/text.ts';
import { METHOD_NOT_FOUND } from '../wire/message.ts';
import type { ToolCall } from './request-context.ts';

/** Returns the error code, which contains nothing of the request. */
export function reasonOf(error: unknown): string {
  if (error instanceof RpcError) return `rpc ${error.code}`;
  return error instanceof McpxError ? error.code : 'failed';
}

/** True if mcpx refused the call: the server restarted meanwhile with a different definition of the tool. */
export function isHeld(error: unknown): boolean {
  return error instanceof McpxError && error.code === 'refused';
}

/** Adds the server and the name to errors of mcpx; errors of the upstream stay unchanged. */
export function describe(error: unknown, server: string, name: string): unknown {
  if (error instanceof RpcError) return error;
  if (!(error instanceof McpxError)) return error;
  const isNamed = error.message.includes(`"${server}"`) || error.message.includes(`"${server}.${name}"`);
  const hint = error.hint ?? (error.code === 'timeout' ? timeoutHint(server) : undefined);
  if (isNamed && hint === error.hint) return error;
  const message = isNamed ? error.message : `"${server}.${name}": ${error.message}`;
  return new McpxError(error.code, message, { hint, cause: error });
}

/** The error for a denied object, which equals the error for a missing one. */
export function unknownThing(kind: Kind | 'task' | 'extension', name: string): Error {
  if (kind === 'extension') return new RpcError(METHOD_NOT_FOUND, `Method not found: ${name}`);
  if (kind === 'resource') return new RpcError(RESOURCE_NOT_FOUND, 'Resource not found', { uri: name });
  return new McpxError('not_found', `there is no ${kind} "${asName(name)}"`);
}

export function noResult({ server, tool }: Pick<ToolCall, 'server' | 'tool'>): McpxError {
  return new McpxError('protocol', `"${server}.${tool}" returned an invalid result`);
}

/** The error for a call that the client cancelled before it was sent. */
export function withdrawn(server: string): McpxError {
  return new McpxError('cancelled', `the call to server "${server}" was cancelled`);
}

function timeoutHint(server: string): string {
  return `raise "timeout" of server "${server}" in the config, or "limits.callTimeout" for all servers`;
}
