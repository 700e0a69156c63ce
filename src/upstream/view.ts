/** A connection that stands for another one, which may be a different one at the next request. */
import type { Connection } from './connection.ts';

export interface ViewParts {
  /** The connection of the moment. */
  base(): Connection;
  /** The set of capabilities, see `offeredKey`. */
  offered: string;
  request: Connection['request'];
}

export function viewOf({ base, offered, request }: ViewParts): Connection {
  const { name, spec } = base();
  return {
    name,
    spec,
    offered,
    request,
    get state() {
      return base().state;
    },
    get hello() {
      return base().hello;
    },
    get expected() {
      return base().expected;
    },
    connect: (purpose) => base().connect(purpose),
    claim: () => base().claim?.(),
    notify: (method, params) => base().notify(method, params),
    diagnostics: () => base().diagnostics(),
    rest: () => base().rest(),
    dismiss: () => base().dismiss(),
    close: (bounds) => base().close(bounds),
    killNow: () => base().killNow(),
  };
}
