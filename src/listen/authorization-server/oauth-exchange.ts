/** A request to an endpoint of the authorization server: its parameters within limits, and its responses. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../../errors.ts';
import type { Log } from '../../observe/log.ts';
import { sendJson } from '../http/http-response.ts';
import { readBody } from '../http/request-body.ts';
import { OAuthProblem } from './oauth-problem.ts';

export interface OAuthExchange {
  request: IncomingMessage;
  response: ServerResponse;
  query: URLSearchParams;
  /** The id of the request in logs. */
  id: string;
  /** The address of the sender, which cannot be forged. */
  address: string;
  /** The URL of the gateway as its clients know it, which is the issuer; no slash at the end. */
  base: string;
}

/** Bytes of a body; valid ones are much smaller. */
const MAX_BODY = 16 * 1024;

/** The parameters of a request: each occurs once, and an empty one counts as absent. */
export type Parameters = ReadonlyMap<string, string>;

/** Reads the body of a form. */
export async function readForm(exchange: OAuthExchange): Promise<Parameters> {
  return parametersOf(new URLSearchParams(await read(exchange, /^application\/x-www-form-urlencoded\s*(?:;|$)/i)));
}

export async function readJsonBody(exchange: OAuthExchange): Promise<unknown> {
  const text = await read(exchange, /^application\/json\s*(?:;|$)/i);
  try {
    return JSON.parse(text);
  } catch {
    throw new OAuthProblem('invalid_client_metadata', 'the body is not JSON');
  }
}

async function read({ request, response }: OAuthExchange, type: RegExp): Promise<string> {
  const { 'content-type': given = '', 'content-encoding': encoding = 'identity' } = request.headers;
  if (!type.test(given) || encoding !== 'identity')
    throw new OAuthProblem('invalid_request', `the Content-Type "${given}" is not supported here`, { status: 415 });
  const body = await readBody({ request, response }, MAX_BODY);
  if (body !== undefined) return body;
  throw new OAuthProblem('invalid_request', `the body has more than ${MAX_BODY / 1024} KiB`, { status: 413 });
}

/** https://www.rfc-editor.org/rfc/rfc6749#section-3.1 */
export function parametersOf(query: URLSearchParams): Parameters {
  const found = new Map<string, string>();
  for (const [name, value] of query) {
    if (found.has(name)) throw new OAuthProblem(duplicateError(name), `the parameter "${name}" occurs twice`);
    if (value !== '') found.set(name, value);
  }
  return found;
}

/** Several resources are valid, but one sign-in is for one gateway. https://www.rfc-editor.org/rfc/rfc8707#section-2 */
const duplicateError = (name: string) => (name === 'resource' ? 'invalid_target' : 'invalid_request');

/** Returns a parameter that must be there. */
export function required(parameters: Parameters, name: string): string {
  const value = parameters.get(name);
  if (value === undefined) throw new OAuthProblem('invalid_request', `the parameter "${name}" is missing`);
  return value;
}

/** Runs an endpoint that answers with JSON, and sends its errors. */
export async function answer(exchange: OAuthExchange, work: () => Promise<unknown>, status = 200): Promise<void> {
  try {
    const body = await work();
    sendJson(exchange.response, status, body ?? {}, NO_CACHE);
  } catch (error) {
    if (!(error instanceof OAuthProblem)) throw error;
    const close = error.status === 413 ? { Connection: 'close' } : {};
    const wait = error.wait === undefined ? {} : { 'Retry-After': String(error.wait) };
    const body = { error: error.error, error_description: quotable(error.message) };
    sendJson(exchange.response, error.status, body, { ...NO_CACHE, ...close, ...wait });
  }
}

/** Runs a change of the store. If it cannot be stored, the client may try again with the same code or token. */
export async function storeOrRefuse<T>({ log }: { log: Pick<Log, 'warn'> }, change: () => Promise<T>): Promise<T> {
  try {
    return await change();
  } catch (error) {
    if (error instanceof OAuthProblem) throw error;
    log.warn(`a change of the OAuth clients cannot be stored: ${messageOf(error)}`);
    throw new OAuthProblem('temporarily_unavailable', 'the gateway cannot store this now', { status: 503, wait: 5 });
  }
}

/** https://www.rfc-editor.org/rfc/rfc6749#section-5.1 */
const NO_CACHE = { Pragma: 'no-cache' };

/** Descriptions are printable ASCII without quotes. https://www.rfc-editor.org/rfc/rfc6749#section-5.2 */
export function quotable(text: string): string {
  return text.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/g, '?');
}
