/** JSON-RPC 2.0 messages: types, error codes, parsing and validation. Unknown fields are kept. */
import { McpxError } from '../errors.ts';
import { isLosslessNumber, isRecord, type LosslessNumber, mayChange, parseLossless, plain } from '../lossless-json.ts';
import { parseProblem } from './parse-cost.ts';

export { isRecord };

export type Id = string | number | LosslessNumber;
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

/** A response with `result` or `error`; the id is null if the request could not be read. */
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

/** Id 0 is legal, so ids are tested by type and never for truthiness. */
export function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number' || isLosslessNumber(value);
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

/** Fields of params, results and errors that are forwarded unchanged, or that only identify something. */
const PASSED_ON: ReadonlySet<string> = new Set([
  ...['_meta', 'arguments', 'content', 'contents', 'data', 'inputRequests', 'inputResponses', 'messages', 'metadata'],
  ...['requestId', 'requestedSchema', 'result', 'structuredContent'],
]);

/** Messages up to this many characters are parsed without an estimate of their cost. */
const SMALL = 256 * 1024;

/**
 * Parses a JSON text as one message or a batch. Throws McpxError if it would take too much memory or is nested too
 * deeply. Numbers that JavaScript cannot represent stay exact in ids and in forwarded fields; in all other fields
 * (lists of tools with their schemas, times, progress) they become the nearest JavaScript number.
 */
export function parseMessages(text: string): unknown {
  const problem = text.length > SMALL ? parseProblem(text) : undefined;
  if (problem !== undefined) throw new McpxError('overloaded', `a message ${problem}`);
  if (!mayChange(text)) return JSON.parse(text);
  const value = parseLossless(text);
  return Array.isArray(value) ? value.map(usable) : usable(value);
}

function usable(message: unknown): unknown {
  if (!isRecord(message)) return plain(message);
  return mapped(message, (value, key) => (isRecord(value) ? mapped(value, part) : key === 'id' ? value : plain(value)));
}

function part(value: unknown, key: string): unknown {
  return PASSED_ON.has(key) ? value : plain(value);
}

/** Copies without assignment, because a key from outside may be `__proto__`. */
function mapped(record: Params, map: (value: unknown, key: string) => unknown): Params {
  return Object.fromEntries(Object.entries(record).map(([key, value]) => [key, map(value, key)]));
}

/** Returns the reason why a parsed value is not a JSON-RPC message; undefined if it is one. */
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

/** Throws if a serialized message is over the limit by more than `slack` bytes. */
export function checkSize(written: string | readonly Buffer[], maxBytes: number, slack = 0): void {
  if (isWithin(written, maxBytes + slack)) return;
  throw new McpxError('overloaded', `a message is over the limit of ${maxBytes} bytes`, {
    hint: 'raise "limits.messageBytes" in the config',
  });
}

function isWithin(written: string | readonly Buffer[], most: number): boolean {
  if (typeof written !== 'string') return written.reduce((sum, { length }) => sum + length, 0) <= most;
  // A UTF-16 code unit takes at most three bytes, so a short text need not be measured.
  return written.length <= most / 3 || Buffer.byteLength(written) <= most;
}
