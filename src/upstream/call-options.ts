/** Options of one request to an upstream, and the precondition that its connection must meet; types only. */

import type { Inputs } from '../mcp/multi-round-trip.ts';
import type { Params } from '../wire/message.ts';
import type { RequestOptions } from '../wire/peer.ts';
import type { ClientIdentity } from './client-identity.ts';
import type { Handshake } from './handshake.ts';

export interface CallOptions extends RequestOptions {
  /** The request is idempotent: if the connection breaks, it is sent once more on the next connection. */
  repeatable?: boolean | undefined;
  /** A precondition that the connection has to meet before the request is sent on it. */
  precondition?: Precondition | undefined;
  /** Bypasses the concurrency limit; for requests that a queued call waits for. */
  bypassQueue?: boolean | undefined;
  /** `list` marks a request that only lists; it does not count as use of the server. */
  purpose?: 'list' | undefined;
  /**
   * The calling client. Its capabilities are sent with every request to a modern server, and queued calls of different
   * clients alternate.
   */
  client?: ClientIdentity | undefined;
  /** True if all capabilities of the client are forwarded, also extensions and experimental ones. */
  transparent?: boolean | undefined;
  /** The input responses so far; set if the caller handles `input_required` results itself. */
  inputs?: Inputs | undefined;
}

/** A precondition of a request. It is checked before each send: a restarted server may differ. */
export interface Precondition {
  /** Returns true if the connection with this handshake meets the precondition; called for every request. */
  isMet(handshake: Handshake): boolean;
  /**
   * Meets the precondition and returns the request to send on this connection; undefined if the connection has ended.
   * Throws to veto the send.
   */
  satisfy<Options extends CallOptions>(
    handshake: Handshake,
    request: Outgoing<Options>,
  ): Promise<Outgoing<Options> | undefined>;
}

/** The part of a request that a precondition may replace. */
export interface Outgoing<Options extends CallOptions = CallOptions> {
  params: Params | undefined;
  options: Options;
}

/** Options with the timeout filled in. */
export type TimedOptions = CallOptions & { timeout: number };

export type SendRequest = (method: string, params: Params | undefined, wanted: TimedOptions) => Promise<unknown>;
