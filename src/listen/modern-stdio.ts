/** MCP of 2026-07-28 over stdio: one client, whose requests say each for themselves who it is and what it can answer. */
import { RpcError } from '../errors.ts';
import { META } from '../upstream/revisions.ts';
import { INVALID_PARAMS, isRecord, type Params, type RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import { complete, type Envelope, introduce, type Refused, readEnvelope } from './envelope.ts';
import type { Session } from './gateway.ts';
import { createRounds } from './rounds.ts';
import { createSeal } from './seal.ts';
import { createNews, honour, methodsOf, type News, stamped } from './subscriptions.ts';
import { takeTurn, unknownMethod } from './turn.ts';

type Notify = (method: string, params?: Params) => void;

export interface ModernStdioOptions {
  profile: string;
  /** Opens a front of this client. */
  open(notify: Notify): Session;
  /** Tells the client something. */
  notify: Notify;
}

export interface ModernStdio {
  /** Answers a request; rejects with RpcError. */
  serve(request: RpcRequest, incoming: Incoming): Promise<unknown>;
  /** Ends what would never end by itself. */
  release(): void;
  close(): void;
}

/** What a client listens to under the id of one request. */
interface Listener {
  news: News;
  uris: unknown[];
}

/** A front for what the client says of itself, which is the same in all of its requests as a rule. */
interface Face {
  session: Session;
  listeners: Set<Listener>;
}

/** Fronts for a client that keeps saying something else of itself, and subscriptions of one client. */
const MAX_FACES = 8;
const MAX_LISTENERS = 100;
const TOO_MANY = -32000;

export function createModernStdio({ profile, open, notify }: ModernStdioOptions): ModernStdio {
  const faces = new Map<string, Face>();
  const over = new AbortController();
  const deps = { rounds: createRounds(), seal: createSeal() };

  const faceFor = ({ capabilities, clientInfo, logLevel }: Envelope): Face => {
    const key = JSON.stringify([capabilities, clientInfo, logLevel]);
    const found = faces.get(key);
    if (found !== undefined) return found;
    const [oldest] = faces;
    if (faces.size >= MAX_FACES && oldest !== undefined) {
      oldest[1].session.close();
      faces.delete(oldest[0]);
    }
    const listeners = new Set<Listener>();
    const tell: Notify = (method, params) => {
      for (const { news } of listeners) news.tell(method, params);
    };
    const face = { listeners, session: open(tell) };
    faces.set(key, face);
    return face;
  };

  async function call(request: RpcRequest, envelope: Envelope, incoming: Incoming): Promise<unknown> {
    const { front } = faceFor(envelope).session;
    const place = { principal: undefined, profile, open: () => ({ front, close: () => undefined }) };
    const turn = takeTurn(request, envelope, place, deps);
    if ('code' in turn) throw refused(turn);
    const { round } = turn;
    incoming.signal.addEventListener('abort', () => round.abort('the client cancelled the request'), { once: true });
    round.progress = (params) => incoming.progress?.(params);
    round.hear = (method, params) => {
      if (method === 'notifications/message' && envelope.logLevel !== undefined) notify(method, params);
    };
    const answer = await turn.answer();
    if ('error' in answer) throw refused(answer.error);
    return answer.result;
  }

  async function listen(request: RpcRequest, envelope: Envelope, { signal }: Incoming): Promise<unknown> {
    const wanted = request.params?.notifications;
    if (!isRecord(wanted)) throw new RpcError(INVALID_PARAMS, '"notifications" must be an object');
    const { session, listeners } = faceFor(envelope);
    if (listeners.size >= MAX_LISTENERS) throw new RpcError(TOO_MANY, 'too many subscriptions are open');
    const stamp = { [`${META}subscriptionId`]: request.id };
    const hear: Notify = (method, params) => notify(method, stamped(params, stamp));
    const listener: Listener = { news: createNews(hear), uris: [] };
    listeners.add(listener);
    const ask = (method: string, uri: unknown, until: AbortSignal) =>
      session.front.request({ method, params: { uri } }, { signal: until });
    try {
      const hello = await introduce(session, envelope, signal);
      const capabilities = isRecord(hello.capabilities) ? hello.capabilities : {};
      const honoured = await honour(wanted, capabilities, (uri) => ask('resources/subscribe', uri, signal));
      if (Array.isArray(honoured.resourceSubscriptions)) listener.uris = honoured.resourceSubscriptions;
      if (!signal.aborted) hear('notifications/subscriptions/acknowledged', { notifications: honoured });
      if (begin(listener, honoured)) await aborted(signal, over.signal);
      return complete('', {}, { ...stamp, [`${META}serverInfo`]: hello.serverInfo });
    } finally {
      listeners.delete(listener);
      const others = [...listeners];
      const forgotten = listener.uris.filter((uri) => !others.some(({ uris }) => uris.includes(uri)));
      // Also for a client that has cancelled.
      const { signal: whole } = new AbortController();
      await Promise.allSettled(forgotten.map((uri) => ask('resources/unsubscribe', uri, whole)));
    }
  }

  return {
    async serve(request, incoming) {
      const envelope = readEnvelope(request);
      if ('code' in envelope) throw refused(envelope);
      const unknown = unknownMethod(request);
      if (unknown !== undefined) throw refused(unknown);
      return request.method === 'subscriptions/listen'
        ? listen(request, envelope, incoming)
        : call(request, envelope, incoming);
    },
    release: () => over.abort(),
    close() {
      deps.rounds.close();
      for (const { session } of faces.values()) session.close();
    },
  };
}

/** Tells a listener of what it may have; false where that is nothing. */
function begin(listener: Listener, honoured: Params): boolean {
  const methods = new Set(methodsOf(honoured));
  listener.news.begin((method, { uri }) => {
    const wanted = method !== 'notifications/resources/updated' || listener.uris.includes(uri);
    return wanted && methods.has(method);
  });
  return methods.size > 0;
}

function aborted(...signals: AbortSignal[]): Promise<void> {
  if (signals.some((signal) => signal.aborted)) return Promise.resolve();
  return new Promise((resolve) => {
    for (const signal of signals) signal.addEventListener('abort', () => resolve(), { once: true });
  });
}

function refused({ code, message, data }: Refused): RpcError {
  return new RpcError(code, message, data);
}
