/** One upstream: its state machine, single-flight connect, requests, close. */
import type { ServerSpec, Settings } from '../config/config.ts';
import type { Log } from '../observe/log.ts';
import type { Params } from '../wire/message.ts';
import type { RequestOptions } from '../wire/peer.ts';

/** What an upstream said of itself when the conversation began. */
export interface Hello {
  era: 'legacy' | 'modern';
  protocolVersion: string;
  capabilities: Record<string, unknown>;
  serverInfo: { name: string; version: string; [field: string]: unknown };
  instructions?: string;
}

/** One entity, one state. Times are epoch ms; `reason` is a sentence for people. */
export type ConnectionState =
  | { kind: 'idle' }
  | { kind: 'connecting'; since: number }
  | { kind: 'ready'; since: number }
  | { kind: 'backoff'; until: number; failures: number; reason: string }
  | { kind: 'closed'; reason?: string };

export interface ConnectionEvents {
  state?: (state: ConnectionState) => void;
  notification?: (method: string, params: Params | undefined) => void;
}

export interface ConnectionOptions {
  spec: ServerSpec;
  settings: Pick<Settings, 'connect' | 'limits'>;
  log: Log;
  events?: ConnectionEvents;
}

/** For `doctor`, `status` and error messages. */
export interface Diagnostics {
  pid?: number;
  /** The last lines the process wrote to stderr. */
  stderr: string[];
  /** Lines on its stdout, or messages, that were no JSON-RPC. */
  noise: number;
}

export interface Connection {
  readonly name: string;
  readonly spec: ServerSpec;
  readonly state: ConnectionState;
  /** Present once it has been connected; kept after it was stopped. */
  readonly hello: Hello | undefined;
  /** Connects if need be; a hundred callers start it once. */
  connect(): Promise<Hello>;
  /** Connects if need be, then asks. RpcError = the upstream's own words, McpxError = ours. */
  request(method: string, params?: Params, options?: RequestOptions): Promise<unknown>;
  diagnostics(): Diagnostics;
  /** Stops it for good: nothing of its process tree is left when this resolves. */
  close(): Promise<void>;
}

export function createConnection(_options: ConnectionOptions): Connection {
  throw new Error('being written');
}
