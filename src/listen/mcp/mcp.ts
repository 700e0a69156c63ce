/** MCP over Streamable HTTP. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
import type { ServerResponse } from 'node:http';
import { toRpcError } from '../../errors.ts';
import { isModern } from '../../mcp/envelope.ts';
import { MODERN_VERSION } from '../../mcp/protocol-versions.ts';
import { IncomingCall } from '../../wire/incoming-request.ts';
import { INVALID_REQUEST, isRequest, type Params, type RpcRequest } from '../../wire/message.ts';
import { requestIdOf } from '../http/access-log.ts';
import { sendEmpty, sendRpcError } from '../http/http-response.ts';
import type { Posted } from '../http/request-body.ts';
import { claimsOf, initialize, resume } from './begin-session.ts';
import { acceptsEvents, readAccept, readVersion, VERSIONS_TEXT } from './content-negotiation.ts';
import { type McpDeps, type McpRequest, openFront, receive } from './mcp-request.ts';
import { serveModern } from './modern-http.ts';
import { type Accepts, Answer } from './post-response.ts';
import { allowsBatch, HttpSession } from './session.ts';

const SESSION_HEADER = 'mcp-session-id';

export function servePost(exchange: McpRequest, deps: McpDeps): void | Promise<void> {
  const accepts = readAccept(exchange.request.headers.accept);
  if (!accepts.json && !accepts.events)
    return refuse(exchange.response, 406, 'the client must accept application/json or text/event-stream');
  return receive(exchange, deps).then((posted) => posted && servePosted(posted, accepts, exchange, deps));
}

function servePosted(posted: Posted, accepts: Accepts, exchange: McpRequest, deps: McpDeps): void | Promise<void> {
  const { request, response } = exchange;
  const first = posted.messages[0];
  if (!posted.batch && first !== undefined && isRequest(first) && isModern(first, request.headers))
    return serveModern(first, accepts, exchange, deps);
  if (request.headers['mcp-protocol-version'] === MODERN_VERSION) {
    if (posted.batch) return refuse(response, 400, noBatches(MODERN_VERSION));
    // A modern client cancels by closing the connection; other notifications have no effect.
    if (first !== undefined && !isRequest(first)) return sendEmpty(response, 202);
  }

  const session = sessionOf(exchange, deps, idOf(posted));
  if (session instanceof Promise)
    return session.then((resumed) => serveInSession(resumed, { posted, accepts, exchange, deps }));
  return serveInSession(session, { posted, accepts, exchange, deps });
}

interface Asked {
  posted: Posted;
  accepts: Accepts;
  exchange: McpRequest;
  deps: McpDeps;
}

function serveInSession(session: Named, { posted, accepts, exchange, deps }: Asked): void | Promise<void> {
  const { request, response } = exchange;
  const first = posted.messages[0];
  if (session === 'refused') return;
  if (session === 'unknown') return refuse(response, 404, UNKNOWN_SESSION, idOf(posted));
  if (!posted.batch && first !== undefined && isRequest(first) && first.method === 'initialize') {
    if (session !== undefined) return refuse(response, 400, 'this session is initialized already', first.id);
    return initialize(first, accepts, exchange, deps);
  }
  const version = readVersion(request.headers);
  if (version === undefined) return refuse(response, 400, WRONG_VERSION);
  const refused = posted.batch ? batchProblem(posted, session?.version ?? version) : undefined;
  if (refused !== undefined) return refuse(response, 400, refused);
  if (session !== undefined) return session.post(posted, response, accepts);
  return answerAlone(posted, accepts, exchange, deps);
}

/** Returns the request id for an error response; undefined for a batch or a notification. */
function idOf({ messages: [first], batch }: Posted): RpcRequest['id'] | undefined {
  return !batch && first !== undefined && isRequest(first) ? first.id : undefined;
}

