/** The events of an upstream connection, on every level from the connection to the profile; types only. */
import type { Params, RpcRequest } from '../wire/message.ts';
import type { Attribution, Incoming } from '../wire/peer.ts';
import type { Connection, ConnectionState } from './connection-interface.ts';

/** A notification of an upstream; `about` is the request that it belongs to, undefined if unknown. */
export interface ServerNotification {
  method: string;
  params: Params | undefined;
  about: Attribution | undefined;
}

export interface UpstreamEvents {
  state?: (state: ConnectionState, connection: Connection) => void;
  /** The calls of a client now go to this connection of the server, which may be ready already. */
  moved?: (connection: Connection) => void;
  notification?: (notification: ServerNotification, connection: Connection) => void;
  /** Answers a request of the upstream other than `ping`; if absent, the upstream gets -32601. */
  request?: (request: RpcRequest, incoming: Incoming, connection: Connection) => Promise<unknown>;
}
