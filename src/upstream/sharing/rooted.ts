/** One connection of a server that may request roots: its clients, its roots, and the checks which client it may serve. */
import { RpcError } from '../../errors.ts';
import { offeredKey } from '../../mcp/capabilities.ts';
import { METHOD_NOT_FOUND } from '../../wire/message.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import { type Roots, rootsKey } from './client-roots.ts';

export interface Rooted {
  readonly connection: Connection;
  /** The roots that the server receives; undefined until they are known. */
  roots: Roots | undefined;
  key: string;
  /** Keys of the clients whose calls use this connection. */
  readonly users: Set<string>;
  /** The id of the connection on which the server had time to request roots and received them; calls wait for it. */
  settled: string | undefined;
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

/** Delays the response to `roots/list` until the next call identifies a client with roots, at most `HOLD` ms. */
export function holdRequest(one: Rooted): Promise<unknown> {
  one.tell?.();
  return new Promise((resolve) => {
    const timer = setTimeout(() => one.tell?.(), HOLD);
    one.tell = () => {
      one.tell = undefined;
      clearTimeout(timer);
      resolve(given(one.roots ?? 'refused'));
    };
  });
}

/** Milliseconds that a `roots/list` waits for a client. */
const HOLD = 5000;

/** Returns true if calls need not wait on this connection: the server had time to request roots, and has them. */
export function isSettled({ settled }: Pick<Rooted, 'settled'>, { conversation }: Handshake): boolean {
  return conversation !== undefined && settled === conversation;
}

export function boundKey(caller: ClientIdentity, roots: Roots): string {
  return JSON.stringify([caller.principal ?? null, offeredKey(caller), rootsKey(roots)]);
}

/** Returns true if the connection offers the client's capabilities and no other principal has used it. */
export function isOf({ connection }: Rooted, caller: ClientIdentity): boolean {
  if (connection.offered !== offeredKey(caller)) return false;
  return [...(connection.principals ?? [])].every((principal) => principal === caller.principal);
}

/** Returns true if no other client has sent a call on the connection. */
export function isAlone({ users, isUsed }: Rooted, { key }: ClientIdentity): boolean {
  return !isUsed || [...users].every((user) => user === key);
}

export function isForgettable({ connection }: Rooted): boolean {
  return connection.hasSubscribers || connection.state.kind === 'idle';
}

export function given(roots: Roots): Promise<unknown> {
  if (roots !== 'refused') return Promise.resolve({ roots });
  return Promise.reject(refusal('the client did not say which roots it has'));
}

export function refusal(message: string): RpcError {
  return new RpcError(METHOD_NOT_FOUND, message);
}
