/** What a POST carries: its body within the limit, what becomes of it beyond, and the JSON-RPC messages in it. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpxError } from '../errors.ts';
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
} from '../wire/message.ts';

export interface Problem {
  code: number;
  message: string;
  id?: Id;
}

/** The messages of a body, and the answers to those of a batch that are none. */
export interface Posted {
  messages: Message[];
  refused: RpcResponse[];
  batch: boolean;
}

const MAX_BATCH = 100;

/** The whole body; undefined once it is known to be too large. Rejects when the client goes away. */
export function readBody(
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  maxBody: number,
): Promise<string | undefined> {
  if (isTooLarge(request, maxBody)) return Promise.resolve(undefined);
  // Whoever waits until its body is wanted is told so here, where nothing is left to refuse. HTTP/1.0 has no such answer.
  if (request.headers.expect !== undefined && request.httpVersion !== '1.0') response.writeContinue();
  return new Promise((resolve, reject) => {
    // A small body comes in one piece with its headers, and is there as soon as Node is done with them: that spares the events of a stream.
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
  // Also after an error, which nobody else listens to. One is made only when there is one: most of its cost is the stack.
  request.on('close', () => {
    if (!request.complete) reject(new Error('the client went away'));
  });
}

/** Without the mark that some editors and shells put before UTF-8. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Whether the announced size says so already. */
function isTooLarge({ headers }: Pick<IncomingMessage, 'headers'>, maxBody: number): boolean {
  return Number(headers['content-length'] ?? 0) > maxBody;
}

/** ms without a byte, and bytes, after which a body that nobody wants is no longer taken; the time for a whole request is bounded as ever. */
const MAX_PAUSE = 2000;
const MAX_DISCARDED = 64 * 1024 * 1024;

/** Throws away the rest of a body, then calls `over`, once. */
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
