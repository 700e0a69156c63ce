/** MCP 2026-07-28 over stdio: one client, each of whose requests carries its client info and capabilities. */
import type { CancelSignal } from '../../cancel-signal.ts';
import { isWithin, locateUri } from '../../catalog/exposed-uris.ts';
import { cancelled, RpcError } from '../../errors.ts';
import { complete, type Envelope, readEnvelope } from '../../mcp/envelope.ts';
import { isLogLevel, levelRank } from '../../mcp/log-levels.ts';
import type { Refused } from '../../mcp/param-headers.ts';
import { META } from '../../mcp/protocol-versions.ts';
import { isUnknown } from '../../router/server-requests.ts';
import { INVALID_PARAMS, isRecord, type Params, type RpcRequest } from '../../wire/message.ts';
import type { Incoming } from '../../wire/peer.ts';
import type { Session } from '../app-api.ts';
import { createHeldCalls } from './held-calls.ts';
import { introduce } from './introduce-client.ts';
import { serveModernRequest, unknownMethod } from './modern-request.ts';
import { createRequestStateCodec } from './request-state.ts';
import { createNews, honour, methodsOf, type News, stamped } from './subscription-stream.ts';

type Notify = (method: string, params?: Params) => void;

export interface ModernStdioOptions {
  profile: string;
  /** Opens a session for this client. */
  open(notify: Notify): Session;
  /** Sends a notification to the client. */
  notify: Notify;
}

export interface ModernStdio {
  /** Serves a request; rejects with RpcError. */
  serve(request: RpcRequest, incoming: Incoming): Promise<unknown>;
  /** Ends the subscriptions, which never end by themselves. */
  release(): void;
  close(): void;
}

/** A subscription of the client, under the id of one request. */
interface Listener {
  news: News;
  uris: unknown[];
}

/** A session for one set of client info and capabilities, which usually is the same in all requests. */
interface Face {
  session: Session;
  listeners: Set<Listener>;
  /** Requests in progress, with the log level of each. */
  requests: Set<{ logLevel: string | undefined }>;
}

/** The client info and capabilities without the log level, which applies to one request only. */
type Who = Omit<Envelope, 'logLevel'>;

/** Maximum number of sessions for a client whose info varies; one with a request in progress is kept beyond it. */
const MAX_FACES = 8;
/** Maximum number of subscriptions. */
const MAX_LISTENERS = 100;
const TOO_MANY = -32000;

export function createModernStdio(options: ModernStdioOptions): ModernStdio {
  return new ModernClient(options);
}

class ModernClient implements ModernStdio {
  readonly #options: ModernStdioOptions;
  readonly #faces = new Map<string, Face>();
  readonly #over = new AbortController();
  readonly #deps = { heldCalls: createHeldCalls(), stateCodec: createRequestStateCodec() };

  constructor(options: ModernStdioOptions) {
    this.#options = options;
  }

  async serve(request: RpcRequest, incoming: Incoming): Promise<unknown> {
    // The cancellation may have arrived in the same chunk as the request.
    if (incoming.signal.aborted) throw cancelled(request.method);
    const envelope = readEnvelope(request);
    if ('code' in envelope) throw refused(envelope);
    const unknown = unknownMethod(request);
    if (unknown !== undefined) throw refused(unknown);
    return request.method === 'subscriptions/listen'
      ? this.#listen(request, envelope, incoming)
      : this.#call(request, envelope, incoming);
  }

  release(): void {
    this.#over.abort();
  }

