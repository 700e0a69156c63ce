/** The view of one client on a server that may request roots: routes each call to a connection that has the client's roots. */

import { offeredKey } from '../../mcp/capabilities.ts';
import { isUndelivered } from '../../wire/undelivered.ts';
import type { CallOptions, Precondition } from '../call-options.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Handshake } from '../handshake.ts';
import type { RootedConnections } from './by-roots.ts';
import { viewOf } from './connection-view.ts';
import { isSettled, type Rooted } from './rooted.ts';

/** The maximum number of attempts: a connection may be bound to another client while a call waits for it. */
const MAX_TRIES = 5;

export function rootedView(caller: ClientIdentity, connections: RootedConnections): Connection {
  const base = () => connections.shown(caller).connection;
  const request: Connection['request'] = async (method, params, options = {}) => {
    for (let tries = 1; ; tries += 1) {
      const one = await connections.place(caller, options);
      const moved = { value: false };
      const tied =
        options.onServerRequest === undefined ? options : waiting(one, { caller, options, moved, connections });
      try {
        return await one.connection.request(method, params, tied);
      } catch (error) {
        if (!moved.value || !isUndelivered(error) || tries === MAX_TRIES) throw error;
      } finally {
        connections.over(one);
      }
    }
  };
  return Object.assign(viewOf({ base, offered: offeredKey(caller), request }), { base });
}

interface Waiting {
  caller: ClientIdentity;
  options: CallOptions;
  /** True if the connection no longer serves this client. */
  moved: { value: boolean };
  connections: RootedConnections;
}

/** Returns call options that delay the call until the server had time to request roots and has received them. */
function waiting(one: Rooted, { caller, options, moved, connections }: Waiting): CallOptions {
  const { roots } = one;
  const { onServerRequest } = options;
  const hasRoots = (handshake: Handshake) =>
    handshake.era === 'modern' || (isSettled(one, handshake) && one.roots === roots);
  const settled = async (handshake: Handshake) => {
    if (hasRoots(handshake)) return true;
    moved.value = one.roots !== roots || !(await connections.settle(one, handshake, caller, options));
    return !moved.value;
  };
  return {
    ...options,
    precondition: afterRoots({ hasRoots, settled }, options.precondition),
    onServerRequest: async (request, incoming) =>
      request.method === 'roots/list' ? connections.adopt(one, caller, options) : onServerRequest?.(request, incoming),
  };
}

interface RootsCheck {
  hasRoots(handshake: Handshake): boolean;
  /** Resolves with false if the connection no longer serves the client. */
  settled(handshake: Handshake): Promise<boolean>;
}

/** Returns a precondition that is met once the server has the roots and the other precondition is met. */
function afterRoots(check: RootsCheck, next: Precondition | undefined): Precondition {
  return {
    isMet: (handshake) => check.hasRoots(handshake) && next?.isMet(handshake) !== false,
    async satisfy(handshake, request) {
      if (!(await check.settled(handshake))) return undefined;
      if (next === undefined || next.isMet(handshake)) return request;
      const satisfied = await next.satisfy(handshake, request);
      if (satisfied === undefined) return undefined;
      const precondition = afterRoots(check, satisfied.options.precondition);
      return { ...satisfied, options: { ...satisfied.options, precondition } };
    },
  };
}
