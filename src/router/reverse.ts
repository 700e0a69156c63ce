/** Upstream → downstream: what a server asks while it works on a call goes to the client that made the call, and back. */
import { RpcError } from '../errors.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Caller, Heard } from '../upstream/pool.ts';
import type { InputRequired } from '../upstream/rounds.ts';
import {
  isRecord,
  METHOD_NOT_FOUND,
  MISSING_CAPABILITY,
  type Params,
  type RpcNotification,
  type RpcRequest,
} from '../wire/message.ts';
import type { Incoming, RequestOptions } from '../wire/peer.ts';

/** The way back to the client that made a call. */
export interface WayBack {
  caller: Caller;
  /** False for what is not wanted. */
  notify?: ((method: string, params?: Params) => unknown) | undefined;
  ask?: ((method: string, params: Params, options?: RequestOptions) => Promise<unknown>) | undefined;
  /** Whether mcpx stands for one server, and changes no word of it (default: it does not). */
  isTransparent?: (() => boolean) | undefined;
}

/** What a server may ask, and the capability that a client declares when it can answer. */
const QUESTIONS = new Map([
  ['roots/list', 'roots'],
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
]);

/** ms for an answer; people are asked, so that it is long. */
const PATIENCE = 10 * 60_000;

/** The options of an upstream request that let its questions and messages reach the client. */
export function towards(server: string, way: WayBack): Required<Pick<RequestOptions, 'asked' | 'heard'>> {
  return {
    asked: (request, incoming) => pass(server, request, incoming, way),
    heard: ({ method, params }: RpcNotification) => way.notify?.(method, withServer(server, params)),
  };
}

async function pass(server: string, request: RpcRequest, incoming: Incoming, way: WayBack): Promise<unknown> {
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

/** The same for questions that come instead of a result, to a client that takes them so: they keep their keys. https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr */
export function passQuestions(server: string, asking: InputRequired, way: WayBack): InputRequired {
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
  throw new RpcError(MISSING_CAPABILITY, `server "${server}" asks for what this client does not declare: ${names}`, {
    requiredCapabilities: Object.fromEntries(required),
  });
}

/** The part of a capability that a question needs, where not all who have the capability have it. */
function partFor(capability: string | undefined, { mode, tools, toolChoice }: Params): string | undefined {
  if (capability === 'elicitation') return mode === 'url' ? 'url' : 'form';
  return capability === 'sampling' && (tools ?? toolChoice) !== undefined ? 'tools' : undefined;
}

/** Whether a client has declared a capability, and that part of it. An empty elicitation means forms; one that names its modes must name that one. */
export function declares(declared: unknown, part: string | undefined): boolean {
  if (!isRecord(declared)) return false;
  return part === undefined || declared[part] !== undefined || (part === 'form' && declared.url === undefined);
}

/** Says which server speaks, and what else is known by another name there; everything else stays. */
export function withServer(server: string, params: Params = {}, own: Params = {}): Params {
  const meta = isRecord(params._meta) ? params._meta : {};
  return { ...params, _meta: { ...meta, 'dev.mcpx/server': server, ...own } };
}

/** The key of `_meta` by which Claude Code labels the question that it shows: `displayName` is the label, `description` the line below it. */
const PERMISSION_DISPLAY = 'anthropic/permissionDisplay';

/** The params of a question, which says which server asks: a user who is asked for input must see that. https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation */
function questionFrom(
  server: string,
  { method, params }: { method: string; params: Params },
  { caller, isTransparent }: WayBack,
): Params {
  if (method !== 'elicitation/create' || isTransparent?.()) return withServer(server, params);
  const { message } = params;
  const lead = `"${server}" asks: `;
  const named = typeof message === 'string' && !message.startsWith(lead) ? { message: `${lead}${message}` } : {};
  const label = { [PERMISSION_DISPLAY]: { displayName: server, description: 'a server behind mcpx' } };
  return withServer(server, { ...params, ...named }, caller.clientInfo?.name === 'claude-code' ? label : {});
}

/** What an upstream asks, answered by the client whose call it works on, else by the only one that its connection serves. */
export async function answerQuestion(
  server: string,
  request: RpcRequest,
  incoming: Incoming,
  owner?: RequestOptions['asked'],
): Promise<unknown> {
  const { about } = incoming;
  if (about?.asked) return about.asked(request, incoming);
  if (owner !== undefined) return owner(request, incoming);
  throw unattributed(server, request.method, about?.ambiguous ? 'several' : 'none');
}

/** The principals that use a connection. */
type Shared = Pick<Connection, 'owner' | 'principals'>;

/**
 * Passes a log message, or what mcpx does not know, on to the client whose call it belongs to, or to those of one principal whose calls it may belong to; undefined when it
 * belongs to no call, or is something else. One that may be about calls of several principals, also calls that are over, is dropped.
 */
export function passToCall(
  { method, params, about }: Heard,
  { owner, principals }: Shared,
): 'passed' | 'dropped' | undefined {
  if (!isAnonymous(method)) return undefined;
  about?.heard?.({ jsonrpc: '2.0', method, ...(params && { params }) });
  if (about?.heard !== undefined) return 'passed';
  const mixed = owner === undefined && principals !== undefined && principals.size > 1;
  return about?.ambiguous || mixed ? 'dropped' : undefined;
}

/** Whether a client hears what belongs to no call: a log message, and what mcpx does not know, is for the only principal that has used the connection. Other notifications name whom they are for. */
export function mayHear(method: string, { key, principal }: Pick<Caller, 'key' | 'principal'>, by: Shared): boolean {
  if (by.owner !== undefined) return key === by.owner;
  if (!isAnonymous(method) || by.principals === undefined || by.principals.size === 0) return true;
  return principal !== undefined && by.principals.has(principal);
}

const LOG_MESSAGE = 'notifications/message';

/** Those of the specification. */
const KNOWN: ReadonlySet<string> = new Set([
  LOG_MESSAGE,
  ...['cancelled', 'progress', 'initialized', 'resources/updated', 'elicitation/complete', 'tasks/status'].map(named),
  ...['tools', 'prompts', 'resources', 'roots'].map((list) => named(`${list}/list_changed`)),
  named('subscriptions/acknowledged'),
]);

function named(name: string): string {
  return `notifications/${name}`;
}

/** Whether a notification is of an extension, or of a later revision: it is passed on as it is. */
export function isUnknown(method: string): boolean {
  return !KNOWN.has(method);
}

/** Whether nothing in a notification says whom it is for. */
function isAnonymous(method: string): boolean {
  return method === LOG_MESSAGE || isUnknown(method);
}

/** The answer to a question that no call, or more than one, can be the reason of. */
function unattributed(server: string, method: string, calls: 'none' | 'several'): RpcError {
  const why = calls === 'none' ? 'no call is under way' : 'several calls are under way and none is named';
  return new RpcError(METHOD_NOT_FOUND, `mcpx cannot tell which client "${server}" means with ${method}: ${why}`);
}
