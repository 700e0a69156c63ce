/** Routes server-to-client requests (sampling, elicitation, roots) to the client whose call caused them. */
import { RpcError } from '../errors.ts';
import { MISSING_CAPABILITY } from '../mcp/error-codes.ts';
import type { InputRequired } from '../mcp/multi-round-trip.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import type { ClientIdentity, ServerNotification } from '../upstream/pool.ts';
import { isRecord, METHOD_NOT_FOUND, type Params, type RpcNotification, type RpcRequest } from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';

/** The functions that reach the client that made a call. */
export interface ClientHandle {
  caller: ClientIdentity;
  /** Returns false if the client does not want the notification. */
  notify?: ((method: string, params?: Params) => unknown) | undefined;
  ask?: ((method: string, params: Params, options?: RequestOptions) => Promise<unknown>) | undefined;
  /** True if mcpx stands for a single server and changes no message (default false). */
  isTransparent?: (() => boolean) | undefined;
}

/** Server-to-client methods, with the client capability that each one requires. */
const QUESTIONS = new Map([
  ['roots/list', 'roots'],
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
]);

/** Timeout in milliseconds; long, because a user answers. */
const PATIENCE = 10 * 60_000;

/** Returns the request options that pass server-to-client requests and notifications to the client. */
export function toClient(
  server: string,
  way: ClientHandle,
): Required<Pick<RequestOptions, 'onServerRequest' | 'onNotification'>> {
  return {
    onServerRequest: (request, incoming) => pass(server, request, incoming, way),
    onNotification: ({ method, params }: RpcNotification) => way.notify?.(method, withServer(server, params)),
  };
}

