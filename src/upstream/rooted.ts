/** Connections that offer roots: one for all clients until the server asks, then one for those of a principal that have the same capabilities and roots, with which it answers the server. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../errors.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../wire/message.ts';
import type { Incoming } from '../wire/peer.ts';
import type { CallOptions, Connection, Hello } from './connection.ts';
import { keyAt, type PendingQuestions } from './pending-questions.ts';
import { type Roots, type RootsMemory, rootsKey } from './roots.ts';
import { type Caller, offeredKey } from './sharing.ts';

/** Answers a question of a server; undefined leaves it to others. */
export type Answerer = (request: RpcRequest, incoming: Incoming) => Promise<unknown> | undefined;

export interface RootedDeps {
  /** Begins a connection; `holder` is whose share its process counts towards. */
  create(caller: Caller, own: { answer: Answerer; holder: string | undefined }): Connection;
  /** Ends one when its last call is over. */
  end(connection: Connection): void;
  questions: Pick<PendingQuestions, 'placeFor'>;
  memory: RootsMemory;
}

export interface Rooted {
  readonly connection: Connection;
  /** The roots that its server is told; undefined while it has been told none. */
  roots: Roots | undefined;
  key: string;
  /** Keys of the clients whose calls go here. */
  readonly users: Set<string>;
  /** The conversation in which its server has had the time to ask, and the answer; calls wait for it. */
  settled: Hello | undefined;
  settling: Promise<void> | undefined;
  /** Answers its server's question for roots, which came before anybody's roots were known. */
  tell: (() => void) | undefined;
  /** Its server has asked, and may not have taken in the answer yet. */
  isFresh: boolean;
  /** Whether a call has gone there. */
  isUsed: boolean;
  /** One that is retired serves only those who still wait for something there. */
  life: 'serving' | 'retired' | 'ended';
}

export interface RootedConnections {
  /** Where a request of that client goes. The client of a call may have to be asked first. */
  place(caller: Caller, options: CallOptions): Promise<Rooted>;
  /** The same for showing its state: nobody is asked. */
  shown(caller: Caller): Rooted;
  /** Waits until the server knows the roots of a client, or has not asked for any; false where it now serves somebody else. */
  settle(rooted: Rooted, hello: Hello, caller: Caller, call: CallOptions): Promise<boolean>;
  /** Answers a server that asks for roots while it works on a call of that client. */
  adopt(rooted: Rooted, caller: Caller, call: CallOptions): Promise<unknown>;
  /** A request is over. */
  over(rooted: Rooted): void;
  /** A connection has been stopped for want of use. */
  idle(connection: Connection): void;
  /** A client has left. */
  release(key: string): void;
  /** Whether one serves that client; undefined for what serves anybody. */
  serves(connection: Connection, key: string): boolean | undefined;
  /** The only client that one serves. */
  clientOf(connection: Connection): string | undefined;
  all(): Connection[];
}

/** ms that a server gets to take in roots, ms for a ping, and ms that a server's question waits for a client. */
const MOMENT = 50;
const PING = 5000;
const HOLD = 5000;
/** Connections of one server with different roots; those that were not used for longest end first. */
const MAX_ROOTED = 64;

