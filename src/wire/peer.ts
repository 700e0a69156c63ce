/** One JSON-RPC conversation over a channel: ids, timeouts, cancellation, progress; errors are relayed verbatim. */
import type { Id, Message, Params, RpcNotification, RpcRequest } from './message.ts';

/** Messages over something: a process's pipes, HTTP requests, memory. One per conversation. */
export interface Channel {
  /** Begins delivery; called once. */
  start(receiver: Receiver): void;
  /** Queues one message and returns at once. Throws McpxError: `unreachable` when closed, `overloaded` when the far side does not read. */
  send(message: Message): void;
  /** Ends the conversation, first politely, then by force; resolves when nothing of it is left. */
  close(): Promise<void>;
}

export interface Receiver {
  /** `origin` is the id of our own request on whose answer stream this message came, where the transport can tell. */
  message(message: Message, origin?: Id): void;
  /** Something arrived that is no JSON-RPC message; it is dropped. */
  invalid(reason: string): void;
  /** The far side is gone. Called once; the error says why, or is absent after a clean end. */
  closed(error?: Error): void;
}

/** What a request handler is told about the request it answers. */
export interface Incoming {
  /** Aborted when the far side cancels the request or goes away. */
  signal: AbortSignal;
  /** Sends progress under the requester's own token; absent when it gave none. */
  progress?: (params: Params) => void;
  origin?: Id;
}

export interface PeerHandlers {
  /** Answers a request; what it throws becomes the JSON-RPC error. Absent: every request is -32601. */
  request?: (request: RpcRequest, incoming: Incoming) => Promise<unknown>;
  notification?: (notification: RpcNotification, origin?: Id) => void;
  invalid?: (reason: string) => void;
  closed?: (error?: Error) => void;
}

export interface RequestOptions {
  /** ms without an answer or progress; then the far side is told to cancel. */
  timeout?: number;
  /** ms in all, however much progress flows (default: the larger of 10 min and `timeout`). */
  totalTimeout?: number;
  signal?: AbortSignal;
  /** Asks for progress and receives the params of each notification, without the token. */
  progress?: (params: Params) => void;
}

export interface Peer {
  /** Resolves with the result; rejects with RpcError (what the far side said) or McpxError (timeout, cancelled, unreachable). */
  request(method: string, params?: Params, options?: RequestOptions): Promise<unknown>;
  notify(method: string, params?: Params): void;
  close(): Promise<void>;
  /** Our requests without an answer yet, and theirs that we are still working on. */
  readonly pending: { ours: number; theirs: number };
}

export function createPeer(_channel: Channel, _handlers: PeerHandlers = {}): Peer {
  throw new Error('being written');
}
