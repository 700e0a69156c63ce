/** HTTP errors: `{"error", "code", "hint", "requestId"}` on REST routes, JSON-RPC errors on MCP routes. */
import type { ServerResponse } from 'node:http';
import type { ProfileWord } from '../../config/config.ts';
import { type ErrorCode, HTTP_CODES, McpxError, RpcError, toMcpxError } from '../../errors.ts';
import { asName } from '../../render/text.ts';
import { type Id, INVALID_PARAMS, INVALID_REQUEST, isRecord } from '../../wire/message.ts';
import { requestIdOf } from './access-log.ts';
import { sendJson, sendRpcError } from './http-response.ts';

/** The default error code and hint of a status. */
interface Usual {
  code: ErrorCode;
  hint: string;
}

const DESCRIBED = 'GET /api/openapi.json says what each route takes';
const USUAL: Readonly<Record<number, Usual>> = {
  400: { code: 'usage', hint: DESCRIBED },
  401: { code: 'auth', hint: 'send the header "Authorization: Bearer <token>" with a token of this gateway' },
  403: { code: 'refused', hint: 'the config of the gateway decides who may do what' },
  404: { code: 'not_found', hint: 'GET /api/openapi.json lists the routes, GET /api/status the profiles and servers' },
  405: { code: 'usage', hint: DESCRIBED },
  408: { code: 'timeout', hint: 'send the headers within 10 s and the whole request within 30 s' },
  409: { code: 'usage', hint: DESCRIBED },
  413: { code: 'usage', hint: '"http.maxBody" in the config is the bound' },
  414: { code: 'usage', hint: 'send a shorter URL' },
  415: { code: 'usage', hint: 'send JSON as it is, with the header "Content-Type: application/json"' },
  422: { code: 'arguments', hint: DESCRIBED },
  429: {
    code: 'overloaded',
    hint: 'wait for the seconds of the header Retry-After; "http.rate" in the config is the bound',
  },
  431: { code: 'usage', hint: 'send at most 16 KiB of headers' },
  499: { code: 'cancelled', hint: 'send it again' },
  502: { code: 'unreachable', hint: 'GET /api/status shows the state of the servers' },
  503: { code: 'overloaded', hint: 'wait for the seconds of the header Retry-After' },
  504: { code: 'timeout', hint: '"timeout" of the server in the config is the bound' },
};
const UNUSUAL: Usual = { code: 'failed', hint: 'the log of mcpx has more under this request id' };

/** The message of an error, and a hint if the default one of the status does not fit. */
export interface Reason {
  message: string;
  hint?: string;
}

export function unknownProfile(name: string, word: ProfileWord): Reason {
  return { message: `no ${word} is called "${asName(name)}"`, hint: `GET /api/status lists the ${word}s` };
}

export function disabledProfile(name: string, word: ProfileWord): Reason {
  const hint = `set "enabled": true for it under "${word}s" in the config`;
  return { message: `the ${word} "${name}" is disabled`, hint };
}

type Headers = Record<string, string>;

/** Sends an error on a REST route. */
export function sendError(response: ServerResponse, status: number, why: string | Reason, headers: Headers = {}): void {
  sendJson(response, status, errorBody(status, why, requestIdOf(response)), headers);
}

export function errorBody(
  status: number,
  why: string | Reason,
  requestId: string | undefined,
): Record<string, unknown> {
  const { message, hint } = typeof why === 'string' ? { message: why } : why;
  const usual = USUAL[status] ?? UNUSUAL;
  return { error: message, code: usual.code, hint: hint ?? usual.hint, requestId };
}

/** Sends an error on any route, in the format of its clients; `rpc` is the code of the JSON-RPC error. */
export function rejectRequest(
  response: ServerResponse,
  status: number,
  why: string | (Reason & { rpc?: number; id?: Id | undefined }),
  headers: Headers = {},
): void {
  const { message, hint, rpc = INVALID_REQUEST, id = null } = typeof why === 'string' ? { message: why } : why;
  const forMcp = { code: rpc, message, id, ...(hint && { data: { hint } }) };
  if (isMcp(response.req.url ?? '')) sendRpcError(response, status, forMcp, headers);
  else sendError(response, status, { message, ...(hint && { hint }) }, headers);
}

/** Returns true if the route is read by an MCP client. */
function isMcp(url: string): boolean {
  return /^\/(?:mcp|sse|messages)(?:[/?]|$)|^\/api\/[^/?]+\/mcp\/?(?:\?|$)/.test(url);
}

/** Statuses that differ from the default ones on a route. */
export type Statuses = Partial<Record<ErrorCode, number>>;

/** Sends a caught error on a REST route: the status tells its kind, the body has the hint. */
export function sendFailure(response: ServerResponse, failure: unknown, statuses: Statuses = {}): void {
  const { status, ...words } = describeFailure(failure, { ...HTTP_CODES, ...statuses });
  const hint = words.hint ?? (USUAL[status] ?? UNUSUAL).hint;
  const body = { ...words, hint, requestId: requestIdOf(response) };
  sendJson(response, status, body, status === 503 || status === 429 ? { 'Retry-After': '1' } : {});
}

function describeFailure(
  failure: unknown,
  statuses: Record<ErrorCode, number>,
): Record<string, unknown> & { status: number; error: string; hint?: string | undefined } {
  // Of the server's own errors, only invalid params are a mistake of the client.
  if (failure instanceof RpcError) {
    const status = failure.code === INVALID_PARAMS ? 422 : 502;
    const hint = 'the server itself answered with this error';
    return { status, error: failure.message, code: 'upstream', hint, rpc: failure.code, data: failure.data };
  }
  const { code, message, hint, data } = toMcpxError(failure);
  const ownFault = code === 'overloaded' && isRecord(data) && data.exhausted === 'client';
  const status = ownFault ? 429 : statuses[code];
  // The details of an internal error are only logged.
  if (code === 'failed' && !(failure instanceof McpxError)) return { status, error: 'internal error', code };
  const problems = isRecord(data) && Array.isArray(data.problems) ? { problems: data.problems } : {};
  // The lines after the first quote a file or repeat the problems.
  return { status, error: message.split('\n')[0] ?? '', code, hint, ...problems };
}
