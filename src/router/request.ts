/** What a downstream asks for, as the router takes it. */
import type { Tool } from '../catalog/list.ts';
import type { McpxError } from '../errors.ts';
import type { Access, Kind } from '../policy/access.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Inputs } from '../upstream/rounds.ts';
import type { Params } from '../wire/message.ts';
import type { Confirm } from './confirm.ts';
import type { WayBack } from './reverse.ts';

/** The result of a tool as the upstream sent it; unknown fields survive. */
export interface ToolResult extends Record<string, unknown> {
  content?: unknown[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** A downstream's request under way. */
export interface Way extends WayBack {
  signal?: AbortSignal | undefined;
  progress?: ((params: Params) => void) | undefined;
  /** `_meta` of the downstream's request, without its progress token. */
  meta?: Params | undefined;
  /** What else its params hold, for a server that may know what it means. */
  extra?: Params;
  /** Where the downstream takes questions as results: what it has answered so far. */
  inputs?: Inputs | undefined;
  /** The id of the HTTP request that brought it. */
  requestId?: string | undefined;
  /** Whether the downstream takes a large result as the bytes in which its server wrote it; only where nothing is made of results. */
  verbatim?: boolean | undefined;
  /** Asks the person at the terminal instead of the client. */
  confirm?: Confirm;
}

/** What becomes of questions that a server of the modern era answers with: `pass` where the downstream takes them (default: it is asked each). */
export interface Questioned {
  questions?: 'ask' | 'pass';
}

export interface ToolCall extends Way, Questioned {
  server: string;
  tool: string;
  /** As the downstream sent them: an object, a JSON string of one, or nothing. */
  arguments?: unknown;
  /** `verbatim` leaves the arguments alone, for a front that must be indistinguishable from the upstream (default `checked`). */
  mode?: 'checked' | 'verbatim';
  /** Told what was odd about arguments that passed. */
  noted?: (notes: string[]) => void;
  /** Why the downstream does not want this tool to run after all, if so. */
  unwanted?: ((tool: Tool) => McpxError | undefined) | undefined;
}

/** Anything but a tool call that one server answers. */
export interface Forward extends Way, Questioned {
  server: string;
  /** What is authorized: a prompt by its name, a resource by its own URI. A task belongs to who began it. A method of an extension is for those who may use all of the server. */
  kind: Exclude<Kind, 'tool'> | 'task' | 'extension';
  name: string;
  method: string;
  params: Params;
  /** Where it has to go, where that is not what the caller has now. */
  via?: Connection | undefined;
  /** Told where it goes, before it is sent; may refuse it. */
  routed?: ((via: Connection) => void) | undefined;
}

/** Whether a client may ask for this. */
export function permits(access: Access, { server, kind, name }: Pick<Forward, 'server' | 'kind' | 'name'>): boolean {
  if (kind === 'task') return true;
  return kind === 'extension' ? access.allowsAll(server) : access.allows({ server, kind, name });
}
