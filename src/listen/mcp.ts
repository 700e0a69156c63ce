/** MCP over HTTP POST: one JSON-RPC message in, one JSON answer out, without a session. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FrontKind } from '../config/config.ts';
import { toRpcError } from '../errors.ts';
import type { Principal } from '../policy/auth.ts';
import {
  INVALID_REQUEST,
  invalidReason,
  isId,
  isRecord,
  isRequest,
  type Message,
  PARSE_ERROR,
  type RpcRequest,
} from '../wire/message.ts';
import type { Gateway } from './gateway.ts';
import { sendEmpty, sendJson, sendRpcError } from './reply.ts';

export interface McpRequest {
  request: IncomingMessage;
  response: ServerResponse;
  profile: string;
  front?: FrontKind;
  principal?: Principal;
}

export interface McpDeps {
  gateway: Gateway;
  /** Bytes of a body. */
  maxBody: number;
}

export async function serveMcp(call: McpRequest, { gateway, maxBody }: McpDeps): Promise<void> {
  const { request, response, profile } = call;
  const body = await readBody(request, maxBody);
  if (body === undefined) {
    request.resume();
    return sendRpcError(
      response,
      413,
      { code: INVALID_REQUEST, message: `the body is larger than ${maxBody} bytes` },
      { Connection: 'close' },
    );
  }
  const message = parse(body);
  if ('problem' in message) return sendRpcError(response, 400, message.problem);
  if (!isRequest(message)) return sendEmpty(response, 202);

  const session = gateway.open({
    profile,
    downstream: { key: randomUUID(), notify: () => undefined },
    ...(call.front && { front: call.front }),
    ...(call.principal && { principal: call.principal }),
  });
  try {
    await answer(message, response, session.front);
  } finally {
    session.close();
  }
}

async function answer(
  message: RpcRequest,
  response: ServerResponse,
  front: ReturnType<Gateway['open']>['front'],
): Promise<void> {
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  const { id } = message;
  try {
    const result = await front.request(message, { signal: gone.signal });
    sendJson(response, 200, { jsonrpc: '2.0', id, result });
  } catch (error) {
    sendJson(response, 200, { jsonrpc: '2.0', id, error: toRpcError(error) });
  }
}

function parse(body: string): Message | { problem: { code: number; message: string; id?: string | number } } {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch {
    return { problem: { code: PARSE_ERROR, message: 'Parse error: the body is not JSON' } };
  }
  const reason = invalidReason(value);
  if (reason === undefined) return value as Message;
  const id = isRecord(value) && isId(value.id) ? { id: value.id } : {};
  return { problem: { code: INVALID_REQUEST, message: `Invalid Request: ${reason}`, ...id } };
}

/** The whole body, or undefined once it is known to be too large. */
async function readBody(request: IncomingMessage, maxBody: number): Promise<string | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBody) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > maxBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
