/** Connections that offer roots: one is shared until the server requests roots, then one per principal, capabilities and roots. */
import { setTimeout as delay } from 'node:timers/promises';
import { RpcError } from '../../errors.ts';
import { offeredKey } from '../../mcp/capabilities.ts';
import type { RpcRequest } from '../../wire/message.ts';
import type { Incoming } from '../../wire/peer.ts';
import type { CallOptions } from '../call-options.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import type { Roots, RootsMemory } from './client-roots.ts';
import { keyAt, type PendingQuestions } from './pending-questions.ts';
import {
  boundKey,
  given,
  holdRequest,
  isAlone,
  isForgettable,
  isOf,
  isSettled,
  type Rooted,
  refusal,
} from './rooted.ts';

/** Answers a request of a server; undefined leaves it to the next handler. */
export type Answerer = (request: RpcRequest, incoming: Incoming) => Promise<unknown> | undefined;

export interface RootedDeps {
  /** Creates a connection; its process counts towards the share of `holder`. */
  create(caller: ClientIdentity, own: { answer: Answerer; holder: string | undefined }): Connection;
  /** Ends a connection after its last call. */
  end(connection: Connection): void;
  /** Called when the calls of a client go to another connection than before. */
  moved(connection: Connection): void;
  questions: Pick<PendingQuestions, 'placeFor'>;
  memory: RootsMemory;
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
 * A server may check each root on disk before it uses it, and no message says that it has. It gets TURNS pauses of PAUSE ms, each followed
 * by a ping: on a busy machine a pause may pass without the server, but the answer to a ping shows that the server has run.
 */
const TURNS = 10;
const PAUSE = 10;
/** Milliseconds that a ping may take. */
const PING = 5000;
/** The maximum number of connections of one server with different roots; the least recently used end first. */
const MAX_ROOTED = 64;

export function createRooted(deps: RootedDeps): RootedConnections {
  return new Rootings(deps);
}

class Rootings implements RootedConnections {
  readonly #deps: RootedDeps;
  readonly #rooted = new Map<string, Rooted>();
  /** The connection of each client by its key. */
  readonly #placed = new Map<string, Rooted>();
  /** True if the server requests roots; undefined until it had the opportunity. */
  #isAware: boolean | undefined;

  constructor(deps: RootedDeps) {
    this.#deps = deps;
  }

  async place(caller: ClientIdentity, options: CallOptions): Promise<Rooted> {
    if (options.onServerRequest === undefined) return this.shown(caller);
    if (this.#isAware !== true) return this.#use(this.#unbound(caller), caller);
    return this.#use(this.#bound(caller, await this.#deps.memory.learn(caller, options)), caller);
  }

  shown(caller: ClientIdentity): Rooted {
    const own = this.#placed.get(caller.key);
    if (own !== undefined) return own;
    const roots = this.#deps.memory.known(caller);
    return (roots && this.#rooted.get(boundKey(caller, roots))) ?? this.#unbound(caller);
  }

  async settle(one: Rooted, handshake: Handshake, caller: ClientIdentity, call: CallOptions): Promise<boolean> {
    const { roots } = one;
    one.settling ??= this.#probe(one, handshake).finally(() => {
      one.settling = undefined;
    });
    await one.settling;
    if (one.tell !== undefined) await this.adopt(one, caller, call).catch(() => undefined);
    return one.roots === roots && isSettled(one, handshake);
  }

  async adopt(one: Rooted, caller: ClientIdentity, call: CallOptions): Promise<unknown> {
    const roots = await this.#deps.memory.learn(caller, call);
    // A concurrent call may have bound the connection first.
    if (one.roots !== undefined) return given(one.roots);
    const key = boundKey(caller, roots);
    if (isAlone(one, caller) && isOf(one, caller) && !this.#rooted.has(key)) this.#bind(one, roots, key);
    else this.#drop(one);
    one.tell?.();
    return given(roots);
  }

  over(one: Rooted): void {
    if (one.life !== 'retired' || (one.connection.hasSubscribers && one.users.size > 0)) return;
    one.life = 'ended';
    this.#deps.end(one.connection);
  }

  idle(connection: Connection): void {
    const one = this.#found(connection);
    if (one?.roots !== undefined && one.users.size === 0) this.#drop(one);
  }

  release(key: string): void {
    const one = this.#placed.get(key);
    this.#placed.delete(key);
    if (one !== undefined) this.#left(one, key);
  }

  #left(one: Rooted, key: string): void {
    one.users.delete(key);
    // No client is left that waits for its notifications.
    if (one.roots !== undefined && one.users.size === 0 && isForgettable(one)) this.#drop(one);
    else this.over(one);
  }

  serves(connection: Connection, key: string): boolean | undefined {
    const one = this.#found(connection);
    return one?.roots === undefined ? undefined : one.users.has(key);
  }

