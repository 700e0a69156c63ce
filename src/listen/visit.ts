/** One request for MCP on its way through the listener: what it brings, what it may use, its messages and its front. */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FrontKind } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Principal } from '../policy/auth.ts';
import { type Id, INVALID_REQUEST, type Params } from '../wire/message.ts';
import { type Posted, readBody, readMessages } from './body.ts';
import type { Parking } from './events.ts';
import type { Gateway, Session } from './gateway.ts';
import type { SseSession } from './legacy-sse.ts';
import { sendRpcError } from './reply.ts';
import type { Rounds } from './rounds.ts';
import type { HttpSession } from './session.ts';
import type { Sessions } from './sessions.ts';
import type { Subscription } from './subscriptions.ts';

/** A request for MCP, after the guards. */
export interface McpVisit {
  request: IncomingMessage;
  response: ServerResponse;
  profile: string;
  front?: FrontKind;
  principal?: Principal;
}

export interface McpDeps {
  gateway: Pick<Gateway, 'open'>;
  /** Bytes of a body. */
  maxBody: number;
  sessions: Sessions<HttpSession | SseSession | Subscription>;
  rounds: Rounds;
  parking: Parking;
  log: Log;
}

/** Whether one more session may begin; where not, the answer says so and when to try again. */
export function hasRoom({ response, principal }: McpVisit, { sessions }: McpDeps, id: Id | null = null): boolean {
  const full = sessions.room(principal);
  if (full === undefined) return true;
  const error = { code: -32000, message: full.message, id };
  sendRpcError(response, full.status, error, { 'Retry-After': String(full.retryAfter) });
  return false;
}

/** The messages of the body; where there are none, the answer is on its way. */
export async function receive(
  { request, response }: Pick<McpVisit, 'request' | 'response'>,
  maxBody: number,
): Promise<Posted | undefined> {
  const body = await readBody(request, maxBody);
  if (body === undefined) {
    const message = `the body is larger than ${maxBody} bytes`;
    sendRpcError(response, 413, { code: INVALID_REQUEST, message }, { Connection: 'close' });
    return undefined;
  }
  const posted = readMessages(body);
  if ('messages' in posted) return posted;
  sendRpcError(response, 400, posted);
  return undefined;
}

export function openFront(
  { profile, front, principal }: McpVisit,
  { gateway }: McpDeps,
  notify: (method: string, params?: Params) => void,
): Session {
  return gateway.open({
    profile,
    downstream: { key: randomUUID(), notify },
    ...(front && { front }),
    ...(principal && { principal }),
  });
}
