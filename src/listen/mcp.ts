/** MCP over Streamable HTTP: POST with a session or without, the stream of GET, DELETE. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
import type { ServerResponse } from 'node:http';
import { toRpcError } from '../errors.ts';
import { MODERN_VERSION } from '../upstream/revisions.ts';
import { IncomingCall } from '../wire/incoming.ts';
import { INVALID_REQUEST, isRecord, isRequest, type Params, type RpcRequest } from '../wire/message.ts';
import { type Accepts, Answer } from './answer.ts';
import type { Posted } from './body.ts';
import { isModern } from './envelope.ts';
import { serveModern } from './modern.ts';
import { acceptsEvents, readAccept, readVersion, VERSIONS_TEXT } from './negotiate.ts';
import { sendEmpty, sendRpcError } from './reply.ts';
import { allowsBatch, HttpSession } from './session.ts';
import { requestIdOf } from './trace.ts';
import { hasRoom, type McpDeps, type McpVisit, openFront, receive } from './visit.ts';

const SESSION_HEADER = 'mcp-session-id';

export function servePost(visit: McpVisit, deps: McpDeps): void | Promise<void> {
  const accepts = readAccept(visit.request.headers.accept);
  if (!accepts.json && !accepts.events)
    return refuse(visit.response, 406, 'the client must accept application/json or text/event-stream');
  return receive(visit, deps).then((posted) => posted && servePosted(posted, accepts, visit, deps));
}

function servePosted(posted: Posted, accepts: Accepts, visit: McpVisit, deps: McpDeps): void | Promise<void> {
  const { request, response } = visit;
  const first = posted.messages[0];
  if (!posted.batch && first !== undefined && isRequest(first) && isModern(first, request.headers))
    return serveModern(first, accepts, visit, deps);
  if (request.headers['mcp-protocol-version'] === MODERN_VERSION) {
    if (posted.batch) return refuse(response, 400, noBatches(MODERN_VERSION));
    // A modern client cancels by hanging up; what else it notifies of is of no use.
    if (first !== undefined && !isRequest(first)) return sendEmpty(response, 202);
  }

  const session = sessionOf(visit, deps);
  if (session === 'unknown') return refuse(response, 404, UNKNOWN_SESSION);
  if (!posted.batch && first !== undefined && isRequest(first) && first.method === 'initialize') {
    if (session !== undefined) return refuse(response, 400, 'this session is initialized already', first.id);
    return initialize(first, accepts, visit, deps);
  }
  const version = readVersion(request.headers);
  if (version === undefined) return refuse(response, 400, WRONG_VERSION);
  const refused = posted.batch ? batchProblem(posted, session?.version ?? version) : undefined;
  if (refused !== undefined) return refuse(response, 400, refused);
  if (session !== undefined) return session.post(posted, response, accepts);
  return answerAlone(posted, accepts, visit, deps);
}

export function serveGet(visit: McpVisit, deps: McpDeps): void {
  const { request, response } = visit;
  const session = existing(visit, deps);
  if (session === undefined) return;
  const last = request.headers['last-event-id'];
  if (!acceptsEvents(request.headers.accept)) refuse(response, 406, 'the client must accept text/event-stream');
  else if (!session.listen(response, typeof last === 'string' ? last : undefined))
    refuse(response, 400, 'there is nothing to resume after this event');
}

export function serveDelete(visit: McpVisit, deps: McpDeps): void {
  const session = existing(visit, deps);
  if (session === undefined) return;
  deps.sessions.end(session, 'the client ended the session');
  sendEmpty(visit.response, 200);
}

const UNKNOWN_SESSION = 'there is no such session: initialize a new one';
const WRONG_VERSION = `this protocol version is not spoken here; these are: ${VERSIONS_TEXT}`;

function refuse(response: ServerResponse, status: number, message: string, id?: RpcRequest['id']): void {
  sendRpcError(response, status, { code: INVALID_REQUEST, message, ...(id !== undefined && { id }) });
}

/** The session that a request names; a session of another token or profile is no session. */
function sessionOf({ request, profile, principal }: McpVisit, { sessions }: McpDeps) {
  const id = request.headers[SESSION_HEADER];
  if (id === undefined) return undefined;
  const found = sessions.find(String(id), principal);
  return found?.kind === 'streamable' && found.profile === profile ? found : 'unknown';
}

