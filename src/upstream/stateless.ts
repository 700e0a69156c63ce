/** A server of the modern era as clients with one set of capabilities see it: one connection serves all sets, and each request says which. */
import { isUndelivered } from '../wire/undelivered.ts';
import type { Connection } from './connection.ts';
import type { Caller } from './sharing.ts';
import { type ViewParts, viewOf } from './view.ts';

export interface StatelessOptions extends Pick<ViewParts, 'base' | 'offered'> {
  /** What is said on requests that come from no client in particular, such as lists. */
  client: Caller;
}

export function statelessView({ base, offered, client }: StatelessOptions): Connection {
  const request: Connection['request'] = (method, params, options) => {
    const one = base();
    const sent = { client, ...options };
    return one.request(method, params, sent).catch((error: unknown) => {
      // The connection of the moment may have become another one while it waited.
      if (isUndelivered(error) && base() !== one) return base().request(method, params, sent);
      throw error;
    });
  };
  return viewOf({ base, offered, request });
}
