/** One upstream connection as the rest of mcpx sees it: state, diagnostics, methods; types only. */
import type { ServerSpec } from '../config/config.ts';
import type { McpxError } from '../errors.ts';
import type { Params } from '../wire/message.ts';
import type { CallOptions } from './call-options.ts';
import type { Handshake } from './handshake.ts';
import type { StopBounds } from './transports/transport.ts';

/** A connection is in exactly one of these states. Times are epoch ms; `reason` is a message for the user, `failure` its error. */
export type ConnectionState =
  | { kind: 'idle' }
  /** `fetching` names the launcher that downloads the server, such as `npx`. */
  | { kind: 'connecting'; since: number; fetching?: string | undefined }
  | { kind: 'ready'; since: number }
  /** `until` is the time of the next attempt. A `resting` connection reconnects only when a request arrives. */
  | { kind: 'backoff'; until: number; failures: number; reason: string; resting?: boolean; failure?: McpxError }
  | { kind: 'closed'; reason?: string; failure?: McpxError };

/** Details of a connection for `doctor`, `status` and error messages. */
export interface Diagnostics {
  pid?: number;
  stderr: string[];
  /** The number of stdout lines or messages that were not JSON-RPC. */
  noise: number;
  /** The first of them. */
  firstNoise?: string;
  steps?: StartSteps;
}

/** The durations of the last start in milliseconds, as far as it came. */
export interface StartSteps {
  /** Until the process was started; for a URL nothing is sent yet. */
  open: number;
  initialize?: number;
  /** Epoch milliseconds at which it was ready; the lists follow. */
  readyAt?: number;
}

/** The facts about a connection. Code that only reads them cannot send anything to the upstream. */
export interface ConnectionInfo {
  readonly name: string;
  readonly spec: ServerSpec;
  /** The key of the only caller that this connection serves; undefined if several share it. */
  readonly owner?: string | undefined;
  /** Up to two principals that sent requests, also before a reconnect; undefined if none is tracked. */
  readonly principals?: ReadonlySet<string>;
  /** The client capabilities offered, see `offeredKey`: a server may list other tools for other sets. */
  readonly offered: string;
  /** The folder that the launch depends on, see `launchFolder`. */
  readonly folder?: string | undefined;
  /** Returns the connection that a view currently delegates to; set only on views. */
  readonly base?: () => ConnectionInfo;
  /** Every request starts its own process, so the process that listed is never the one that answers. */
  readonly perCall?: true;
  readonly state: ConnectionState;
  /** The last handshake; undefined before the first connect, kept after a stop. */
  readonly handshake: Handshake | undefined;
  /** True if a client waits for notifications: it has a subscription or a running task. */
  readonly hasSubscribers: boolean;
  diagnostics(): Diagnostics;
}

export interface Connection extends ConnectionInfo {
  readonly base?: () => Connection;
  /** Connects if necessary; concurrent callers share one start. With `list`, waits for the listing limit. */
  connect(purpose?: 'list'): Promise<Handshake>;
  /** Marks the server as used by a client, so that it bypasses the listing limit. */
  claim?(): void;
  /** Called when its lists are read: a server that was started only for them may stop. */
  listed?(): void;
  /** Connects or awaits a reconnect within the timeout, then sends. RpcError: from the upstream; McpxError: ours. */
  request(method: string, params?: Params, options?: CallOptions): Promise<unknown>;
  /** Sends a notification; drops it if the upstream is not connected. */
  notify(method: string, params?: Params): void;
  /** Stops the server once no request is pending; resolves when it has stopped. The next call restarts it. */
  stopIdle(): Promise<void>;
  /** Stops the server permanently once no request is pending; resolves when it has stopped. */
  drain(): Promise<void>;
  /** Stops the server permanently; its whole process tree has ended when this resolves. */
  close(bounds?: StopBounds): Promise<void>;
  /** Kills the process tree synchronously; for use while mcpx itself exits. */
  killNow(): void;
}