/** The session of a GET or DELETE; where there is none, the answer is on its way. */
function existing(visit: McpVisit, deps: McpDeps): HttpSession | undefined {
  const { request, response } = visit;
  const session = sessionOf(visit, deps);
  if (session === undefined) refuse(response, 400, 'the header Mcp-Session-Id is missing');
  else if (session === 'unknown') refuse(response, 404, UNKNOWN_SESSION);
  else if (readVersion(request.headers) === undefined) refuse(response, 400, WRONG_VERSION);
  else return session;
  return undefined;
}

function noBatches(version: string): string {
  return `the protocol version ${version} has no batches`;
}

function batchProblem({ messages }: Posted, version: string): string | undefined {
  if (!allowsBatch(version)) return noBatches(version);
  const hello = messages.some((message) => isRequest(message) && message.method === 'initialize');
  return hello ? '"initialize" must not be part of a batch' : undefined;
}

/** Begins a session, whose id the client learns from a header of the answer. */
async function initialize(request: RpcRequest, accepts: Accepts, visit: McpVisit, deps: McpDeps): Promise<void> {
  const { response, profile, principal } = visit;
  const { sessions, parking, log } = deps;
  if (!hasRoom(visit, deps, request.id)) return;
  const session = new HttpSession({
    id: sessions.newId(),
    profile,
    principal,
    parking,
    invalid: (reason) => log.debug(`a client sent something that is of no use: ${reason}`),
    close: () => opened.close(),
  });
  const opened = openFront(visit, deps, {
    notify: (method, params) => session.notify(method, params),
    ask: (...asked) => session.ask(...asked),
  });
  sessions.add(session);
  const reply = (outcome: { result: unknown } | { error: ReturnType<typeof toRpcError> }) => {
    const headers: Record<string, string> = 'result' in outcome ? { 'Mcp-Session-Id': session.id } : {};
    new Answer({ response, accepts, owed: 1, batch: false, headers }).give({
      jsonrpc: '2.0',
      id: request.id,
      ...outcome,
    });
  };
  try {
    const result = await opened.front.request(request, {
      signal: new AbortController().signal,
      requestId: requestIdOf(response),
    });
    session.begin(opened.front, isRecord(result) ? String(result.protocolVersion) : '');
    if (response.destroyed) return sessions.end(session, 'the client left');
    reply({ result });
  } catch (error) {
    sessions.end(session, 'the session did not begin');
    reply({ error: toRpcError(error) });
  }
}

/** Nothing of ours is on the way to a client that cannot be asked. */
const ALONE = { origin: undefined, about: undefined };

/** Requests without a session: a front for this POST alone, and a client that hangs up cancels them. */
async function answerAlone(posted: Posted, accepts: Accepts, visit: McpVisit, deps: McpDeps): Promise<void> {
  const { response } = visit;
  const { messages, refused, batch } = posted;
  const requestId = requestIdOf(response);
  const requests = messages.filter(isRequest);
  const owed = requests.length + refused.length;
  if (owed === 0) return sendEmpty(response, 202);
  const { front, close } = openFront(visit, deps, { notify: () => undefined, lasts: 'request' });
  const answer = new Answer({ response, accepts, owed, batch });
  const push = (message: unknown) => void answer.push(JSON.stringify(message), { kept: false });
  const calls = requests.map((request) => ({ request, call: new IncomingCall(request, push, ALONE) }));
  response.once('close', () => {
    for (const { call } of calls) call.abort('the client went away');
  });
  for (const one of refused) answer.give(one);
  const serve = async ({ request, call }: (typeof calls)[number]) => {
    const { signal, progress } = call;
    const notify = (method: string, params?: Params) => push({ jsonrpc: '2.0', method, ...(params && { params }) });
    try {
      const result = await front.request(request, { signal, notify, requestId, ...(progress && { progress }) });
      call.finish();
      answer.give({ jsonrpc: '2.0', id: request.id, result });
    } catch (error) {
      answer.give({ jsonrpc: '2.0', id: request.id, error: toRpcError(error) });
    }
  };
  try {
    await Promise.all(calls.map(serve));
  } finally {
    close();
  }
}
