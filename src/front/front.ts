/** One downstream session: the MCP methods every front answers, around the face that the session was opened with. */
import type { Tool } from '../catalog/list.ts';
import type { FrontKind, Settings } from '../config/config.ts';
import { RpcError } from '../errors.ts';
import type { Router, ToolResult } from '../router/router.ts';
import { LEGACY_VERSIONS } from '../upstream/era.ts';
import type { Caller } from '../upstream/pool.ts';
import { VERSION } from '../version.ts';
import {
  INVALID_PARAMS,
  isRecord,
  METHOD_NOT_FOUND,
  type Params,
  type RpcNotification,
  type RpcRequest,
} from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';
import { createAggregate } from './aggregate.ts';
import { createCompact } from './compact.ts';

/** What a listener knows of the client it serves. */
export interface Downstream {
  /** Unique per session. */
  key: string;
  /** A notification that belongs to no request; dropped where the client has no stream for it. */
  notify(method: string, params?: Params): void;
}

/** A request of a downstream under way, and the way back to whoever made it. */
export interface Exchange extends Incoming {
  /** A notification that belongs to this request: over HTTP it goes on the request's own stream. */
  notify?: (method: string, params?: Params) => void;
  /** Asks the client something on behalf of this request; absent where it cannot be asked. */
  ask?: (method: string, params: Params, options?: RequestOptions) => Promise<unknown>;
}

/** Everything a front needs of a profile. */
export interface FrontDeps {
  router: Router;
  settings: Settings;
  /** Resolves when every upstream was listed, or after the configured wait. */
  listed(): Promise<void>;
}

/** What makes a front different from another. */
export interface Face {
  instructions(): string | undefined;
  tools(): Tool[];
  call(name: string, args: unknown, call: FaceCall): Promise<ToolResult>;
}

export interface FaceCall extends Exchange {
  caller: Caller;
  meta?: Params;
}

export interface Front {
  /** Answers a request; throws RpcError or McpxError for what must be a protocol error. */
  request(request: Pick<RpcRequest, 'method' | 'params'>, exchange: Exchange): Promise<unknown>;
  notification(notification: RpcNotification): void;
  /** The profile's catalog changed. */
  changed(): void;
}

const FACES = {
  compact: createCompact,
  aggregate: createAggregate,
} as const satisfies Record<FrontKind, (deps: FrontDeps) => Face>;

export function createFront(kind: FrontKind, deps: FrontDeps, downstream: Downstream): Front {
  const face = FACES[kind](deps);
  const caller: Caller = { key: downstream.key, capabilities: {} };

  const methods = new Map<string, (params: Params, exchange: Exchange) => unknown>([
    [
      'initialize',
      (params) => {
        if (isRecord(params.capabilities)) caller.capabilities = params.capabilities;
        if (isClientInfo(params.clientInfo)) caller.clientInfo = params.clientInfo;
        return initializeResult(params, face);
      },
    ],
    ['ping', () => ({})],
    [
      'tools/list',
      async () => {
        await deps.listed();
        return { tools: face.tools() };
      },
    ],
    [
      'tools/call',
      (params, exchange) => {
        if (typeof params.name !== 'string') throw new RpcError(INVALID_PARAMS, '"name" must be a string');
        const meta = passableMeta(params);
        return face.call(params.name, params.arguments, { ...exchange, caller, ...(meta && { meta }) });
      },
    ],
  ]);

  return {
    async request({ method, params = {} }, exchange) {
      const answer = methods.get(method);
      if (answer === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
      return answer(params, exchange);
    },
    notification() {
      // `initialized` needs no action; cancellation and progress were handled by the peer.
    },
    changed() {
      downstream.notify('notifications/tools/list_changed');
    },
  };
}

function initializeResult(params: Params, face: Face) {
  // A client that asks for a version we do not know is offered the newest.
  const version = LEGACY_VERSIONS.find((known) => known === params.protocolVersion) ?? LEGACY_VERSIONS[0];
  const instructions = face.instructions();
  return {
    protocolVersion: version,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'mcpx', title: 'mcpx', version: VERSION },
    ...(instructions !== undefined && { instructions }),
  };
}

function isClientInfo(value: unknown): value is { name: string; version: string } {
  return isRecord(value) && typeof value.name === 'string' && typeof value.version === 'string';
}

/** The progress token belongs to this hop; the rest of `_meta` is for the upstream. */
function passableMeta(params: Params): Params | undefined {
  if (!isRecord(params._meta)) return undefined;
  const { progressToken: _, ...rest } = params._meta;
  return Object.keys(rest).length === 0 ? undefined : rest;
}
