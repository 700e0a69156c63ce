/** A front as listeners and tools see it: the client connection, the request in progress, and what a front is given; types only. */
import type { CancelSignal } from '../cancel-signal.ts';
import type { Wanted } from '../catalog/catalog.ts';
import type { ListKind, Tool } from '../catalog/listing.ts';
import type { ToolSearch } from '../catalog/search/search.ts';
import type { Settings } from '../config/config.ts';
import type { Inputs } from '../mcp/multi-round-trip.ts';
import type { RequestContext, Router, ToolResult } from '../router/router.ts';
import type { Subscriptions } from '../router/subscriptions.ts';
import type { Caller } from '../upstream/caller.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import type { Params, RpcNotification, RpcRequest } from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';
import type { ClientResults } from './compact/result-store.ts';
import type { Savings } from './savings.ts';

/** The client connection as the listener provides it. */
export interface Downstream {
  /** The session's key, unique per session. */
  key: string;
  /** `request` for a client without a session, which is identified by its token alone; absent for a session. */
  stateless?: true;
  /** Sends a notification that belongs to no request; it is dropped if the client has no stream for it. */
  notify(method: string, params?: Params): void;
  /** Sends a request that belongs to no client request; absent if the client cannot receive one. */
  ask?: (method: string, params: Params, options?: RequestOptions) => Promise<unknown>;
}

/** A downstream request in progress, with the functions that reach its client. */
export interface Exchange {
  /** Aborted if the client cancels the request or disconnects. */
  signal: CancelSignal;
  /** Sends progress with the client's own token; absent if the client sent none. */
  progress?: ((params: Params) => void) | undefined;
  /**
   * Sends a notification that belongs to this request; over HTTP it uses the request's own stream. Returns false if
   * the client does not want it.
   */
  notify?: (method: string, params?: Params) => unknown;
  /** Sends a request to the client on behalf of this one; absent if the client cannot receive one. */
  ask?: (method: string, params: Params, options?: RequestOptions) => Promise<unknown>;
  /** The input responses that the client has sent so far, if it takes input requests as results. */
  inputs?: Inputs;
  /** The id of the HTTP request that carried it. */
  requestId?: string | undefined;
  /** True if the listener can send a result that is still unparsed bytes. */
  verbatim?: boolean;
}

/** The parts of a profile that a front uses. */
export interface FrontDeps {
  router: Router;
  /** The client's identity; `initialize` adds its name and capabilities. */
  caller: Caller;
  /** The settings depend on the client in the compact front, so they are read for each request. */
  readonly settings: Settings;
  subscriptions: Subscriptions;
  /** Counts the characters that a client reads, with and without mcpx. */
  savings: Savings;
  /** Stores the results of this client that are too large to send. */
  clientResults: ClientResults;
  search: ToolSearch;
  /**
   * Resolves when the tools, or `all` lists, of every upstream are listed; at the latest after the configured wait or
   * `wait` milliseconds, whichever is less.
   */
  listed(wait?: number, lists?: 'tools' | 'all'): Promise<void>;
  /** Lists a server again for this client, for a name that the catalog does not have. */
  verify(server: string, wanted?: Wanted): Promise<void>;
  /** True while servers are listed for the first time. */
  isListing?(): boolean;
}

/** The part that differs between the compact and the aggregate front. */
export interface Face {
  instructions(): string | undefined;
  /** Milliseconds that `tools/list` waits for servers that were never listed, if less than configured. */
  listWait?: number;
  tools(): Tool[];
  /** Returns the server's definition of a tool; absent if mcpx defines all tools itself. */
  tool?(name: string): Tool | undefined;
  /** Returns the lists of this front that change with these lists of the servers; absent if they are the same. */
  affected?(kinds: ReadonlySet<ListKind>): Iterable<ListKind>;
  call(name: string, args: unknown, way: RequestContext): Promise<ToolResult>;
}

export interface Front {
  /** The key of its downstream session. */
  readonly key: string;
  /** The name of the client's token. */
  readonly principal: string | undefined;
  /** Handles a request; throws RpcError or McpxError for a protocol error. */
  request(request: Pick<RpcRequest, 'method' | 'params'>, exchange: Exchange): Promise<unknown>;
  /** The server's definition of the tool that is exposed under this name. */
  tool?(name: string): Tool | undefined;
  notification(notification: RpcNotification): void;
  /** Announces that lists of the profile, or of one server, have changed. */
  changed(kinds: Iterable<ListKind>, server?: string): void;
  /** Handles a notification of an upstream that belongs to no call. */
  onNotification(server: string, method: string, params: Params | undefined, spoke?: ConnectionInfo): void;
  /** Passes on a request that belongs to no call, from an upstream that serves this client alone. */
  onServerRequest(server: string, request: RpcRequest, incoming: Incoming): Promise<unknown>;
  /** Ends the session. */
  close(): void;
}
