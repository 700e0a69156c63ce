/** JSON-RPC 2.0 messages as mcpx holds them: parsed once, unknown fields kept. */
import { isRecord } from '../config/json.ts';
import { McpxError } from '../errors.ts';
import { type ExactNumber, isExact, mayChange, parseExact, plain } from '../exact.ts';
import { parseProblem } from './cost.ts';

export { isRecord };

export type Id = string | number | ExactNumber;
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
  return typeof value === 'string' || typeof value === 'number' || isExact(value);
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

/** Fields of params, results and errors that are passed on, or that only name something. */
const PASSED_ON: ReadonlySet<string> = new Set([
  ...['_meta', 'arguments', 'content', 'contents', 'data', 'inputRequests', 'inputResponses', 'messages', 'metadata'],
  ...['requestId', 'requestedSchema', 'result', 'structuredContent'],
]);

/** Characters up to which a message is parsed as it is: whatever it holds costs little. */
const SMALL = 256 * 1024;

/**
 * Parses a JSON text as one message or a batch. Throws McpxError for one that would take too much memory, or is nested too deeply.
 * Numbers that JavaScript cannot hold stay exact in ids and in what is passed on: all the
 * rest (lists of tools with their schemas, times, progress) is read by code that wants numbers, and gets the nearest.
 */
export function parseMessages(text: string): unknown {
  const problem = text.length > SMALL ? parseProblem(text) : undefined;
  if (problem !== undefined) throw new McpxError('overloaded', `a message ${problem}`);
  if (!mayChange(text)) return JSON.parse(text);
  const value = parseExact(text);
  return Array.isArray(value) ? value.map(usable) : usable(value);
}

function usable(message: unknown): unknown {
  if (!isRecord(message)) return plain(message);
  return mapped(message, (value, key) => (isRecord(value) ? mapped(value, part) : key === 'id' ? value : plain(value)));
}

function part(value: unknown, key: string): unknown {
  return PASSED_ON.has(key) ? value : plain(value);
}

/** Keys from outside may be any text, and are never assigned. */
function mapped(record: Params, map: (value: unknown, key: string) => unknown): Params {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
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
