/** A view that delegates each request to a connection, which may change between requests. */
import type { Connection } from '../connection-interface.ts';

export interface ViewParts {
  /** Returns the current connection. */
  base(): Connection;
  /** The key of the offered capabilities, see `offeredKey`. */
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
    get handshake() {
      return base().handshake;
    },
    get hasSubscribers() {
      return base().hasSubscribers;
    },
    connect: (purpose) => base().connect(purpose),
    claim: () => base().claim?.(),
    listed: () => base().listed?.(),
    notify: (method, params) => base().notify(method, params),
    diagnostics: () => base().diagnostics(),
    stopIdle: () => base().stopIdle(),
    drain: () => base().drain(),
    close: (bounds) => base().close(bounds),
    killNow: () => base().killNow(),
  };
}