  close(): void {
    this.#deps.heldCalls.close();
    for (const { session } of this.#faces.values()) session.close();
  }

  async #call(request: RpcRequest, envelope: Envelope, incoming: Incoming): Promise<unknown> {
    const { profile, notify } = this.#options;
    const { logLevel, ...who } = envelope;
    const place = { principal: undefined, profile, open: () => this.#enter(who, logLevel) };
    const turn = serveModernRequest(request, who, place, this.#deps);
    if ('code' in turn) throw refused(turn);
    const { round } = turn;
    incoming.signal.addEventListener('abort', () => round.abort('the client cancelled the request'), { once: true });
    round.progress = (params) => incoming.progress?.(params);
    round.hear = (method, params) => {
      const isLoud = () => logLevel !== undefined && levelRank(params?.level) >= levelRank(logLevel);
      const isWanted = method === 'notifications/message' ? isLoud() : isUnknown(method);
      return isWanted && notify(method, params);
    };
    const answer = await turn.answer();
    if ('error' in answer) throw refused(answer.error);
    return answer.result;
  }

  async #listen(request: RpcRequest, { logLevel: _, ...who }: Envelope, { signal }: Incoming): Promise<unknown> {
    const wanted = request.params?.notifications;
    if (!isRecord(wanted)) throw new RpcError(INVALID_PARAMS, '"notifications" must be an object');
    const count = [...this.#faces.values()].reduce((sum, { listeners }) => sum + listeners.size, 0);
    if (count >= MAX_LISTENERS) throw new RpcError(TOO_MANY, 'too many subscriptions are open');
    const opened = this.#enter(who);
    const { front, listeners } = opened;
    const stamp = { [`${META}subscriptionId`]: request.id };
    const hear: Notify = (method, params) => this.#options.notify(method, stamped(params, stamp));
    const listener: Listener = { news: createNews(hear), uris: [] };
    listeners.add(listener);
    const ask = (method: string, uri: unknown, until: CancelSignal) =>
      front.request({ method, params: { uri } }, { signal: until });
    try {
      const hello = await introduce(opened, who, signal);
      const capabilities = isRecord(hello.capabilities) ? hello.capabilities : {};
      const honoured = await honour(wanted, capabilities, (uri) => ask('resources/subscribe', uri, signal));
      if (Array.isArray(honoured.resourceSubscriptions)) listener.uris = honoured.resourceSubscriptions;
      if (!signal.aborted) hear('notifications/subscriptions/acknowledged', { notifications: honoured });
      if (begin(listener, honoured)) await aborted(signal, this.#over.signal);
      return complete('', {}, { ...stamp, [`${META}serverInfo`]: hello.serverInfo });
    } finally {
      listeners.delete(listener);
      const others = [...listeners];
      const forgotten = listener.uris.filter((uri) => !others.some(({ uris }) => uris.includes(uri)));
      // A new signal, because a client that has cancelled must be unsubscribed as well.
      const { signal: whole } = new AbortController();
      await Promise.allSettled(forgotten.map((uri) => ask('resources/unsubscribe', uri, whole)));
      opened.close();
    }
  }

  /** Returns the session for one request, until it is closed. */
  #enter(who: Who, logLevel?: string): Session & Pick<Face, 'listeners'> {
    const key = JSON.stringify(who);
    const face = this.#faces.get(key) ?? this.#openFace();
    this.#faces.delete(key);
    this.#faces.set(key, face);
    const { listeners, requests, session } = face;
    const request = { logLevel };
    requests.add(request);
    this.#tidy();
    if (logLevel !== undefined) this.#setLevel(face);
    const close = () => {
      requests.delete(request);
      this.#tidy();
    };
    return { front: session.front, listeners, close };
  }

  #openFace(): Face {
    const listeners = new Set<Listener>();
    const tell: Notify = (method, params) => {
      for (const { news } of listeners) news.tell(method, params);
    };
    return { listeners, session: this.#options.open(tell), requests: new Set() };
  }

  /** Closes the sessions that have been unused for the longest time. */
  #tidy(): void {
    for (const [key, { session, requests }] of this.#faces) {
      if (this.#faces.size <= MAX_FACES) return;
      if (requests.size > 0) continue;
      this.#faces.delete(key);
      session.close();
    }
  }

  /** Sets the lowest log level of all requests in progress; messages are then filtered for each request. */
  #setLevel({ session, requests }: Face): void {
    const levels = [...requests].map(({ logLevel }) => logLevel).filter(isLogLevel);
    const [level] = levels.sort((one, other) => levelRank(one) - levelRank(other));
    const request = { method: 'logging/setLevel', params: { level } };
    if (level !== undefined) void session.front.request(request, { signal: this.#over.signal });
  }
}

/** Starts delivery of the acknowledged notifications; returns false if there are none. */
function begin(listener: Listener, honoured: Params): boolean {
  const methods = new Set(methodsOf(honoured));
  listener.news.begin((method, params) => {
    const wanted = method !== 'notifications/resources/updated' || listener.uris.some((uri) => isOf(uri, params));
    return wanted && methods.has(method);
  });
  return methods.size > 0;
}

/** Returns true if an update concerns the resource that was subscribed to under this URI, or a part of it. */
function isOf(asked: unknown, { uri, _meta }: Params): boolean {
  if (uri === asked) return true;
  const { 'dev.mcpx/server': server, 'dev.mcpx/uri': own } = isRecord(_meta) ? _meta : {};
  const whole = locateUri(String(asked)) ?? { server, uri: String(asked) };
  return whole.server === server && isWithin(String(own), whole.uri);
}

function aborted(...signals: CancelSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    for (const signal of signals) signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function refused({ code, message, data }: Refused): RpcError {
  return new RpcError(code, message, data);
}
