/** One request for MCP on its way through the listener: what it brings, what it may use, its messages and its front. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FrontKind } from '../config/config.ts';
import { RPC_CODES } from '../errors.ts';
import type { Downstream } from '../front/front.ts';
import type { Log } from '../observe/log.ts';
import { mayUseProfile, type Principal } from '../policy/auth.ts';
import { NO_RATE, type Rate } from '../policy/limits.ts';
import { addressHolder, nameOfHolder, type Shares, sessionHolder, tokenHolder } from '../policy/shares.ts';
import { MAX_CALLS } from '../router/batch.ts';
import { type Id, INVALID_REQUEST, isRecord, isRequest, type RpcRequest } from '../wire/message.ts';
import { type Posted, readBody, readMessages } from './body.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { Parking } from './events.ts';
import type { Gateway, Session } from './gateway.ts';
import { plainAddress } from './guard.ts';
import type { SseSession } from './legacy-sse.ts';
import { type Reason, refuse } from './refuse.ts';
import { sendRpcError } from './reply.ts';
import type { Rounds } from './rounds.ts';
import type { Seal } from './seal.ts';
import type { HttpSession } from './session.ts';
import type { SessionIds } from './session-id.ts';
import type { Sessions } from './sessions.ts';
import type { Subscription } from './subscriptions.ts';
import type { Trace } from './trace.ts';

/** A request for MCP, after the guards. */
export interface McpVisit {
  request: IncomingMessage;
  response: ServerResponse;
  profile: string;
  front?: FrontKind | undefined;
  principal?: Principal | undefined;
}

export interface McpDeps {
  gateway: Pick<Gateway, 'open' | 'canResume'>;
  /** Bytes of a body. */
  maxBody: number;
  rate: Rate;
  /** Bytes of bodies at once, by client, until they are answered or no longer needed; small ones do not count. */
  bodies: Shares;
  sessions: Sessions<HttpSession | SseSession | Subscription>;
  ids: SessionIds;
  ended: EndedSessions;
  /** Sessions that are being taken up, by id. */
  resuming: Map<string, Promise<HttpSession | 'unknown'>>;
  /** See `Authenticator.fingerprint`. */
  fingerprint(principal: Principal | undefined): string;
  rounds: Rounds;
  seal: Seal;
  parking: Parking;
  log: Log;
}

/** A profile that a token may not use is as good as missing; only the audit log knows the difference. */
export function profileState(
  profile: string,
  { principal, trace }: { principal: Principal | undefined; trace: Trace },
  gateway: Pick<Gateway, 'profileState'>,
): ReturnType<Gateway['profileState']> {
  const state = gateway.profileState(profile);
  if (state === 'unknown' || principal === undefined || mayUseProfile(principal, profile)) return state;
  trace.hidden = true;
  return 'unknown';
}

/** Whether one more session may begin; where not, the answer says so and when to try again. */
export function hasRoom({ response, principal }: McpVisit, { sessions }: McpDeps, id: Id | null = null): boolean {
  const full = sessions.room(principal);
  if (full === undefined) return true;
  const error = { code: RPC_CODES.overloaded, message: full.message, id, data: { hint: full.hint } };
  sendRpcError(response, full.status, error, { 'Retry-After': String(full.retryAfter) });
  return false;
}

/** Refuses what was posted with the id of its request, where the body is small, JSON, and on its way. */
export async function refusePosted(visit: Receiving, deps: ReceivingDeps, status: number, why: Reason): Promise<void> {
  const { request, response } = visit;
  const { headers } = request;
  const isReadable = request.method === 'POST' && JSON_BODY.test(headers['content-type'] ?? '');
  const isSmall = Number(headers['content-length'] ?? SMALL + 1) <= Math.min(SMALL, deps.maxBody);
  if (!isReadable || !isSmall || headers.expect !== undefined) return refuse(response, status, why);
  const posted = readMessages((await readBody(visit, deps.maxBody)) ?? '');
  const [first] = 'messages' in posted && !posted.batch ? posted.messages : [];
  refuse(response, status, { ...why, id: first !== undefined && isRequest(first) ? first.id : undefined });
}

const JSON_BODY = /^application\/json\s*(?:;|$)/i;

type Receiving = Pick<McpVisit, 'request' | 'response' | 'principal'>;
type ReceivingDeps = Pick<McpDeps, 'maxBody' | 'rate' | 'bodies' | 'sessions'>;

const NOTHING = Promise.resolve(undefined);

/** The messages of the body; where there are none, the answer is on its way. */
export function receive(visit: Receiving, deps: ReceivingDeps): Promise<Posted | undefined> {
  if (!mayBePosted(visit, deps)) return NOTHING;
  return readBody(visit, deps.maxBody).then((body) => messagesIn(body, visit, deps));
}

/** Whether a body may come at all. */
function mayBePosted(visit: Receiving, deps: ReceivingDeps): boolean {
  const { request, response } = visit;
  if (!JSON_BODY.test(request.headers['content-type'] ?? '')) {
    sendRpcError(response, 415, { code: INVALID_REQUEST, message: 'the Content-Type must be application/json' });
    return false;
  }
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    sendRpcError(response, 415, { code: INVALID_REQUEST, message: 'a body must not be compressed' });
    return false;
  }
  return fits(visit, deps);
}

