/** Types of the requests that a downstream passes to the router. */
import type { CancelSignal } from '../cancel-signal.ts';
import type { Tool } from '../catalog/listing.ts';
import type { McpxError } from '../errors.ts';
import type { Inputs } from '../mcp/multi-round-trip.ts';
import type { Access, Kind } from '../policy/access.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Params } from '../wire/message.ts';
import type { Confirm, JointCalls } from './confirmation.ts';
import type { ClientHandle } from './server-requests.ts';

/** The result of a tool as the upstream sent it, with its unknown fields. */
export interface ToolResult extends Record<string, unknown> {
  content?: unknown[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** The context of a downstream request in progress. */
export interface RequestContext extends ClientHandle {
  signal?: CancelSignal | undefined;
  progress?: ((params: Params) => void) | undefined;
  /** `_meta` of the downstream's request, without its progress token. */
  meta?: Params | undefined;
  /** The other params of a tool call, passed to the server unchanged. */
  extra?: Params;
  /** The input responses that the client has sent so far, if it takes input requests as results. */
  inputs?: Inputs | undefined;
  /**
   * The id of the exchange that input requests belong to, if the client takes them per request; one request may make
   * several calls (default: the client's session).
   */
  conversation?: string | undefined;
  /** The id of the HTTP request that carried it. */
  requestId?: string | undefined;
  /**
   * True if the downstream accepts a large result as the bytes that the server wrote; only for results that mcpx does
   * not transform.
   */
  verbatim?: boolean | undefined;
  /** Asks the user at the terminal instead of the client. */
  confirm?: Confirm;
}

/**
 * Handling of an input-required result of a modern server: `pass` hands it to the client, `ask` sends each input
 * request to the client (default).
 */
export interface Questioned {
  questions?: 'ask' | 'pass';
}

export interface ToolCall extends RequestContext, Questioned {
  server: string;
  tool: string;
  /** The arguments as the downstream sent them: an object, the JSON text of one, or undefined. */
  arguments?: unknown;
  /**
   * `verbatim` skips the check and repair of arguments, for the front that passes everything through (default
   * `checked`).
   */
  mode?: 'checked' | 'verbatim';
  /** Receives warnings about arguments that passed the check. */
  noted?: (notes: string[]) => void;
  /** The calls that the user confirms together, this one among them. */
  together?: JointCalls;
  /** Returns an error if the downstream refuses to run this tool. */
  unwanted?: ((tool: Tool) => McpxError | undefined) | undefined;
}

/** A request other than a tool call that a single server answers. */
export interface Forward extends RequestContext, Questioned {
  server: string;
  /**
   * The kind of object that is authorized: a prompt by its name, a resource by the server's own URI. A task belongs
   * to the client that created it. An extension method requires access to everything of the server.
   */
  kind: Exclude<Kind, 'tool'> | 'task' | 'extension';
  name: string;
  method: string;
  params: Params;
  /** The connection to use; the caller's current one by default. */
  via?: Connection | undefined;
  /** Called with the connection before the request is sent; may throw to refuse it. */
  routed?: ((via: Connection) => void) | undefined;
}

/** Returns true if the client is authorized to send this request. */
export function permits(access: Access, { server, kind, name }: Pick<Forward, 'server' | 'kind' | 'name'>): boolean {
  if (kind === 'task') return true;
  return kind === 'extension' ? access.allowsAll(server) : access.allows({ server, kind, name });
}
