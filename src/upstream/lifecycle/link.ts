/** One open connection to an upstream: the peer, its transport, and the result of the handshake. */
import type { Peer } from '../../wire/peer.ts';
import type { Handshake } from '../handshake.ts';
import type { Transport } from '../transports/transport.ts';

export interface Link {
  peer: Peer;
  transport: Transport;
  handshake: Handshake;
}
