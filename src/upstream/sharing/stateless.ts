/** The view of clients with one set of capabilities on a modern server: one connection serves all sets, and each request names its own. */
import { isUndelivered } from '../../wire/undelivered.ts';
import type { ClientIdentity } from '../client-identity.ts';
import type { Connection } from '../connection-interface.ts';
import { type ViewParts, viewOf } from './connection-view.ts';

export interface StatelessOptions extends Pick<ViewParts, 'base' | 'offered'> {
  /** The client that is named in requests without a client, such as list requests. */
  client: ClientIdentity;
}

export function statelessView({ base, offered, client }: StatelessOptions): Connection {
  const request: Connection['request'] = (method, params, options) => {
    const one = base();
    const sent = { client, ...options };
    return one.request(method, params, sent).catch((error: unknown) => {
      // The current connection may have been replaced while the request waited.
      if (isUndelivered(error) && base() !== one) return base().request(method, params, sent);
      throw error;
    });
  };
  return Object.assign(viewOf({ base, offered, request }), { base });
}
