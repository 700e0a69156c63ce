/** JSON-RPC 2.0 messages as mcpx holds them: parsed once, unknown fields kept. */
import { isRecord } from '../config/json.ts';

export { isRecord };

export type Id = string | number;
export type Params = Record<string, unknown>;

export interface RpcRequest {
  jsonrpc: '2.0';
  id: Id;
  method: string;
  params?: Params;
}

export interface RpcNotification {
  jsonrpc: '2.0';
  method: string;
  params?: Params;
}

export interface RpcFailure {
  code: number;
  message: string;
  data?: unknown;
}

/** An answer: `result` or `error`; the id is null when the request could not be read. */
export interface RpcResponse {
  jsonrpc: '2.0';
  id: Id | null;
  result?: unknown;
  error?: RpcFailure;
}

export type Message = RpcRequest | RpcNotification | RpcResponse;

export const PARSE_ERROR = -32700;
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** What servers of the legacy era say of a resource that is not there; in the modern one it is an invalid parameter. */
export const RESOURCE_NOT_FOUND = -32002;
/** Of the modern era: the headers of a request say something else than its body. */
export const HEADER_MISMATCH = -32020;
/** Of the modern era: the client does not have what the server needs of it. */
export const MISSING_CAPABILITY = -32021;
/** Of the modern era, with the list of versions that would do. */
export const UNSUPPORTED_VERSION = -32022;

/** Id 0 is legal, so ids are tested by type and never for truthiness. */
export function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number';
}

export function isRequest(message: Message): message is RpcRequest {
  return 'method' in message && 'id' in message;
}

export function isNotification(message: Message): message is RpcNotification {
  return 'method' in message && !('id' in message);
}

export function isResponse(message: Message): message is RpcResponse {
  return !('method' in message);
}

/** What is wrong with a parsed value as a JSON-RPC message, or undefined when it is one. */
export function invalidReason(value: unknown): string | undefined {
  if (!isRecord(value)) return 'a message must be an object';
  if (value.jsonrpc !== '2.0') return '"jsonrpc" must be "2.0"';
  if ('method' in value) {
    if (typeof value.method !== 'string') return '"method" must be a string';
    if ('id' in value && !isId(value.id)) return '"id" must be a string or a number';
    if (value.params !== undefined && !isRecord(value.params)) return '"params" must be an object';
    return undefined;
  }
  if (!('result' in value) && !isRecord(value.error)) return 'a message needs "method", "result" or "error"';
  return undefined;
}
