/** The steps that all MCP requests over HTTP share: limits, the body with its messages, and the front. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FrontKind } from '../../config/config.ts';
import { RPC_CODES } from '../../errors.ts';
import { furtherCalls } from '../../front/compact/dialect.ts';
import type { Downstream } from '../../front/front-interface.ts';
import type { Log } from '../../observe/log.ts';
import { mayUseProfile, type Principal, payerOf } from '../../policy/auth.ts';
import { NO_RATE, type Rate } from '../../policy/rate-limit.ts';
import { addressHolder, nameOfHolder, type Shares, sessionHolder, tokenHolder } from '../../policy/shares.ts';
import { type Id, INVALID_REQUEST, isRequest } from '../../wire/message.ts';
import type { Gateway, Session } from '../app-api.ts';
import type { RequestTrace } from '../http/access-log.ts';
import { type Reason, rejectRequest } from '../http/error-response.ts';
import { plainAddress } from '../http/guard.ts';
import { sendRpcError } from '../http/http-response.ts';
import { type Posted, readBody, readMessages } from '../http/request-body.ts';
import type { EndedSessions } from './ended-sessions.ts';
import type { HeldCalls } from './held-calls.ts';
import type { SseSession } from './legacy-sse.ts';
import type { RequestStateCodec } from './request-state.ts';
import type { HttpSession } from './session.ts';
import type { SessionIds } from './session-id.ts';
import type { Sessions } from './sessions.ts';
import type { Parking } from './sse-stream.ts';
import type { Subscription } from './subscription-stream.ts';

/** An MCP request that has passed the checks of the listener. */
export interface McpRequest {
  request: IncomingMessage;
  response: ServerResponse;
  profile: string;
  front?: FrontKind | undefined;
  principal?: Principal | undefined;
}

export interface McpDeps {
  gateway: Pick<Gateway, 'open' | 'canResume'>;
  /** Maximum bytes of a body. */
  maxBody: number;
  rate: Rate;
  /** Bytes of request bodies in memory, by client, until the response is sent; small bodies do not count. */
  bodies: Shares;
  sessions: Sessions<HttpSession | SseSession | Subscription>;
  ids: SessionIds;
  ended: EndedSessions;
  /** Sessions that are being resumed, by id. */
  resuming: Map<string, Promise<HttpSession | 'unknown'>>;
  /** See `Authenticator.fingerprint`. */
  fingerprint(principal: Principal | undefined): string;
  heldCalls: HeldCalls;
  stateCodec: RequestStateCodec;
  parking: Parking;
  log: Log;
}

/**
 * Returns the state of a profile. A profile that the token may not use is `unknown`; only the audit log differs.
 */
export function profileState(
  profile: string,
  { principal, trace }: { principal: Principal | undefined; trace: RequestTrace },
  gateway: Pick<Gateway, 'profileState'>,
): ReturnType<Gateway['profileState']> {
  const state = gateway.profileState(profile);
  if (state === 'unknown' || principal === undefined || mayUseProfile(principal, profile)) return state;
  trace.hidden = true;
  return 'unknown';
}

/** Returns true if one more session may begin; otherwise sends an error with Retry-After. */
export function hasRoom({ response, principal }: McpRequest, { sessions }: McpDeps, id: Id | null = null): boolean {
  const full = sessions.room(principal);
  if (full === undefined) return true;
  const error = { code: RPC_CODES.overloaded, message: full.message, id, data: { hint: full.hint } };
  sendRpcError(response, full.status, error, { 'Retry-After': String(full.retryAfter) });
  return false;
}

/** Rejects a POST with the id of its request, if the body is small JSON and is being sent. */
export async function rejectPost(exchange: Receiving, deps: ReceivingDeps, status: number, why: Reason): Promise<void> {
  const { request, response } = exchange;
  const { headers } = request;
  const isReadable = request.method === 'POST' && JSON_BODY.test(headers['content-type'] ?? '');
  const isSmall = Number(headers['content-length'] ?? SMALL + 1) <= Math.min(SMALL, deps.maxBody);
  if (!isReadable || !isSmall || headers.expect !== undefined) return rejectRequest(response, status, why);
  const posted = readMessages((await readBody(exchange, deps.maxBody)) ?? '');
  const [first] = 'messages' in posted && !posted.batch ? posted.messages : [];
  rejectRequest(response, status, { ...why, id: first !== undefined && isRequest(first) ? first.id : undefined });
}

const JSON_BODY = /^application\/json\s*(?:;|$)/i;

type Receiving = Pick<McpRequest, 'request' | 'response' | 'principal'>;
type ReceivingDeps = Pick<McpDeps, 'maxBody' | 'rate' | 'bodies' | 'sessions'>;

const NOTHING = Promise.resolve(undefined);

