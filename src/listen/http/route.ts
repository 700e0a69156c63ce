/** A route and the request that it serves; types only. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Settings } from '../../config/config.ts';
import type { Log } from '../../observe/log.ts';
import type { Authenticator, Principal } from '../../policy/auth.ts';
import type { Administration, Gateway } from '../app-api.ts';
import type { AuthorizationServer } from '../authorization-server/authorization-server.ts';
import type { McpDeps } from '../mcp/mcp-request.ts';
import type { EventStream } from '../mcp/sse-stream.ts';
import type { RequestTrace } from './access-log.ts';
import type { Unauthorized } from './unauthorized.ts';

/** A request that has passed the checks. */
export interface RouteRequest {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  principal: Principal | undefined;
  /** The decoded values of the path parameters, by name. */
  parts: ReadonlyMap<string, string>;
  trace: RequestTrace;
}

/** The parts of the listener that routes use. */
export interface Served {
  gateway: Gateway;
  settings: Settings['http'];
  auth: Authenticator;
  log: Log;
  mcp: McpDeps;
  /** Absent if there is no config file that could be changed. */
  admin?: Administration;
  /** Open streams of `/api/events`. */
  live: Map<EventStream, Principal | undefined>;
  unauthorized: Unauthorized;
  /** Absent if the listener offers no OAuth of its own. */
  authorizationServer?: AuthorizationServer | undefined;
  /** Aborted when mcpx stops. */
  stopping: AbortSignal;
}

export type Serve = (exchange: RouteRequest, served: Served) => void | Promise<void>;

export interface Route {
  /** The path template; a name in braces matches one segment. */
  path: string;
  methods: Record<string, Serve>;
  /** True for a route that is served before the token and Origin checks. */
  open?: true;
  /** True for a route that needs no token because it reveals nothing about this gateway. */
  anonymous?: true;
  /** True for a route that every web page may use; its responses must not depend on cookies or on the token. */
  anyOrigin?: true;
  /** Returns true if the settings enable this route; absent for a route that is always enabled. */
  offered?: (settings: Settings['http']) => boolean;
}
