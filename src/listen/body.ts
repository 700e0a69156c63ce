/** What a POST carries: its body within the limit, and the JSON-RPC messages in it. */
import type { IncomingMessage } from 'node:http';
import {
  type Id,
  INVALID_REQUEST,
  invalidReason,
  isId,
  isRecord,
  type Message,
  PARSE_ERROR,
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
export function readBody(request: IncomingMessage, maxBody: number): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBody) return Promise.resolve(undefined);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    request.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBody) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve(undefined);
      }
    });
    request.on('end', () => resolve((chunks.length === 1 ? chunks[0] : Buffer.concat(chunks))?.toString('utf8')));
    // Also after an error, which nobody else listens to. One is made only when there is one: most of its cost is the stack.
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client went away'));
    });
  });
}

export function readMessages(body: string): Posted | Problem {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
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
