/** MCP over Streamable HTTP: POST with a session or without, the stream of GET, DELETE. https://modelcontextprotocol.io/specification/2025-11-25/basic/transports */
import type { ServerResponse } from 'node:http';
import { toRpcError } from '../errors.ts';
import { MODERN_VERSION } from '../upstream/revisions.ts';
import { IncomingCall } from '../wire/incoming.ts';
import { INVALID_REQUEST, isRequest, type Params, type RpcRequest } from '../wire/message.ts';
import { type Accepts, Answer } from './answer.ts';
import { claimsOf, initialize, resume } from './begin-session.ts';
import type { Posted } from './body.ts';
import { isModern } from './envelope.ts';
import { serveModern } from './modern.ts';
import { acceptsEvents, readAccept, readVersion, VERSIONS_TEXT } from './negotiate.ts';
import { sendEmpty, sendRpcError } from './reply.ts';
import { allowsBatch, HttpSession } from './session.ts';
import { requestIdOf } from './trace.ts';
import { type McpDeps, type McpVisit, openFront, receive } from './visit.ts';

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

  const session = sessionOf(visit, deps, idOf(posted));
  if (session instanceof Promise)
    return session.then((resumed) => serveInSession(resumed, { posted, accepts, visit, deps }));
  return serveInSession(session, { posted, accepts, visit, deps });
}

interface Asked {
  posted: Posted;
  accepts: Accepts;
  visit: McpVisit;
  deps: McpDeps;
}

function serveInSession(session: Named, { posted, accepts, visit, deps }: Asked): void | Promise<void> {
  const { request, response } = visit;
  const first = posted.messages[0];
  if (session === 'refused') return;
  if (session === 'unknown') return refuse(response, 404, UNKNOWN_SESSION, idOf(posted));
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

/** The id that an error has to carry, where one request is asked. */
function idOf({ messages: [first], batch }: Posted): RpcRequest['id'] | undefined {
  return !batch && first !== undefined && isRequest(first) ? first.id : undefined;
}

export async function serveGet(visit: McpVisit, deps: McpDeps): Promise<void> {
  const { request, response } = visit;
  const session = existing(await sessionOf(visit, deps), visit);
  if (session === undefined) return;
  const last = request.headers['last-event-id'];
  if (!acceptsEvents(request.headers.accept)) refuse(response, 406, 'the client must accept text/event-stream');
  else if (!session.listen(response, typeof last === 'string' ? last : undefined))
    refuse(response, 400, 'there is nothing to resume after this event');
}

export function serveDelete(visit: McpVisit, deps: McpDeps): void {
  const id = visit.request.headers[SESSION_HEADER];
  const here = knownSession(visit, deps);
  // A session of another process need not begin to be ended.
  const claims = here === 'absent' ? claimsOf(String(id), visit, deps) : undefined;
  if (claims !== undefined) deps.ended.addForAll(claims);
  else {
    const session = existing(here === 'absent' ? 'unknown' : here, visit);
    if (session === undefined) return;
    if (session.claims !== undefined) deps.ended.addForAll(session.claims);
    deps.sessions.end(session, ENDED);
  }
  sendEmpty(visit.response, 200);
}

const ENDED = 'the client ended the session';

const UNKNOWN_SESSION = 'there is no such session: initialize a new one';
const WRONG_VERSION = `this protocol version is not spoken here; these are: ${VERSIONS_TEXT}`;

function refuse(response: ServerResponse, status: number, message: string, id?: RpcRequest['id']): void {
  sendRpcError(response, status, { code: INVALID_REQUEST, message, ...(id !== undefined && { id }) });
}

/** The session that a request names, why there is none, or that the answer is on its way. */
type Named = HttpSession | 'unknown' | 'refused' | undefined;

/** The session that a request names, if it is here; a session of another token or profile is no session. */
function knownSession({ request, profile, principal }: McpVisit, deps: McpDeps): Named | 'absent' {
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

/** The same; one that began in another process is taken up. */
function sessionOf(visit: McpVisit, deps: McpDeps, requestId?: RpcRequest['id']): Named | Promise<Named> {
  const found = knownSession(visit, deps);
  const id = String(visit.request.headers[SESSION_HEADER]);
  if (found === 'absent') return resume(id, visit, deps, requestId ?? null);
  return deps.resuming.size > 0 && found instanceof HttpSession ? (deps.resuming.get(id) ?? found) : found;
}

/** The session of a GET or DELETE; where there is none, the answer is on its way. */
function existing(session: Named, { request, response }: McpVisit): HttpSession | undefined {
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
