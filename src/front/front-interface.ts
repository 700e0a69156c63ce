/** A front and its clients: the client connection, the request in progress, the client and the session; types only. */
import type { CancelSignal } from '../cancel-signal.ts';
import type { Wanted } from '../catalog/catalog.ts';
import type { ListKind, Tool } from '../catalog/listing.ts';
import type { Pageable } from '../catalog/pagination.ts';
import type { ToolSearch } from '../catalog/search/search.ts';
import type { FrontKind, Settings } from '../config/config.ts';
import type { Inputs } from '../mcp/multi-round-trip.ts';
import type { RequestContext, Router, ToolResult } from '../router/router.ts';
import type { SessionLogLevels } from '../router/session-log-levels.ts';
import type { Subscriptions } from '../router/subscriptions.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import type { Params, RpcNotification, RpcRequest } from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';
import type { ClientResults } from './compact/result-store.ts';
import type { ExposedTables, SharedNames } from './exposed-tables.ts';
import type { Savings } from './savings.ts';

/** The client connection as the listener provides it. */
export interface Downstream {
  /** The session's key, unique per session. */
  key: string;
  /** Set for a client without a session, which is identified by its token alone. */
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
  /** The id of the exchange that input requests belong to, if the client takes them per request. */
  conversation?: string;
  /** The id of the HTTP request that carried it. */
  requestId?: string | undefined;
  /** True if the listener can send a result that is still unparsed bytes. */
  verbatim?: boolean;
}

/** The profile as one client uses it, and the parts of mcpx that serve it. */
export interface ClientDeps {
  router: Router;
  /** Replaced by a new value after `initialize`, a log level and new roots. */
  identity: ClientIdentity;
  settings: Settings;
  subscriptions: Subscriptions;
  logLevels: SessionLogLevels;
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
  /** Tells the servers that run for this client that its roots have changed. */
  rootsChanged(): void;
  /** True while servers are listed for the first time. */
  isListing?(): boolean;
}

/** A client as a front sees it with each request. */
export interface Client extends ClientDeps {
  /** The settings of the profile, with the limits of the client program in the compact front. */
  readonly settings: Settings;
  /** The tools and prompts that the client sees, by their exposed names. */
  readonly exposed: ExposedTables;
  /** The lists that the client has read, for the compact front. */
  readonly read: ReadLists;
}

/** The facts about the last `tools/list` of a client. */
export interface ReadLists {
  /** True if the menu of this client is counted. */
  isCounted: boolean;
  /** True if the list contained the `resources` tool; undefined before the first list. */
  hasResources?: boolean;
}

/** Handles one MCP method of a client. */
export type Method = (params: Params, way: RequestContext, client: Client) => unknown;

/** The part that differs between the compact and the aggregate front. */
export interface Face {
  instructions(client: Client): string | undefined;
  /** Milliseconds that `tools/list` waits for servers that were never listed, if less than configured. */
  listWait?: number;
  tools(client: Client): Pageable<Tool>;
  /** Returns the server's definition of a tool; absent if mcpx defines all tools itself. */
  tool?(name: string, client: Client): Tool | undefined;
  /** Returns the lists of this front that change with these lists of the servers; absent if they are the same. */
  affected?(kinds: ReadonlySet<ListKind>, client: Client): Iterable<ListKind>;
  call(name: string, args: unknown, way: RequestContext, client: Client): Promise<ToolResult>;
  /** The methods that only this front has. */
  methods: Iterable<[string, Method]>;
  /** Returns the handler of a method that MCP does not define. */
  extension?(method: string): Method | undefined;
  /** Returns the settings for a client program; absent if they are the same for all. */
  settingsFor?(settings: Settings, info: { name: string; version?: string } | undefined): Settings;
}

/** The MCP methods of a profile; it keeps nothing of a client. */
export interface Front {
  readonly kind: FrontKind;
  /** The settings of the profile; a reload leads to another front. */
  readonly settings: Settings;
  readonly face: Face;
  /** Returns the handler of a method; undefined if the front lacks it. */
  method(name: string): Method | undefined;
  /** The exposed names that clients without a session share. */
  readonly sharedNames: SharedNames;
}

/** One client on a front, as listeners and the profile see it. */
export interface ClientSession {
  /** The key of its downstream session. */
  readonly key: string;
  /** The name of the client's token. */
  readonly principal: string | undefined;
  /** Handles a request; throws RpcError or McpxError for a protocol error. */
  request(request: Pick<RpcRequest, 'method' | 'params'>, exchange: Exchange): Promise<unknown>;
  /** The server's definition of the tool that is exposed under this name. */
  tool(name: string): Tool | undefined;
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
