/** A server of the modern era as clients with one set of capabilities see it: one connection serves all sets, and each request says which. */
import { isUndelivered } from '../wire/undelivered.ts';
import type { Connection } from './connection.ts';
import type { Caller } from './sharing.ts';

export interface ViewOptions {
  /** The connection of the moment. */
  base(): Connection;
  /** The set of capabilities, see `offeredKey`. */
  offered: string;
  /** What is said on requests that come from no client in particular, such as lists. */
  client: Caller;
}

export function viewOf({ base, offered, client }: ViewOptions): Connection {
  const { name, spec } = base();
  return {
    name,
    spec,
    offered,
    get state() {
      return base().state;
    },
    get hello() {
      return base().hello;
    },
    get expected() {
      return base().expected;
    },
    connect: () => base().connect(),
    request(method, params, options) {
      const one = base();
      const sent = { client, ...options };
      return one.request(method, params, sent).catch((error: unknown) => {
        // The connection of the moment may have become another one while it waited.
        if (isUndelivered(error) && base() !== one) return base().request(method, params, sent);
        throw error;
      });
    },
    notify: (method, params) => base().notify(method, params),
    diagnostics: () => base().diagnostics(),
    rest: () => base().rest(),
    dismiss: () => base().dismiss(),
    close: (bounds) => base().close(bounds),
    killNow: () => base().killNow(),
  };
}