export function createRooted({ create, end, questions, memory }: RootedDeps): RootedConnections {
  const rooted = new Map<string, Rooted>();
  const placed = new Map<string, Rooted>();
  /** Whether the server asks for roots; undefined until it had the occasion. */
  let isAware: boolean | undefined;

  const begin = (key: string, caller: Caller, roots: Roots | undefined): Rooted => {
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

  /** Nobody gets it any more; what is under way on it goes on. */
  const drop = (one: Rooted) => {
    if (rooted.get(one.key) === one) rooted.delete(one.key);
    if (one.life === 'serving') one.life = 'retired';
    over(one);
  };

  const over = (one: Rooted) => {
    if (one.life !== 'retired' || (one.connection.expected && one.users.size > 0)) return;
    one.life = 'ended';
    end(one.connection);
  };

  const leave = (key: string) => {
    const one = placed.get(key);
    placed.delete(key);
    if (one === undefined) return;
    one.users.delete(key);
    // Nobody is left who waits for what it says by itself.
    if (one.roots !== undefined && one.users.size === 0 && isForgettable(one)) drop(one);
    else over(one);
  };

  const use = (one: Rooted, { key }: Caller): Rooted => {
    one.users.add(key);
    if (placed.get(key) !== one) leave(key);
    placed.set(key, one);
    return file(one, one.key);
  };

  const answerServer = (one: Rooted, request: RpcRequest, incoming: Incoming): Promise<unknown> => {
    isAware = true;
    one.isFresh = true;
    if (one.roots !== undefined) return given(one.roots);
    const { about } = incoming;
    if (about?.asked) return about.asked(request, incoming);
    if (!about?.ambiguous) return hold(one);
    drop(one);
    return Promise.reject(refusal('several clients are served at once: none is asked for its roots'));
  };

  /** Until the next call brings a client whose roots it can be told. */
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

  /** A connection that serves nobody else can take on other roots. */
  const rebound = (caller: Caller, roots: Roots, key: string): Rooted | undefined => {
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

  const bound = (caller: Caller, roots: Roots): Rooted => {
    const own = boundKey(caller, roots);
    const at = (place: number): Rooted => {
      const key = keyAt(own, place);
      const found = rooted.get(key) ?? (place === 0 ? rebound(caller, roots, key) : undefined);
      return found ?? file(begin(key, caller, roots), key);
    };
    return at(questions.placeFor(caller.key, (place) => at(place).connection));
  };

  const unbound = (caller: Caller): Rooted => {
    const at = (place: number): Rooted => {
      const key = keyAt(offeredKey(caller), place);
      return rooted.get(key) ?? file(begin(key, caller, undefined), key);
    };
    return at(questions.placeFor(caller.key, (place) => at(place).connection));
  };

  const shown = (caller: Caller): Rooted => {
    const own = placed.get(caller.key);
    if (own !== undefined) return own;
    const roots = memory.known(caller);
    return (roots && rooted.get(boundKey(caller, roots))) ?? unbound(caller);
  };

  /** What a server sends when it is connected has arrived when it answers a ping. */
  const probe = async (one: Rooted, hello: Hello) => {
    const ping = () => one.connection.request('ping', {}, { ahead: true, timeout: PING }).catch(() => undefined);
    await ping();
    if (one.tell !== undefined) return;
    if (one.isFresh) {
      one.isFresh = false;
      await delay(MOMENT);
      await ping();
    } else isAware ??= false;
    one.settled = hello;
    one.isUsed = true;
  };

  const found = (connection: Connection) => [...rooted.values()].find((one) => one.connection === connection);

  const adopt: RootedConnections['adopt'] = async (one, caller, call) => {
    const roots = await memory.learn(caller, call);
    // Another call may have been faster.
    if (one.roots !== undefined) return given(one.roots);
    const key = boundKey(caller, roots);
    if (isAlone(one, caller) && isOf(one, caller) && !rooted.has(key)) bind(one, roots, key);
    else drop(one);
    one.tell?.();
    return given(roots);
  };

  return {
    async place(caller, options) {
      if (options.asked === undefined) return shown(caller);
      if (isAware !== true) return use(unbound(caller), caller);
      return use(bound(caller, await memory.learn(caller, options)), caller);
    },
    shown,
    async settle(one, hello, caller, call) {
      const { roots } = one;
      one.settling ??= probe(one, hello).finally(() => {
        one.settling = undefined;
      });
      await one.settling;
      if (one.tell !== undefined) await adopt(one, caller, call).catch(() => undefined);
      return one.roots === roots && one.settled === hello;
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

function boundKey(caller: Caller, roots: Roots): string {
  return JSON.stringify([caller.principal ?? null, offeredKey(caller), rootsKey(roots)]);
}

/** Whether it offers what that client has, and was used by nobody of another principal. */
function isOf({ connection }: Rooted, caller: Caller): boolean {
  if (connection.offered !== offeredKey(caller)) return false;
  return [...(connection.principals ?? [])].every((principal) => principal === caller.principal);
}

/** Whether no call of anybody else has gone there. */
function isAlone({ users, isUsed }: Rooted, { key }: Caller): boolean {
  return !isUsed || [...users].every((user) => user === key);
}

function isForgettable({ connection }: Rooted): boolean {
  return connection.expected || connection.state.kind === 'idle';
}

function given(roots: Roots): Promise<unknown> {
  if (roots !== 'refused') return Promise.resolve({ roots });
  return Promise.reject(refusal('the client did not say which roots it has'));
}

function refusal(message: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, message);
}
