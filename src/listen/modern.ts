/** MCP of 2026-07-28 over HTTP: every request stands alone, questions come as results, changes on a stream of their own. */

import type { Tool } from '../catalog/list.ts';
import { isExtensionMethod } from '../front/extensions.ts';
import type { Downstream } from '../front/front.ts';
import { isUnknown } from '../router/reverse.ts';
import { IncomingCall } from '../wire/incoming.ts';
import { HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, type RpcRequest } from '../wire/message.ts';
import { type Accepts, Answer } from './answer.ts';
import { argumentMismatch, type Envelope, readEnvelope } from './envelope.ts';
import { sendRpcError } from './reply.ts';
import { serveListen } from './subscriptions.ts';
import { requestIdOf } from './trace.ts';
import { type Turn, takeTurn, unknownMethod } from './turn.ts';
import { keepRoom, type McpDeps, type McpVisit, openFront } from './visit.ts';

const ALONE = { origin: undefined, about: undefined };

export async function serveModern(
  request: RpcRequest,
  accepts: Accepts,
  visit: McpVisit,
  deps: McpDeps,
): Promise<void> {
  const { response, principal, profile } = visit;
  const { id } = request;
  const envelope = readEnvelope(request, visit.request.headers);
  if ('code' in envelope) return sendRpcError(response, 400, { ...envelope, id });
  const unknown = unknownMethod(request);
  if (unknown !== undefined) return sendRpcError(response, 404, { ...unknown, id });
  if (request.method === 'subscriptions/listen') {
    await serveListen(request, envelope, visit, deps);
    // What was asked for is known; the stream may be open for hours.
    return keepRoom(response, deps.bodies, undefined);
  }
  const place = {
    principal,
    profile,
    requestId: requestIdOf(response),
    refuses: ({ inputSchema }: Tool, args: unknown) => argumentMismatch(inputSchema, args, visit.request.headers),
    open: (notify: Downstream['notify']) => openFront(visit, deps, { notify, lasts: 'request' }),
  };
  const turn = takeTurn(request, envelope, place, deps);
  if ('code' in turn) return sendRpcError(response, 400, { ...turn, id });
  await answer(request, turn, envelope, { response, accepts });
}

/** Answers this POST with what the call has to say until its result, its failure, or its next question. */
async function answer(
  request: RpcRequest,
  turn: Turn,
  { logLevel }: Envelope,
  { response, accepts }: Pick<McpVisit, 'response'> & { accepts: Accepts },
): Promise<void> {
  const { round } = turn;
  const reply = new Answer({ response, accepts, owed: 1, batch: false });
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
  // Nobody will come back for the answer to a question that nobody has read.
  if (response.destroyed) return round.abort('the client went away');
  const status = 'error' in answered ? statusOf(request, answered.error.code) : 200;
  reply.give({ jsonrpc: '2.0', id: request.id, ...answered }, status);
}

/** A front may have no tasks or no such extension, which is as good as no such method. */
function statusOf({ method }: RpcRequest, code: number): number {
  if (code === MISSING_CAPABILITY || code === HEADER_MISMATCH) return 400;
  const mayBeMissing = method.startsWith('tasks/') || isExtensionMethod(method);
  return code === METHOD_NOT_FOUND && mayBeMissing ? 404 : 200;
}
