/** A server that may ask for roots, as one client sees it: each call goes where its roots are known, and waits until they are. */
import { isUndelivered } from '../wire/undelivered.ts';
import type { CallOptions, Connection, Reliance } from './connection.ts';
import type { Rooted, RootedConnections } from './rooted.ts';
import { type Caller, offeredKey } from './sharing.ts';
import { viewOf } from './view.ts';

/** A connection may have become somebody else's while a call waited for it. */
const MAX_TRIES = 5;

export function rootedView(caller: Caller, connections: RootedConnections): Connection {
  const base = () => connections.shown(caller).connection;
  const request: Connection['request'] = async (method, params, options = {}) => {
    for (let tries = 1; ; tries += 1) {
      const one = await connections.place(caller, options);
      const moved = { value: false };
      const tied = options.asked === undefined ? options : waiting(one, { caller, options, moved, connections });
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
  caller: Caller;
  options: CallOptions;
  /** Set where the connection does not serve this client any more. */
  moved: { value: boolean };
  connections: RootedConnections;
}

/** The options of a call that is sent when the server has had the time to ask for roots, and has them. */
function waiting(one: Rooted, { caller, options, moved, connections }: Waiting): CallOptions {
  const { roots } = one;
  const { asked, reliance: relied } = options;
  const reliance: Reliance = {
    holds: (hello) => {
      const isReady = hello.era === 'modern' || (one.settled === hello && one.roots === roots);
      return isReady && relied?.holds(hello) !== false;
    },
    async renew(hello, call) {
      if (hello.era === 'legacy' && (one.settled !== hello || one.roots !== roots)) {
        moved.value = one.roots !== roots || !(await connections.settle(one, hello, caller, options));
        if (moved.value) return false;
      }
      return relied === undefined || relied.holds(hello) || relied.renew(hello, call);
    },
  };
  return {
    ...options,
    reliance,
    asked: async (request, incoming) =>
      request.method === 'roots/list' ? connections.adopt(one, caller, options) : asked?.(request, incoming),
  };
}
