/** Connections that offer roots: one is shared until the server requests roots, then one per principal, capabilities and roots. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../../errors.ts';
import { offeredKey } from '../../mcp/capabilities.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../../wire/message.ts';
import type { Incoming } from '../../wire/peer.ts';
import type { CallOptions } from '../call-options.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import { type Roots, type RootsMemory, rootsKey } from './client-roots.ts';
import { keyAt, type PendingQuestions } from './pending-questions.ts';

/** Answers a request of a server; undefined leaves it to the next handler. */
export type Answerer = (request: RpcRequest, incoming: Incoming) => Promise<unknown> | undefined;

export interface RootedDeps {
  /** Creates a connection; its process counts towards the share of `holder`. */
  create(caller: ClientIdentity, own: { answer: Answerer; holder: string | undefined }): Connection;
  /** Ends a connection after its last call. */
  end(connection: Connection): void;
  questions: Pick<PendingQuestions, 'placeFor'>;
  memory: RootsMemory;
}

export interface Rooted {
  readonly connection: Connection;
  /** The roots that the server receives; undefined until they are known. */
  roots: Roots | undefined;
  key: string;
  /** Keys of the clients whose calls use this connection. */
  readonly users: Set<string>;
  /** The handshake after which the server had time to request roots and received them; calls wait for it. */
  settled: Handshake | undefined;
  settling: Promise<void> | undefined;
  /** Answers a pending `roots/list` that arrived before any client's roots were known. */
  tell: (() => void) | undefined;
  /** True if the server has requested roots and may not have processed the response yet. */
  isFresh: boolean;
  /** True if a call has been sent on this connection. */
  isUsed: boolean;
  /** A `retired` connection serves only clients that still wait for its notifications. */
  life: 'serving' | 'retired' | 'ended';
}

export interface RootedConnections {
  /** Returns the connection for a request of the client; may request the client's roots first. */
  place(caller: ClientIdentity, options: CallOptions): Promise<Rooted>;
  /** Returns the connection whose state is shown to the client, without any request to the client. */
  shown(caller: ClientIdentity): Rooted;
  /**
   * Waits until the server has the roots of the client or has not requested any; false if the connection was bound to
   * another client.
   */
  settle(rooted: Rooted, handshake: Handshake, caller: ClientIdentity, call: CallOptions): Promise<boolean>;
  /** Answers a `roots/list` that the server sends during a call of the client. */
  adopt(rooted: Rooted, caller: ClientIdentity, call: CallOptions): Promise<unknown>;
  /** Called when a request has ended. */
  over(rooted: Rooted): void;
  /** Called when a connection was stopped while idle. */
  idle(connection: Connection): void;
  /** Called when a client session has ended. */
  release(key: string): void;
  /** Returns true if the connection serves the client; undefined if it is not bound to clients. */
  serves(connection: Connection, key: string): boolean | undefined;
  /** Returns the key of the only client of the connection; undefined if there are several. */
  clientOf(connection: Connection): string | undefined;
  all(): Connection[];
}

/**
 * Milliseconds that a server gets to process roots (MOMENT), that a ping may take (PING), and that a `roots/list` waits
 * for a client (HOLD).
 */
const MOMENT = 50;
const PING = 5000;
const HOLD = 5000;
/** The maximum number of connections of one server with different roots; the least recently used end first. */
const MAX_ROOTED = 64;

