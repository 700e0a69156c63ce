/** Failures of calls in words: for the downstream, and as a reason for the record. */
import { McpxError, RpcError } from '../errors.ts';
import type { Kind } from '../policy/access.ts';
import { asName } from '../render/text.ts';
import { METHOD_NOT_FOUND, RESOURCE_NOT_FOUND } from '../wire/message.ts';
import type { ToolCall } from './request.ts';

/** A code says enough for a record, and holds nothing of what was sent. */
export function reasonOf(error: unknown): string {
  if (error instanceof RpcError) return `rpc ${error.code}`;
  return error instanceof McpxError ? error.code : 'failed';
}

/** Whether a call was held back after all: its server has started again since, and defines its tool in another way. */
export function isHeld(error: unknown): boolean {
  return error instanceof McpxError && error.code === 'refused';
}

/** Our own failures name what was asked for; an upstream's own words are left alone. */
export function describe(error: unknown, server: string, name: string): unknown {
  if (error instanceof RpcError) return error;
  if (!(error instanceof McpxError)) return error;
  const isNamed = error.message.includes(`"${server}"`) || error.message.includes(`"${server}.${name}"`);
  const hint = error.hint ?? (error.code === 'timeout' ? timeoutHint(server) : undefined);
  if (isNamed && hint === error.hint) return error;
  const message = isNamed ? error.message : `"${server}.${name}": ${error.message}`;
  return new McpxError(error.code, message, { hint, cause: error });
}

/** For what is denied: as if its server did not have it. */
export function unknownThing(kind: Kind | 'task' | 'extension', name: string): Error {
  if (kind === 'extension') return new RpcError(METHOD_NOT_FOUND, `Method not found: ${name}`);
  if (kind === 'resource') return new RpcError(RESOURCE_NOT_FOUND, 'Resource not found', { uri: name });
  return new McpxError('not_found', `there is no ${kind} "${asName(name)}"`);
}

export function noResult({ server, tool }: Pick<ToolCall, 'server' | 'tool'>): McpxError {
  return new McpxError('protocol', `"${server}.${tool}" answered with something that is no result`);
}

/** For what its client gave up before it was sent. */
export function withdrawn(server: string): McpxError {
  return new McpxError('cancelled', `the call to server "${server}" was cancelled`);
}

function timeoutHint(server: string): string {
  return `raise "timeout" of server "${server}" in the config, or "limits.callTimeout" for all servers`;
}
