/** MCP 2026-07-28 over HTTP: stateless requests, `input_required` results, and subscription streams. */

import type { Tool } from '../../catalog/listing.ts';
import { isExtensionMethod } from '../../front/extensions.ts';
import type { Downstream } from '../../front/front-interface.ts';
import { type Envelope, readEnvelope } from '../../mcp/envelope.ts';
import { HEADER_MISMATCH, MISSING_CAPABILITY } from '../../mcp/error-codes.ts';
import { argumentMismatch } from '../../mcp/param-headers.ts';
import { isUnknown } from '../../router/server-requests.ts';
import { IncomingCall } from '../../wire/incoming-request.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../../wire/message.ts';
import { requestIdOf } from '../http/access-log.ts';
import { sendRpcError } from '../http/http-response.ts';
import { keepRoom, type McpDeps, type McpRequest, openFront } from './mcp-request.ts';
import { type ModernRequest, serveModernRequest, unknownMethod } from './modern-request.ts';
import { type Accepts, Answer } from './post-response.ts';
import { serveListen } from './subscription-stream.ts';

const ALONE = { origin: undefined, attribution: undefined };

export async function serveModern(
  request: RpcRequest,
  accepts: Accepts,
  exchange: McpRequest,
  deps: McpDeps,
): Promise<void> {
  const { response, principal, profile } = exchange;
  const { id } = request;
  const envelope = readEnvelope(request, exchange.request.headers);
  if ('code' in envelope) return sendRpcError(response, 400, { ...envelope, id });
  const unknown = unknownMethod(request);
  if (unknown !== undefined) return sendRpcError(response, 404, { ...unknown, id });
  if (request.method === 'subscriptions/listen') {
    await serveListen(request, envelope, exchange, deps);
    // The body is no longer needed, and the stream may stay open for hours.
    return keepRoom(response, deps.bodies, undefined);
  }
  const place = {
    principal,
    profile,
    requestId: requestIdOf(response),
    refuses: ({ inputSchema }: Tool, args: unknown) => argumentMismatch(inputSchema, args, exchange.request.headers),
    open: (notify: Downstream['notify']) => openFront(exchange, deps, { notify, stateless: true }),
  };
  const turn = serveModernRequest(request, envelope, place, deps);
  if ('code' in turn) return sendRpcError(response, 400, { ...turn, id });
  await answer(request, turn, envelope, { response, accepts });
}

/** Responds to this POST with the notifications of the call up to its result, its error or its next questions. */
async function answer(
  request: RpcRequest,
  turn: ModernRequest,
  { logLevel }: Envelope,
  { response, accepts }: Pick<McpRequest, 'response'> & { accepts: Accepts },
): Promise<void> {
  const { round } = turn;
  const reply = new Answer({ response, accepts, pending: 1, batch: false });
  const push = (message: unknown) => void reply.push(JSON.stringify(message), { kept: false });
  const incoming = new IncomingCall(request, push, ALONE);
  const gone = () => round.abort('the client went away');
  response.once('close', gone);
  round.progress = (params) => incoming.progress?.(params);
  round.hear = (method, params) => {
    const isWanted = method === 'notifications/message' ? logLevel !== undefined : isUnknown(method);
    if (!isWanted) return false;
    return push({ jsonrpc: '2.0', method, params });
  };
  const answered = await turn.answer();
  incoming.finish();
  response.off('close', gone);
  // The client did not receive the questions, so it will not send the answers.
  if (response.destroyed) return round.abort('the client went away');
  const status = 'error' in answered ? statusOf(request, answered.error.code) : 200;
  reply.give({ jsonrpc: '2.0', id: request.id, ...answered }, status);
}

/**
 * Returns the HTTP status of an error. A method of tasks or an extension that the front lacks is an unknown method
 * (404).
 */
function statusOf({ method }: RpcRequest, code: number): number {
  if (code === MISSING_CAPABILITY || code === HEADER_MISMATCH) return 400;
  const mayBeMissing = method.startsWith('tasks/') || isExtensionMethod(method);
  return code === METHOD_NOT_FOUND && mayBeMissing ? 404 : 200;
}