export function createRooted({ create, end, questions, memory }: RootedDeps): RootedConnections {
  const rooted = new Map<string, Rooted>();
  const placed = new Map<string, Rooted>();
  /** True if the server requests roots; undefined until it had the opportunity. */
  let isAware: boolean | undefined;

  const begin = (key: string, caller: ClientIdentity, roots: Roots | undefined): Rooted => {
    const holder = roots === undefined ? undefined : caller.holder;
    const answer: Answerer = (request, incoming) =>
      request.method === 'roots/list' ? answerServer(one, request, incoming) : undefined;
    const one: Rooted = {
      ...{ connection: create(caller, { answer, holder }), roots, key, users: new Set() },
      ...{ settled: undefined, settling: undefined, tell: undefined, isFresh: false, isUsed: false, life: 'serving' },
    };
    makeRoom();
    return one;
  };

  const makeRoom = () => {
    for (const one of rooted.values()) {
      if (rooted.size < MAX_ROOTED) return;
      if (one.roots !== undefined && one.users.size === 0) drop(one);
    }
  };

  const file = (one: Rooted, key: string): Rooted => {
    if (rooted.get(one.key) === one) rooted.delete(one.key);
    one.key = key;
    rooted.set(key, one);
    return one;
  };

  /** Retires a connection: it gets no new calls, and pending calls continue. */
  const drop = (one: Rooted) => {
    if (rooted.get(one.key) === one) rooted.delete(one.key);
    if (one.life === 'serving') one.life = 'retired';
    over(one);
  };

  const over = (one: Rooted) => {
    if (one.life !== 'retired' || (one.connection.hasSubscribers && one.users.size > 0)) return;
    one.life = 'ended';
    end(one.connection);
  };

  const leave = (key: string) => {
    const one = placed.get(key);
    placed.delete(key);
    if (one === undefined) return;
    one.users.delete(key);
    // No client is left that waits for its notifications.
    if (one.roots !== undefined && one.users.size === 0 && isForgettable(one)) drop(one);
    else over(one);
  };

  const use = (one: Rooted, { key }: ClientIdentity): Rooted => {
    one.users.add(key);
    if (placed.get(key) !== one) leave(key);
    placed.set(key, one);
    return file(one, one.key);
  };

  const answerServer = (one: Rooted, request: RpcRequest, incoming: Incoming): Promise<unknown> => {
    isAware = true;
    one.isFresh = true;
    if (one.roots !== undefined) return given(one.roots);
    const { attribution } = incoming;
    if (attribution?.onServerRequest) return attribution.onServerRequest(request, incoming);
    if (!attribution?.ambiguous) return hold(one);
    drop(one);
    return Promise.reject(refusal('several clients are served at once: none is asked for its roots'));
  };

  /** Delays the response until the next call identifies a client with roots. */
  const hold = (one: Rooted): Promise<unknown> => {
    one.tell?.();
    return new Promise((resolve) => {
      const timer = setTimeout(() => one.tell?.(), HOLD);
      one.tell = () => {
        one.tell = undefined;
        clearTimeout(timer);
        resolve(given(one.roots ?? 'refused'));
      };
    });
  };

  const bind = (one: Rooted, roots: Roots, key: string): Rooted => {
    one.roots = roots;
    one.tell?.();
    return file(one, key);
  };

  /** Returns a connection without other clients that can change to these roots. */
  const rebound = (caller: ClientIdentity, roots: Roots, key: string): Rooted | undefined => {
    const own = placed.get(caller.key);
    const waiting = [...rooted.values()].find((one) => one.tell && isOf(one, caller));
    const one = own && isAlone(own, caller) && own.roots !== undefined && isOf(own, caller) ? own : waiting;
    if (one === undefined || !isAlone(one, caller)) return undefined;
    if (one.tell === undefined && one.connection.state.kind === 'ready') {
      one.settled = undefined;
      one.connection.notify('notifications/roots/list_changed');
    }
    return bind(one, roots, key);
  };

  const bound = (caller: ClientIdentity, roots: Roots): Rooted => {
    const own = boundKey(caller, roots);
    const at = (place: number): Rooted => {
      const key = keyAt(own, place);
      const found = rooted.get(key) ?? (place === 0 ? rebound(caller, roots, key) : undefined);
      return found ?? file(begin(key, caller, roots), key);
    };
    return at(questions.placeFor(caller.key, (place) => at(place).connection));
  };

  const unbound = (caller: ClientIdentity): Rooted => {
    const at = (place: number): Rooted => {
      const key = keyAt(offeredKey(caller), place);
      return rooted.get(key) ?? file(begin(key, caller, undefined), key);
    };
    return at(questions.placeFor(caller.key, (place) => at(place).connection));
  };

  const shown = (caller: ClientIdentity): Rooted => {
    const own = placed.get(caller.key);
    if (own !== undefined) return own;
    const roots = memory.known(caller);
    return (roots && rooted.get(boundKey(caller, roots))) ?? unbound(caller);
  };

  /** Sends a ping: its response arrives after everything that the server sends right after the handshake. */
  const probe = async (one: Rooted, handshake: Handshake) => {
    const ping = () => one.connection.request('ping', {}, { bypassQueue: true, timeout: PING }).catch(() => undefined);
    await ping();
    if (one.tell !== undefined) return;
    if (one.isFresh) {
      one.isFresh = false;
      await delay(MOMENT);
      await ping();
    } else isAware ??= false;
    one.settled = handshake;
    one.isUsed = true;
  };

  const found = (connection: Connection) => [...rooted.values()].find((one) => one.connection === connection);

  const adopt: RootedConnections['adopt'] = async (one, caller, call) => {
    const roots = await memory.learn(caller, call);
    // A concurrent call may have bound the connection first.
    if (one.roots !== undefined) return given(one.roots);
    const key = boundKey(caller, roots);
    if (isAlone(one, caller) && isOf(one, caller) && !rooted.has(key)) bind(one, roots, key);
    else drop(one);
    one.tell?.();
    return given(roots);
  };

  return {
    async place(caller, options) {
      if (options.onServerRequest === undefined) return shown(caller);
      if (isAware !== true) return use(unbound(caller), caller);
      return use(bound(caller, await memory.learn(caller, options)), caller);
    },
    shown,
    async settle(one, handshake, caller, call) {
      const { roots } = one;
      one.settling ??= probe(one, handshake).finally(() => {
        one.settling = undefined;
      });
      await one.settling;
      if (one.tell !== undefined) await adopt(one, caller, call).catch(() => undefined);
      return one.roots === roots && one.settled === handshake;
    },
    adopt,
    over,
    idle(connection) {
      const one = found(connection);
      if (one?.roots !== undefined && one.users.size === 0) drop(one);
    },
    release: leave,
    serves(connection, key) {
      const one = found(connection);
      return one?.roots === undefined ? undefined : one.users.has(key);
    },
    clientOf(connection) {
      const one = found(connection);
      const [key] = one?.users ?? [];
      return one?.users.size === 1 ? key : undefined;
    },
    all: () => [...new Set([...rooted.values(), ...placed.values()])].map(({ connection }) => connection),
  };
}

function boundKey(caller: ClientIdentity, roots: Roots): string {
  return JSON.stringify([caller.principal ?? null, offeredKey(caller), rootsKey(roots)]);
}

/** Returns true if the connection offers the client's capabilities and no other principal has used it. */
function isOf({ connection }: Rooted, caller: ClientIdentity): boolean {
  if (connection.offered !== offeredKey(caller)) return false;
  return [...(connection.principals ?? [])].every((principal) => principal === caller.principal);
}

/** Returns true if no other client has sent a call on the connection. */
function isAlone({ users, isUsed }: Rooted, { key }: ClientIdentity): boolean {
  return !isUsed || [...users].every((user) => user === key);
}

function isForgettable({ connection }: Rooted): boolean {
  return connection.hasSubscribers || connection.state.kind === 'idle';
}

function given(roots: Roots): Promise<unknown> {
  if (roots !== 'refused') return Promise.resolve({ roots });
  return Promise.reject(refusal('the client did not say which roots it has'));
}

function refusal(message: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, message);
}
