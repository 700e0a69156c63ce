/** Reads the body of a POST within the size limit, discards larger ones, and parses the JSON-RPC messages. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpxError } from '../../errors.ts';
import {
  type Id,
  INVALID_REQUEST,
  invalidReason,
  isId,
  isRecord,
  type Message,
  PARSE_ERROR,
  parseMessages,
  type RpcResponse,
} from '../../wire/message.ts';

export interface Problem {
  code: number;
  message: string;
  id?: Id;
}

/** The messages of a body, and the error responses for the invalid ones of a batch. */
export interface Posted {
  messages: Message[];
  refused: RpcResponse[];
  batch: boolean;
}

const MAX_BATCH = 100;

/** Returns the whole body; undefined once it is known to be too large. Rejects if the client disconnects. */
export function readBody(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  maxBody: number,
): Promise<string | undefined> {
  if (isTooLarge(request, maxBody)) return Promise.resolve(undefined);
  // All checks have passed, so a client that sent `Expect: 100-continue` may send its body. HTTP/1.0 has no such
  // response.
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue();
  return new Promise((resolve, reject) => {
    // A small body arrives with its headers and is available as soon as Node has parsed them, which saves the stream
    // events.
    process.nextTick(() => {
      const first: Buffer | null = request.read();
      if (first?.length === Number(request.headers['content-length'])) resolve(textOf(first));
      else readOn(request, { first, maxBody, resolve, reject });
    });
  });
}

interface Reading {
  first: Buffer | null;
  maxBody: number;
  resolve(body: string | undefined): void;
  reject(error: Error): void;
}

function readOn(request: IncomingMessage, { first, maxBody, resolve, reject }: Reading): void {
  const chunks: Buffer[] = [];
  let size = 0;
  const take = (chunk: Buffer) => {
    size += chunk.length;
    if (size <= maxBody) chunks.push(chunk);
    else {
      chunks.length = 0;
      resolve(undefined);
    }
  };
  if (first !== null) take(first);
  request.on('data', take);
  request.on('end', () => resolve(textOf(Buffer.concat(chunks))));
  // The `close` event also follows an error, which has no other listener. The error is created only if needed, because
  // its stack trace is costly.
  request.on('close', () => {
    if (!request.complete) reject(new Error('the client went away'));
  });
}

/** Decodes UTF-8 and removes the byte order mark that some editors and shells add. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Returns true if the Content-Length header is over the limit. */
function isTooLarge({ headers }: Pick<IncomingMessage, 'headers'>, maxBody: number): boolean {
  return Number(headers['content-length'] ?? 0) > maxBody;
}

/**
 * Limits for a discarded body: milliseconds without a byte, and bytes. The timeout for a whole request applies as well.
 */
const MAX_PAUSE = 2000;
const MAX_DISCARDED = 64 * 1024 * 1024;

/** Discards the rest of a body, then calls `over` once. */
export function discardBody(request: Pick<IncomingMessage, 'on'>, over: () => void): void {
  let left = MAX_DISCARDED;
  let end = () => {
    end = () => undefined;
    clearTimeout(timer);
    over();
  };
  const timer = setTimeout(() => end(), MAX_PAUSE);
  request.on('data', ({ length }: Buffer) => {
    left -= length;
    if (left < 0) end();
    else timer.refresh();
  });
  request.on('end', () => end());
  request.on('close', () => end());
}

export function readMessages(body: string): Posted | Problem {
  let value: unknown;
  try {
    value = parseMessages(body);
  } catch (error) {
    if (error instanceof McpxError) return { code: INVALID_REQUEST, message: `Invalid Request: ${error.message}` };
    return { code: PARSE_ERROR, message: 'Parse error: the body is not JSON' };
  }
  if (Array.isArray(value)) return readBatch(value);
  const problem = problemOf(value);
  return problem ?? { messages: [value as Message], refused: [], batch: false };
}

function readBatch(values: unknown[]): Posted | Problem {
  if (values.length === 0 || values.length > MAX_BATCH)
    return { code: INVALID_REQUEST, message: `Invalid Request: a batch holds 1 to ${MAX_BATCH} messages` };
  const posted: Posted = { messages: [], refused: [], batch: true };
  for (const value of values) {
    const problem = problemOf(value);
    if (problem === undefined) posted.messages.push(value as Message);
    else {
      const { id = null, ...error } = problem;
      posted.refused.push({ jsonrpc: '2.0', id, error });
    }
  }
  return posted;
}

function problemOf(value: unknown): Problem | undefined {
  const reason = invalidReason(value);
  if (reason === undefined) return undefined;
  const id = isRecord(value) && isId(value.id) ? { id: value.id } : {};
  return { code: INVALID_REQUEST, message: `Invalid Request: ${reason}`, ...id };
}
