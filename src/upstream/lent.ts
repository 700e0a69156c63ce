/** Connections that offer roots and serve many clients that have no session, one request each, for as long as the server asks for nobody's roots. */
import { RpcError } from '../errors.ts';
import { METHOD_NOT_FOUND, type RpcRequest } from '../wire/message.ts';
import type { Connection } from './connection.ts';
import { keyAt, type PendingQuestions } from './pending-questions.ts';
import { type Caller, offeredKey } from './sharing.ts';

export interface LenderOptions {
  /** Begins a connection; `asked` is told of each question of the server before anybody else is, and may refuse it. */
  create(caller: Caller, asked: (request: RpcRequest) => void): Connection;
  /** Ends one when its last call is over. */
  end(connection: Connection): void;
  questions: Pick<PendingQuestions, 'placeFor'>;
}

export interface Lender {
  /** Undefined once the server has asked: from then on each request needs a connection of its own. */
  borrow(caller: Caller, options: LenderOptions): Connection | undefined;
  all(): Connection[];
}

interface Lent {
  connection: Connection;
  /** The same, with its requests counted. */
  shown: Connection;
  /** Ends it if it is not lent any more and nobody waits for anything on it. */
  settle(): void;
}

export function createLender(): Lender {
  const lent = new Map<string, Lent>();
  let curious = false;

  const begin = (key: string, caller: Caller, { create, end }: LenderOptions): Lent => {
    let requests = 0;
    /** On whose behalf clients' requests are under way; one may make several calls. */
    const parties: unknown[] = [];
    const connection = create(caller, ({ method }) => {
      if (method !== 'roots/list') return;
      // From now on it may act on the roots of one client: nobody else gets it.
      curious = true;
      for (const one of lent.values()) one.settle();
      if (new Set(parties).size > 1)
        throw new RpcError(METHOD_NOT_FOUND, 'several clients are served at once: none is asked for its roots');
    });
    const settle = () => {
      // A server asks as soon as it is connected: what the first request asks for may only begin with its answer.
      if (curious && requests === 0 && !connection.expected && lent.delete(key)) end(connection);
    };
    const request: Connection['request'] = async (method, params, options) => {
      const party = options?.asked && (options.party ?? options);
      requests += 1;
      if (party !== undefined) parties.push(party);
      try {
        return await connection.request(method, params, options);
      } finally {
        requests -= 1;
        if (party !== undefined) parties.splice(parties.indexOf(party), 1);
        settle();
      }
    };
    return { connection, shown: Object.create(connection, { request: { value: request } }) as Connection, settle };
  };

  return {
    borrow(caller, options) {
      if (curious) return undefined;
      const at = (place: number): Lent => {
        const key = keyAt(offeredKey(caller), place);
        const found = lent.get(key) ?? begin(key, caller, options);
        lent.set(key, found);
        return found;
      };
      return at(options.questions.placeFor(caller.key, (place) => at(place).connection)).shown;
    },
    all: () => [...lent.values()].map(({ connection }) => connection),
  };
}
