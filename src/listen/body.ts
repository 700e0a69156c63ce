/** What a POST carries: its body within the limit, what becomes of it beyond, and the JSON-RPC messages in it. */
import type { IncomingMessage } from 'node:http';
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
export function readBody(request: IncomingMessage, maxBody: number): Promise<string | undefined> {
  if (isTooLarge(request, maxBody)) return Promise.resolve(undefined);
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
    request.on('end', () => resolve(textOf((chunks.length === 1 && chunks[0]) || Buffer.concat(chunks))));
    // Also after an error, which nobody else listens to. One is made only when there is one: most of its cost is the stack.
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client went away'));
    });
  });
}

/** Without the mark that some editors and shells put before UTF-8. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Whether the announced size says so already. */
export function isTooLarge({ headers }: Pick<IncomingMessage, 'headers'>, maxBody: number): boolean {
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
