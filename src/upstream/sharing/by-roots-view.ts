/** The view of one client on a server that may request roots: routes each call to a connection that has the client's roots. */

import { offeredKey } from '../../mcp/capabilities.ts';
import { isUndelivered } from '../../wire/undelivered.ts';
import type { CallOptions, Precondition } from '../call-options.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import type { Rooted, RootedConnections } from './by-roots.ts';
import { viewOf } from './connection-view.ts';

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
  const { onServerRequest, precondition: relied } = options;
  const precondition: Precondition = {
    isMet: (handshake) => {
      const isReady = handshake.era === 'modern' || (one.settled === handshake && one.roots === roots);
      return isReady && relied?.isMet(handshake) !== false;
    },
    async satisfy(handshake, call) {
      if (handshake.era === 'legacy' && (one.settled !== handshake || one.roots !== roots)) {
        moved.value = one.roots !== roots || !(await connections.settle(one, handshake, caller, options));
        if (moved.value) return false;
      }
      return relied === undefined || relied.isMet(handshake) || relied.satisfy(handshake, call);
    },
  };
  return {
    ...options,
    precondition,
    onServerRequest: async (request, incoming) =>
      request.method === 'roots/list' ? connections.adopt(one, caller, options) : onServerRequest?.(request, incoming),
  };
}