export async function serveGet(exchange: McpRequest, deps: McpDeps): Promise<void> {
  const { request, response } = exchange;
  const session = existing(await sessionOf(exchange, deps), exchange);
  if (session === undefined) return;
  const last = request.headers['last-event-id'];
  if (!acceptsEvents(request.headers.accept)) refuse(response, 406, 'the client must accept text/event-stream');
  else if (!session.listen(response, typeof last === 'string' ? last : undefined))
    refuse(response, 400, 'there is nothing to resume after this event');
}

export function serveDelete(exchange: McpRequest, deps: McpDeps): void {
  const id = exchange.request.headers[SESSION_HEADER];
  const here = knownSession(exchange, deps);
  // A session of another process is deleted without being resumed.
  const claims = here === 'absent' ? claimsOf(String(id), exchange, deps) : undefined;
  if (claims !== undefined) deps.ended.addForAll(claims);
  else {
    const session = existing(here === 'absent' ? 'unknown' : here, exchange);
    if (session === undefined) return;
    if (session.claims !== undefined) deps.ended.addForAll(session.claims);
    deps.sessions.end(session, ENDED);
  }
  sendEmpty(exchange.response, 200);
}

const ENDED = 'the client ended the session';

const UNKNOWN_SESSION = 'there is no such session: initialize a new one';
const WRONG_VERSION = `this protocol version is not supported; supported versions: ${VERSIONS_TEXT}`;

function refuse(response: ServerResponse, status: number, message: string, id?: RpcRequest['id']): void {
  sendRpcError(response, status, { code: INVALID_REQUEST, message, ...(id !== undefined && { id }) });
}

/** The session that a request names: undefined if it names none, 'refused' if an error was sent. */
type Named = HttpSession | 'unknown' | 'refused' | undefined;

/**
 * Returns the session that a request names if it is in this process; a session of another token or profile is unknown.
 */
function knownSession({ request, profile, principal }: McpRequest, deps: McpDeps): Named | 'absent' {
  const { sessions, ended } = deps;
  const id = request.headers[SESSION_HEADER];
  if (id === undefined) return undefined;
  if (ended.refresh()) sessions.expel((one) => !hasEnded(one, deps), ENDED);
  const found = sessions.find(String(id), principal);
  if (found === undefined) return 'absent';
  return found.kind === 'streamable' && found.profile === profile ? found : 'unknown';
}

function hasEnded(one: ReturnType<McpDeps['sessions']['find']>, { ended }: McpDeps): boolean {
  return one?.kind === 'streamable' && one.claims !== undefined && ended.has(one.claims);
}

/** Does the same, and resumes a session that began in another process. */
function sessionOf(exchange: McpRequest, deps: McpDeps, requestId?: RpcRequest['id']): Named | Promise<Named> {
  const found = knownSession(exchange, deps);
  const id = String(exchange.request.headers[SESSION_HEADER]);
  if (found === 'absent') return resume(id, exchange, deps, requestId ?? null);
  return deps.resuming.size > 0 && found instanceof HttpSession ? (deps.resuming.get(id) ?? found) : found;
}

/** Returns the session of a GET or DELETE; sends an error and returns undefined if there is none. */
function existing(session: Named, { request, response }: McpRequest): HttpSession | undefined {
  if (session === undefined) refuse(response, 400, 'the header Mcp-Session-Id is missing');
  else if (session === 'unknown') refuse(response, 404, UNKNOWN_SESSION);
  else if (session === 'refused') return undefined;
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

/** The client cannot be sent requests, so its requests belong to none of ours. */
const ALONE = { origin: undefined, attribution: undefined };

/** Serves requests without a session: the front exists for this POST only, and a disconnect cancels them. */
async function answerAlone(posted: Posted, accepts: Accepts, exchange: McpRequest, deps: McpDeps): Promise<void> {
  const { response } = exchange;
  const { messages, refused, batch } = posted;
  const requestId = requestIdOf(response);
  const requests = messages.filter(isRequest);
  const pending = requests.length + refused.length;
  if (pending === 0) return sendEmpty(response, 202);
  const { front, close } = openFront(exchange, deps, { notify: () => undefined, stateless: true });
  const answer = new Answer({ response, accepts, pending, batch });
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
