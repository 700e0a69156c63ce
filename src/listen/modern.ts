/** MCP of 2026-07-28 over HTTP: every request stands alone, questions come as results, changes on a stream of their own. */
import type { ServerResponse } from 'node:http';
import { toRpcError } from '../errors.ts';
import { IncomingCall } from '../wire/incoming.ts';
import {
  INVALID_PARAMS,
  isId,
  isRecord,
  METHOD_NOT_FOUND,
  type Params,
  type RpcFailure,
  type RpcRequest,
} from '../wire/message.ts';
import { type Accepts, Answer } from './answer.ts';
import { complete, type Envelope, introduce, META, MODERN_VERSION, readEnvelope, withoutEnvelope } from './envelope.ts';
import { EventStream } from './events.ts';
import { sendRpcError } from './reply.ts';
import type { Outcome, Round } from './rounds.ts';
import { serveListen } from './subscriptions.ts';
import { requestIdOf } from './trace.ts';
import { type McpDeps, type McpVisit, openFront } from './visit.ts';

/** What may be asked for; the rest of the legacy era is gone. */
const METHODS: ReadonlySet<string> = new Set([
  'server/discover',
  'tools/list',
  'tools/call',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'subscriptions/listen',
]);
/** The client does not have what an upstream needs of it. */
const MISSING_CAPABILITY = -32021;
/** What legacy servers say of a resource that is not there, and modern ones no longer. */
const NO_RESOURCE = -32002;
const ALONE = { origin: undefined, about: undefined };

export async function serveModern(
  request: RpcRequest,
  accepts: Accepts,
  visit: McpVisit,
  deps: McpDeps,
): Promise<void> {
  const { response } = visit;
  const envelope = readEnvelope(request, visit.request.headers);
  if ('code' in envelope) return sendRpcError(response, 400, { ...envelope, id: request.id });
  if (!METHODS.has(request.method)) {
    const message = `Method not found: ${request.method}`;
    return sendRpcError(response, 404, { code: METHOD_NOT_FOUND, message, id: request.id });
  }
  if (request.method === 'subscriptions/listen') return serveListen(request, envelope, visit, deps);
  const { requestState } = request.params ?? {};
  const origin = { principal: visit.principal, profile: visit.profile, words: wordsOf(request) };
  const answers = request.params?.inputResponses;
  const round =
    typeof requestState === 'string' ? deps.rounds.resume(requestState, origin, answers) : deps.rounds.begin(origin);
  if (round === undefined) {
    const message = '"requestState" is unknown or has expired: send the request without it';
    return sendRpcError(response, 400, { code: INVALID_PARAMS, message, id: request.id });
  }
  if (requestState === undefined) round.run(() => work(request, envelope, round, visit, deps));
  await answer(request, round, accepts, response, envelope);
}

/** The same request with the same words may go on with a call; nothing else may. */
function wordsOf({ method, params = {} }: RpcRequest): string {
  const { _meta: _, ...words } = withoutEnvelope(params);
  return JSON.stringify([method, words]);
}

/** One front per call, which lives as long as the call. */
async function work(
  request: RpcRequest,
  envelope: Envelope,
  round: Round,
  visit: McpVisit,
  deps: McpDeps,
): Promise<Params> {
  const opened = openFront(visit, deps, (method, params) => round.hear(method, params));
  try {
    const hello = await introduce(opened, envelope, round.signal);
    const serverInfo = { [`${META}serverInfo`]: hello.serverInfo };
    if (request.method === 'server/discover') return complete(request.method, discovery(hello), serverInfo);
    const { method, params = {} } = request;
    const result = await opened.front.request(
      { method, params: withoutEnvelope(params) },
      {
        signal: round.signal,
        requestId: requestIdOf(visit.response),
        // Without a token nobody upstream need be asked for progress.
        ...(hasToken(params) && { progress: (progress: Params) => round.progress(progress) }),
        notify: (name, said) => round.hear(name, said),
        ask: (name, asked, options) => round.ask(name, asked, options),
      },
    );
    return complete(method, isRecord(result) ? result : {}, serverInfo);
  } finally {
    opened.close();
  }
}

function hasToken({ _meta }: Params): boolean {
  return isRecord(_meta) && isId(_meta.progressToken);
}

function discovery({ capabilities, instructions }: Params): Params {
  return { supportedVersions: [MODERN_VERSION], capabilities, ...(instructions !== undefined && { instructions }) };
}

/** Answers this POST with what the call has to say until its result, its failure, or its next question. */
async function answer(
  request: RpcRequest,
  round: Round,
  accepts: Accepts,
  response: ServerResponse,
  { logLevel }: Envelope,
): Promise<void> {
  const reply = new Answer({ response, accepts, owed: 1, batch: false, stream: () => new EventStream() });
  const push = (message: unknown) => void reply.push(JSON.stringify(message), { kept: false });
  const incoming = new IncomingCall(request, push, ALONE);
  const gone = () => round.abort('the client went away');
  response.once('close', gone);
  round.progress = (params) => incoming.progress?.(params);
  round.hear = (method, params) => {
    if (method !== 'notifications/message' || logLevel === undefined) return;
    push({ jsonrpc: '2.0', method, params });
  };
  const outcome = await round.outcome();
  incoming.finish();
  response.off('close', gone);
  // Nobody will come back for the answer to a question that nobody has read.
  if (response.destroyed) return round.abort('the client went away');
  const answered = written(outcome);
  const status = 'error' in answered && answered.error.code === MISSING_CAPABILITY ? 400 : 200;
  reply.give({ jsonrpc: '2.0', id: request.id, ...answered }, status);
}

function written(outcome: Outcome): { result: unknown } | { error: RpcFailure } {
  if ('result' in outcome) return { result: outcome.result };
  if ('error' in outcome) {
    const error = toRpcError(outcome.error);
    return { error: error.code === NO_RESOURCE ? { ...error, code: INVALID_PARAMS } : error };
  }
  const { questions, state } = outcome;
  return { result: { resultType: 'input_required', inputRequests: questions, requestState: state } };
}