/** Reads the messages of the body; sends an error and returns undefined if they are invalid. */
export function receive(exchange: Receiving, deps: ReceivingDeps): Promise<Posted | undefined> {
  if (!mayBePosted(exchange, deps)) return NOTHING;
  return readBody(exchange, deps.maxBody).then((body) => messagesIn(body, exchange, deps));
}

/** Checks the headers of a POST before its body is read; returns false if an error was sent. */
function mayBePosted(exchange: Receiving, deps: ReceivingDeps): boolean {
  const { request, response } = exchange;
  if (!JSON_BODY.test(request.headers['content-type'] ?? '')) {
    sendRpcError(response, 415, { code: INVALID_REQUEST, message: 'the Content-Type must be application/json' });
    return false;
  }
  if ((request.headers['content-encoding'] ?? 'identity') !== 'identity') {
    sendRpcError(response, 415, { code: INVALID_REQUEST, message: 'a body must not be compressed' });
    return false;
  }
  return reserveBody(exchange, deps);
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
  else if (chargeBatch(posted, { response, principal }, rate)) return posted;
  return undefined;
}

/** Counts the further requests of a batch against the rate limit; the first was counted on arrival. */
function chargeBatch({ messages }: Posted, who: Parameters<typeof withinRate>[0], rate: Rate): boolean {
  if (rate === NO_RATE) return true;
  const requests = messages.filter(isRequest);
  if (!withinRate(who, rate, requests.length - 1)) return false;
  const more = requests.reduce((sum, message) => sum + furtherCalls(message), 0);
  if (more > 0) rate.charge(payerOf(who.principal) ?? '', more);
  return true;
}

/** Bodies up to this many bytes are not counted. */
const SMALL = 16 * 1024;

const ROOM = Symbol('room');

/** The bytes reserved for the body of a request, and the client they count for; absent if none are reserved. */
type Roomy = ServerResponse & { [ROOM]?: { size: number; holder: string } };

/**
 * Reserves memory for a body of the announced size; if there is none, sends an error and returns false. A body of
 * unknown size counts as the maximum until it is read.
 */
export function reserveBody(exchange: Receiving, deps: Pick<McpDeps, 'bodies' | 'maxBody' | 'sessions'>): boolean {
  const { request, response } = exchange;
  const { bodies, maxBody } = deps;
  const size = Number(request.headers['content-length'] ?? maxBody);
  // A body over the limit is not stored.
  if (size <= SMALL || size > maxBody) return true;
  const holder = bodyHolder(exchange, deps);
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
  rejectRequest(response, own ? 429 : 503, why, { 'Retry-After': '1', Connection: 'close' });
  return false;
}

/** Returns the client that a body counts for: its token, its session if there are no tokens, else its address. */
function bodyHolder({ request, principal }: Receiving, { sessions }: Pick<McpDeps, 'sessions'>): string {
  const id = request.headers['mcp-session-id'];
  if (principal === undefined && typeof id === 'string' && sessions.find(id, undefined)) return sessionHolder(id);
  return holderOf({ request, principal });
}

/** Returns the client that a request without a session counts for. */
export function holderOf({ request, principal }: Pick<McpRequest, 'request' | 'principal'>): string {
  const payer = payerOf(principal);
  return payer === undefined ? addressHolder(plainAddress(request.socket.remoteAddress)) : tokenHolder(payer);
}

/**
 * Releases the reserved bytes that this body does not need; all of them if there is no body or it is no longer needed.
 */
export function keepRoom(response: Roomy, bodies: Shares, body: string | undefined): void {
  const room = response[ROOM];
  if (room === undefined) return;
  const size = body === undefined ? 0 : Buffer.byteLength(body);
  const kept = size <= SMALL ? 0 : Math.min(size, room.size);
  bodies.give(room.holder, room.size - kept);
  room.size = kept;
}

/**
 * Counts requests of a token against its rate limit; beyond it, sends an error with Retry-After and returns false. All
 * clients without a token share one limit.
 */
export function withinRate(
  { response, principal }: { response: ServerResponse; principal?: Principal | undefined },
  rate: Rate,
  count = 1,
): boolean {
  const wait = count > 0 ? rate.take(payerOf(principal) ?? '', count) : undefined;
  if (wait === undefined) return true;
  const message = `too many requests: try again in ${wait} s`;
  rejectRequest(response, 429, { message, rpc: RPC_CODES.overloaded }, { 'Retry-After': String(wait) });
  return false;
}

export function openFront(
  exchange: McpRequest,
  { gateway }: McpDeps,
  { notify, ask, stateless }: Omit<Downstream, 'key'>,
  issued?: number,
): Session {
  const { profile, front, principal } = exchange;
  const key = randomUUID();
  return gateway.open({
    profile,
    downstream: { key, notify, ...(ask && { ask }), ...(stateless && { stateless }) },
    ...(front && { front }),
    ...{ principal, issued },
    holder: principal || stateless ? holderOf(exchange) : sessionHolder(key),
  });
}
