/** Decides the credentials of each HTTP request to one upstream, and learns which requests were refused. */
import type { OutgoingHttpHeaders } from 'node:http';
import { McpxError } from '../../errors.ts';

/** Used by all transports with a URL: for each request over http and sse, and for each upgrade over ws. */
export interface Authorization {
  /** Returns the configured headers and the credentials, with lower-case names; a promise only if they are fetched. */
  headers(): OutgoingHttpHeaders | Promise<OutgoingHttpHeaders>;
  /** Learns about a response with status 401 or 403; resolves with true if the request is sent once more. */
  refused(refusal: AuthRefusal): boolean | Promise<boolean>;
  /** Returns the error for a request that stays refused. */
  error(status: number): McpxError;
  /** Returns the credentials that no message may quote, besides those of the config. */
  secrets?(): readonly string[];
}

/** A program that prints headers, and for how long its headers are used. */
export interface HeaderProgram {
  command: string;
  args: string[];
  /** The complete environment of the program. */
  env: Record<string, string>;
  /** Milliseconds. */
  keep: number;
}

/** A server as the owner of its credentials knows it. */
export interface ServerAccess {
  name: string;
  url: string;
  /** The configured headers. */
  headers: Record<string, string>;
  /** The OAuth settings of the config. */
  oauth?: Record<string, unknown> | undefined;
  /** The program that prints more headers; with it there is no sign-in. */
  helper?: HeaderProgram | undefined;
}

/** Creates the authorization of a server. */
export type Authorize = (server: ServerAccess) => Authorization;

export interface AuthRefusal {
  status: number;
  /** The `WWW-Authenticate` header of the response. */
  challenge: string | undefined;
  /** The headers that `headers` returned for this request. */
  sent: OutgoingHttpHeaders;
}

/** The names of the statuses that mean refused credentials. `node:http` has them too, but mcpx without URLs does not load it. */
const AUTH_STATUSES = new Map([
  [401, 'Unauthorized'],
  [403, 'Forbidden'],
]);

/** Returns true for a status that means refused credentials. */
export function isAuthStatus(status: number | undefined): boolean {
  return status !== undefined && AUTH_STATUSES.has(status);
}

/** Returns the status of a refusal as messages show it, such as `HTTP 401 Unauthorized`. */
export function authStatusText(status: number): string {
  return `HTTP ${status} ${AUTH_STATUSES.get(status) ?? ''}`.trimEnd();
}

/** Sends the headers of the config with each request; other credentials are not available after a refusal. */
export function staticAuthorization(configured: Record<string, string>, name: string): Authorization {
  const headers = lowerCased(configured);
  return { headers: () => headers, refused: () => false, error: (status) => refusedCredentials(status, name) };
}

function refusedCredentials(status: number, name: string): McpxError {
  const what = status === 401 ? 'wants other credentials' : 'forbids access';
  const hint = `set "headers" of server "${name}" in the config, such as {"Authorization": "Bearer \${TOKEN}"}`;
  return new McpxError('auth', `server "${name}" ${what} (${authStatusText(status)})`, { hint, fault: 'credentials' });
}

function lowerCased(headers: Record<string, string>): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]));
}