function messagesIn(
  body: string | undefined,
  { response, principal }: Receiving,
  { maxBody, rate, bodies }: ReceivingDeps,
): Posted | undefined {
  keepRoom(response, bodies, body);
  if (body === undefined) {
    const message = `the body is larger than ${maxBody} bytes`;
    sendRpcError(response, 413, { code: INVALID_REQUEST, message }, { Connection: 'close' });
    return undefined;
  }
  const posted = readMessages(body);
  if (!('messages' in posted)) sendRpcError(response, 400, posted);
  else if (isPaid(posted, { response, principal }, rate)) return posted;
  return undefined;
}

/** The request itself was counted when it came; what else a batch holds counts as well. */
function isPaid({ messages }: Posted, who: Parameters<typeof isTimely>[0], rate: Rate): boolean {
  if (rate === NO_RATE) return true;
  const requests = messages.filter(isRequest);
  if (!isTimely(who, rate, requests.length - 1)) return false;
  const more = requests.reduce((sum, message) => sum + moreCalls(message), 0);
  if (more > 0) rate.charge(who.principal?.name ?? '', more);
  return true;
}

/** Bytes of a body that is not counted. */
const SMALL = 16 * 1024;

const ROOM = Symbol('room');

/** Bytes that its request has, and whose share they are of; absent where it never had any. */
type Roomy = ServerResponse & { [ROOM]?: { size: number; holder: string } };

/** Whether there is memory for a body of the announced size; where not, the answer says so. One of unknown size counts as the largest until it is there. */
export function fits(visit: Receiving, deps: Pick<McpDeps, 'bodies' | 'maxBody' | 'sessions'>): boolean {
  const { request, response } = visit;
  const { bodies, maxBody } = deps;
  const size = Number(request.headers['content-length'] ?? maxBody);
  // Nothing is kept of what is too large.
  if (size <= SMALL || size > maxBody) return true;
  const holder = bodyHolder(visit, deps);
  const exhausted = bodies.take(holder, size);
  if (exhausted === undefined) {
    (response as Roomy)[ROOM] = { size, holder };
    response.once('close', () => keepRoom(response, bodies, undefined));
    return true;
  }
  const own = exhausted === 'share';
  const whose = own ? `too many large requests of ${nameOfHolder(holder)}` : 'too many large requests';
  const hint = 'wait until some of them were answered; bodies of up to 16 KiB do not count';
  const why = { message: `${whose} are under way: try again in a moment`, hint, rpc: RPC_CODES.overloaded };
  refuse(response, own ? 429 : 503, why, { 'Retry-After': '1', Connection: 'close' });
  return false;
}

/** Whose body it is: that of a token, of a session where there are no tokens, else of whatever comes from that address. */
function bodyHolder({ request, principal }: Receiving, { sessions }: Pick<McpDeps, 'sessions'>): string {
  const id = request.headers['mcp-session-id'];
  if (principal === undefined && typeof id === 'string' && sessions.find(id, undefined)) return sessionHolder(id);
  return holderOf({ request, principal });
}

/** Whose share a request counts towards where it belongs to no session. */
export function holderOf({ request, principal }: Pick<McpVisit, 'request' | 'principal'>): string {
  return principal ? tokenHolder(principal.name) : addressHolder(plainAddress(request.socket.remoteAddress));
}

/** Gives back what is more than this body needs, and everything where there is none or nobody needs it any longer. */
export function keepRoom(response: Roomy, bodies: Shares, body: string | undefined): void {
  const room = response[ROOM];
  if (room === undefined) return;
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  const kept = size <= SMALL ? 0 : Math.min(size, room.size);
  bodies.give(room.holder, room.size - kept);
  room.size = kept;
}

/** Calls of tools beyond the first that one request asks for, see `router/batch.ts`. */
function moreCalls({ method, params }: RpcRequest): number {
  const { name, arguments: args } = params ?? {};
  if (method !== 'tools/call' || !RUNNERS.has(name) || !isRecord(args)) return 0;
  const most = Array.isArray(args.calls) ? args.calls.length : typeof args.calls === 'string' ? MAX_CALLS : 0;
  return Math.max(0, Math.min(most, MAX_CALLS) - 1);
}

/** The tools of the compact front that run others. */
const RUNNERS: ReadonlySet<unknown> = new Set(['exec', 'exec_read', 'call', 'call_read']);

/** Whether a token keeps to its rate; where not, the answer says when to try again. Those without a token share one account. */
export function isTimely(
  { response, principal }: { response: ServerResponse; principal?: Principal | undefined },
  rate: Rate,
  count = 1,
): boolean {
  const wait = count > 0 ? rate.take(principal?.name ?? '', count) : undefined;
  if (wait === undefined) return true;
  const message = `too many requests: try again in ${wait} s`;
  refuse(response, 429, { message, rpc: RPC_CODES.overloaded }, { 'Retry-After': String(wait) });
  return false;
}

export function openFront(
  visit: McpVisit,
  { gateway }: McpDeps,
  { notify, ask, lasts }: Omit<Downstream, 'key'>,
  issued?: number,
): Session {
  const { profile, front, principal } = visit;
  const key = randomUUID();
  return gateway.open({
    profile,
    downstream: { key, notify, ...(ask && { ask }), ...(lasts && { lasts }) },
    ...(front && { front }),
    ...{ principal, issued },
    holder: principal || lasts === 'request' ? holderOf(visit) : sessionHolder(key),
  });
}
