/** Connections that offer roots and serve many clients that have no session, one request each, for as long as the server asks for nobody's roots. */
import { RpcError } from '../errors.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../wire/message.ts';
import type { Connection } from './connection.ts';
import { type Caller, offeredKey } from './sharing.ts';

export interface LenderOptions {
  /** Begins a connection; `asked` is told of each question of the server before anybody else is, and may refuse it. */
  create(caller: Caller, asked: (request: RpcRequest) => void): Connection;
  /** Ends one when its last call is over. */
  end(connection: Connection): void;
}

export interface Lender {
  /** Undefined once the server has asked: from then on each request needs a connection of its own. */
  borrow(caller: Caller, options: LenderOptions): Connection | undefined;
  all(): Connection[];
}

interface Lent {
  connection: Connection;
  /** The same, with its calls counted. */
  shown: Connection;
}

export function createLender(): Lender {
  const lent = new Map<string, Lent>();
  let curious = false;

  const begin = (caller: Caller, { create, end }: LenderOptions): Lent => {
    let calls = 0;
    const connection = create(caller, ({ method }) => {
      if (method !== 'roots/list') return;
      // From now on it may act on the roots of one client: nobody else gets it. What somebody waits for goes on until it is called off.
      curious = true;
      for (const [key, one] of lent) {
        if (one.connection.expected) continue;
        end(one.connection);
        lent.delete(key);
      }
      if (calls > 1)
        throw new RpcError(METHOD_NOT_FOUND, 'several clients are served at once: none is asked for its roots');
    });
    const request: Connection['request'] = async (method, params, options) => {
      const own = options?.asked === undefined ? 0 : 1;
      calls += own;
      try {
        return await connection.request(method, params, options);
      } finally {
        calls -= own;
      }
    };
    return { connection, shown: Object.create(connection, { request: { value: request } }) as Connection };
  };

  return {
    borrow(caller, options) {
      if (curious) return undefined;
      const key = offeredKey(caller);
      const found = lent.get(key) ?? begin(caller, options);
      lent.set(key, found);
      return found.shown;
    },
    all: () => [...lent.values()].map(({ connection }) => connection),
  };
}