async function pass(server: string, request: RpcRequest, incoming: Incoming, way: ClientHandle): Promise<unknown> {
  const { caller, ask } = way;
  const { method, params = {} } = request;
  const capability = QUESTIONS.get(method);
  if (capability === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
  if (ask === undefined || caller.capabilities[capability] === undefined) {
    throw new RpcError(METHOD_NOT_FOUND, `the client that made this call cannot answer ${method}`);
  }
  const { signal, progress } = incoming;
  return ask(method, questionFrom(server, { method, params }, way), {
    signal,
    timeout: PATIENCE,
    ...(progress && { progress }),
  });
}

/**
 * Adapts the input requests of an input-required result, which keep their keys; throws if the client lacks a
 * capability. https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr
 */
export function passQuestions(server: string, asking: InputRequired, way: ClientHandle): InputRequired {
  const { capabilities } = way.caller;
  const { inputRequests } = asking;
  if (!isRecord(inputRequests)) return asking;
  const required = new Map<string, Params>();
  const passed = Object.entries(inputRequests).map(([key, question]) => {
    if (!isRecord(question)) return [key, question];
    const params = isRecord(question.params) ? question.params : {};
    const method = String(question.method);
    const capability = QUESTIONS.get(method);
    const part = partFor(capability, params);
    if (capability !== undefined && !declares(capabilities[capability], part))
      required.set(capability, { ...required.get(capability), ...(part !== undefined && { [part]: {} }) });
    return [key, { ...question, params: questionFrom(server, { method, params }, way) }];
  });
  if (required.size === 0) return { ...asking, inputRequests: Object.fromEntries(passed) };
  const names = [...required.keys()].join(', ');
  throw new RpcError(
    MISSING_CAPABILITY,
    `server "${server}" requires capabilities that this client does not declare: ${names}`,
    {
      requiredCapabilities: Object.fromEntries(required),
    },
  );
}

/** The sub-capability that a request needs; undefined if the capability itself is enough. */
function partFor(capability: string | undefined, { mode, tools, toolChoice }: Params): string | undefined {
  if (capability === 'elicitation') return mode === 'url' ? 'url' : 'form';
  return capability === 'sampling' && (tools ?? toolChoice) !== undefined ? 'tools' : undefined;
}

/**
 * True if the client declared the capability and the given part of it. An elicitation capability without modes means
 * `form`.
 */
export function declares(declared: unknown, part: string | undefined): boolean {
  if (!isRecord(declared)) return false;
  return part === undefined || declared[part] !== undefined || (part === 'form' && declared.url === undefined);
}

/** Adds the server's name, and the values in `own`, to `_meta`. */
export function withServer(server: string, params: Params = {}, own: Params = {}): Params {
  const meta = isRecord(params._meta) ? params._meta : {};
  return { ...params, _meta: { ...meta, 'dev.mcpx/server': server, ...own } };
}

/**
 * The `_meta` key with which Claude Code labels a request to its user: `displayName` is the label, `description` the
 * line below it.
 */
const PERMISSION_DISPLAY = 'anthropic/permissionDisplay';

/**
 * Returns the params of a server-to-client request. An elicitation names the server, because the user must see which
 * server asks: https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation
 */
function questionFrom(
  server: string,
  { method, params }: { method: string; params: Params },
  { caller, isTransparent }: ClientHandle,
): Params {
  if (method !== 'elicitation/create' || isTransparent?.()) return withServer(server, params);
  const { message } = params;
  const lead = `"${server}" asks: `;
  const named = typeof message === 'string' && !message.startsWith(lead) ? { message: `${lead}${message}` } : {};
  const label = { [PERMISSION_DISPLAY]: { displayName: server, description: 'a server behind mcpx' } };
  return withServer(server, { ...params, ...named }, caller.clientInfo?.name === 'claude-code' ? label : {});
}

/**
 * Passes a server-to-client request to the client whose call caused it, or else to the only client of the connection.
 */
export async function answerQuestion(
  server: string,
  request: RpcRequest,
  incoming: Incoming,
  owner?: RequestOptions['onServerRequest'],
): Promise<unknown> {
  const { attribution } = incoming;
  if (attribution?.onServerRequest) return attribution.onServerRequest(request, incoming);
  if (owner !== undefined) return owner(request, incoming);
  throw unattributed(server, request.method, attribution?.ambiguous ? 'several' : 'none');
}

/** The principals that use a connection. */
type Shared = Pick<ConnectionInfo, 'owner' | 'principals'>;

/**
 * Passes a log message or an unknown notification to the client whose call it belongs to, or to the clients of one
 * principal whose calls it may belong to. Returns undefined for other notifications, and for one that belongs to no
 * call. A notification that may belong to calls of several principals, including finished calls, is dropped.
 */
export function passToCall(
  { method, params, about }: ServerNotification,
  { owner, principals }: Shared,
): 'passed' | 'dropped' | undefined {
  if (!isAnonymous(method)) return undefined;
  about?.onNotification?.({ jsonrpc: '2.0', method, ...(params && { params }) });
  if (about?.onNotification !== undefined) return 'passed';
  const mixed = owner === undefined && principals !== undefined && principals.size > 1;
  return about?.ambiguous || mixed ? 'dropped' : undefined;
}

/**
 * True if the client may receive a notification that belongs to no call. Log messages and unknown notifications reach
 * only the principals that have used the connection. Other notifications identify their recipient.
 */
export function mayHear(
  method: string,
  { key, principal }: Pick<ClientIdentity, 'key' | 'principal'>,
  by: Shared,
): boolean {
  if (by.owner !== undefined) return key === by.owner;
  if (!isAnonymous(method) || by.principals === undefined || by.principals.size === 0) return true;
  return principal !== undefined && by.principals.has(principal);
}

const LOG_MESSAGE = 'notifications/message';

/** Notifications that the specification defines. */
const KNOWN: ReadonlySet<string> = new Set([
  LOG_MESSAGE,
  ...['cancelled', 'progress', 'initialized', 'resources/updated', 'elicitation/complete', 'tasks/status'].map(named),
  ...['tools', 'prompts', 'resources', 'roots'].map((list) => named(`${list}/list_changed`)),
  named('subscriptions/acknowledged'),
]);

function named(name: string): string {
  return `notifications/${name}`;
}

/** True for a notification of an extension or of a later revision, which is passed on unchanged. */
export function isUnknown(method: string): boolean {
  return !KNOWN.has(method);
}

/** True if the content of a notification does not identify its recipient. */
function isAnonymous(method: string): boolean {
  return method === LOG_MESSAGE || isUnknown(method);
}

/** The error for a request that mcpx cannot attribute to exactly one call. */
function unattributed(server: string, method: string, calls: 'none' | 'several'): RpcError {
  const why = calls === 'none' ? 'no call is under way' : 'several calls are under way and none is named';
  return new RpcError(METHOD_NOT_FOUND, `mcpx cannot tell which client "${server}" means with ${method}: ${why}`);
}