  clientOf(connection: Connection): string | undefined {
    const one = this.#found(connection);
    const [key] = one?.users ?? [];
    return one?.users.size === 1 ? key : undefined;
  }

  all(): Connection[] {
    return [...new Set([...this.#rooted.values(), ...this.#placed.values()])].map(({ connection }) => connection);
  }

  #found(connection: Connection): Rooted | undefined {
    return [...this.#rooted.values()].find((one) => one.connection === connection);
  }

  #begin(key: string, caller: ClientIdentity, roots: Roots | undefined): Rooted {
    const holder = roots === undefined ? undefined : caller.holder;
    const answer: Answerer = (request, incoming) =>
      request.method === 'roots/list' ? this.#answer(one, request, incoming) : undefined;
    const one: Rooted = {
      ...{ connection: this.#deps.create(caller, { answer, holder }), roots, key, users: new Set() },
      ...{ settled: undefined, settling: undefined, tell: undefined, isFresh: false, isUsed: false, life: 'serving' },
    };
    this.#makeRoom();
    return this.#file(one, key);
  }

  #makeRoom(): void {
    for (const one of this.#rooted.values()) {
      if (this.#rooted.size < MAX_ROOTED) return;
      if (one.roots !== undefined && one.users.size === 0) this.#drop(one);
    }
  }

  #file(one: Rooted, key: string): Rooted {
    if (this.#rooted.get(one.key) === one) this.#rooted.delete(one.key);
    one.key = key;
    this.#rooted.set(key, one);
    return one;
  }

  /** Retires a connection: it gets no new calls, and pending calls continue. */
  #drop(one: Rooted): void {
    if (this.#rooted.get(one.key) === one) this.#rooted.delete(one.key);
    if (one.life === 'serving') one.life = 'retired';
    this.over(one);
  }

  #use(one: Rooted, { key }: ClientIdentity): Rooted {
    one.users.add(key);
    const before = this.#placed.get(key);
    this.#placed.set(key, one);
    if (before !== undefined && before !== one) {
      this.#left(before, key);
      this.#deps.moved(one.connection);
    }
    return this.#file(one, one.key);
  }

  #answer(one: Rooted, request: RpcRequest, incoming: Incoming): Promise<unknown> {
    this.#isAware = true;
    one.isFresh = true;
    if (one.roots !== undefined) return given(one.roots);
    const { attribution } = incoming;
    if (attribution?.onServerRequest) return attribution.onServerRequest(request, incoming);
    if (!attribution?.ambiguous) return holdRequest(one);
    this.#drop(one);
    return Promise.reject(refusal('several clients are served at once: none is asked for its roots'));
  }

  #bind(one: Rooted, roots: Roots, key: string): Rooted {
    one.roots = roots;
    one.tell?.();
    return this.#file(one, key);
  }

  /** Returns a connection without other clients that can change to these roots. */
  #rebound(caller: ClientIdentity, roots: Roots, key: string): Rooted | undefined {
    const own = this.#placed.get(caller.key);
    const waiting = [...this.#rooted.values()].find((one) => one.tell && isOf(one, caller));
    const one = own && isAlone(own, caller) && own.roots !== undefined && isOf(own, caller) ? own : waiting;
    if (one === undefined || !isAlone(one, caller)) return undefined;
    if (one.tell === undefined && one.connection.state.kind === 'ready') {
      one.settled = undefined;
      one.connection.notify('notifications/roots/list_changed');
    }
    return this.#bind(one, roots, key);
  }

  #bound(caller: ClientIdentity, roots: Roots): Rooted {
    const own = boundKey(caller, roots);
    const at = (place: number): Rooted => {
      const key = keyAt(own, place);
      const found = this.#rooted.get(key) ?? (place === 0 ? this.#rebound(caller, roots, key) : undefined);
      return found ?? this.#begin(key, caller, roots);
    };
    return at(this.#deps.questions.placeFor(caller, (place) => at(place).connection));
  }

  #unbound(caller: ClientIdentity): Rooted {
    const at = (place: number): Rooted => {
      const key = keyAt(offeredKey(caller), place);
      return this.#rooted.get(key) ?? this.#begin(key, caller, undefined);
    };
    return at(this.#deps.questions.placeFor(caller, (place) => at(place).connection));
  }

  /** Sends a ping: its response arrives after everything that the server sends right after the handshake. */
  async #probe(one: Rooted, handshake: Handshake): Promise<void> {
    /** Resolves with true if the server answered, also with an error. */
    const ping = () =>
      one.connection.request('ping', {}, { bypassQueue: true, timeout: PING }).then(
        () => true,
        (error) => error instanceof RpcError,
      );
    await ping();
    if (one.tell !== undefined) return;
    if (one.isFresh) {
      one.isFresh = false;
      for (let turn = 0; turn < TURNS; turn += 1) {
        await delay(PAUSE);
        if (!(await ping())) break;
      }
    } else this.#isAware ??= false;
    one.settled = handshake.conversation;
    one.isUsed = true;
  }
}
