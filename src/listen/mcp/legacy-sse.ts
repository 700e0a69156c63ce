/** The HTTP+SSE transport of 2024-11-05: one event stream per session, messages by POST to the endpoint it names. */
import type { ServerResponse } from 'node:http';
import { McpxError } from '../../errors.ts';
import type { ClientSession } from '../../front/front-interface.ts';
import type { Principal } from '../../policy/auth.ts';
import { INVALID_REQUEST, isNotification, isResponse, type Message } from '../../wire/message.ts';
import { createPeer, type Peer, type Receiver } from '../../wire/peer.ts';
import type { Session } from '../app-api.ts';
import { sendEmpty, sendRpcError } from '../http/http-response.ts';
import { hasRoom, type McpDeps, type McpRequest, openFront, receive } from './mcp-request.ts';
import type { SessionEntry } from './sessions.ts';
import { EventStream } from './sse-stream.ts';

/**
 * Unread characters beyond which no further requests are sent to the client, and beyond which its requests are
 * rejected.
 */
const MAX_QUESTIONS = 1024 * 1024;
const MAX_ANSWERS = 16 * 1024 * 1024;

export interface SseSessionOptions {
  id: string;
  profile: string;
  principal: Principal | undefined;
  response: ServerResponse;
  invalid(reason: string): void;
}

export class SseSession implements SessionEntry {
  readonly kind = 'sse';
  readonly busy = true;
  readonly id: string;
  readonly profile: string;
  readonly principal: Principal | undefined;
  readonly #stream = new EventStream();
  readonly #peer: Peer;
  #receiver: Receiver | undefined;
  #opened: Session | undefined;

  constructor({ id, profile, principal, response, invalid }: SseSessionOptions) {
    this.id = id;
    this.profile = profile;
    this.principal = principal;
    this.#peer = createPeer(
      {
        start: (receiver) => {
          this.#receiver = receiver;
        },
        send: (message) => this.#send(message),
        close: async () => this.#stream.end(),
      },
      {
        subject: 'the client',
        request: async (request, incoming) =>
          this.#front().request(request, {
            signal: incoming.signal,
            ...(incoming.progress && { progress: incoming.progress }),
            notify: this.#peer.notify,
            ask: this.#peer.request,
          }),
        notification: (notification) => this.#front().notification(notification),
        invalid,
      },
    );
    this.#stream.attach(response);
    this.#stream.push(`/messages?sessionId=${id}`, { kept: true, event: 'endpoint' });
  }

  get calling(): boolean {
    return this.#peer.pending.theirs > 0;
  }

  /** True if the client does not read its responses. */
  get stuffed(): boolean {
    return this.#stream.waiting > MAX_ANSWERS;
  }

  begin(opened: Session): void {
    this.#opened = opened;
  }

  notify(method: string, params?: Record<string, unknown>): void {
    this.#peer.notify(method, params);
  }

  ask(...asked: Parameters<Peer['request']>): Promise<unknown> {
    return this.#peer.request(...asked);
  }

  receive(message: Message): void {
    this.#receiver?.message(message);
  }

  end(): void {
    void this.#peer.close();
    this.#opened?.close();
  }

  #front(): ClientSession {
    if (this.#opened === undefined) throw new McpxError('failed', 'the session has not begun');
    return this.#opened.front;
  }

  #send(message: Message): void {
    const kept = !isNotification(message);
    if (kept && !isResponse(message) && this.#stream.waiting > MAX_QUESTIONS)
      throw new McpxError('overloaded', 'the client does not read the requests sent to it');
    this.#stream.push(JSON.stringify(message), { kept });
  }
}

/** Serves `GET /sse`: the session lasts as long as its stream. */
export function serveSse(exchange: McpRequest, deps: McpDeps): void {
  const { response, profile, principal } = exchange;
  const { sessions, log } = deps;
  if (!hasRoom(exchange, deps)) return;
  const session = new SseSession({
    id: sessions.newId(),
    profile,
    principal,
    response,
    invalid: (reason) => log.debug(`a client sent an invalid message: ${reason}`),
  });
  const opened = openFront(exchange, deps, {
    notify: (method, params) => session.notify(method, params),
    ask: (...asked) => session.ask(...asked),
  });
  session.begin(opened);
  sessions.add(session);
  response.once('close', () => sessions.end(session, 'the client left'));
}

/** Serves `POST /messages?sessionId=`: responds with 202 and sends the JSON-RPC responses on the session's stream. */
export async function serveMessages(
  exchange: Pick<McpRequest, 'request' | 'response' | 'principal'> & { id: string | null },
  deps: McpDeps,
): Promise<void> {
  const { response, principal, id } = exchange;
  const fail = (status: number, message: string, headers?: Record<string, string>) =>
    sendRpcError(response, status, { code: INVALID_REQUEST, message }, headers);
  if (id === null) return fail(400, '"sessionId" is missing');
  const posted = await receive(exchange, deps);
  if (posted === undefined) return;
  const session = deps.sessions.find(id, principal);
  if (session?.kind !== 'sse') return fail(404, 'there is no such session');
  if (session.stuffed) return fail(503, 'the answers so far are not read', { 'Retry-After': '5' });
  for (const message of posted.messages) session.receive(message);
  sendEmpty(response, 202);
}
