/** Sends a request upstream with the client's cancellation, progress, timeout and server-to-client requests. */

import { asksForInput } from '../mcp/multi-round-trip.ts';
import type { CallOptions, Precondition } from '../upstream/call-options.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Params } from '../wire/message.ts';
import { createHeartbeat } from './heartbeat.ts';
import type { Questioned, RequestContext } from './request-context.ts';
import { passQuestions, toClient, withServer } from './server-requests.ts';

export interface Sending {
  /** True if the request may be retried after the connection breaks. */
  repeatable: boolean;
  /** True if the server may see all capabilities of the client. */
  transparent: boolean;
  /** Results that are returned as unparsed bytes; only where mcpx does not read them. */
  verbatim?: CallOptions['verbatim'];
  /** The condition that the connection must meet before the request is sent (default: none). */
  precondition?: Precondition;
}

/** The method that a server answers only when the task has finished, and its minimum timeout in milliseconds. */
const UNTIL_DONE = 'tasks/result';
const LONG = 10 * 60_000;

function tied(
  { name, spec: { timeout } }: Connection,
  method: string,
  way: RequestContext & Questioned,
  { transparent, repeatable, verbatim, precondition }: Sending,
): CallOptions {
  const { onServerRequest, onNotification } = toClient(name, way);
  const { caller, signal } = way;
  return {
    onServerRequest,
    onNotification,
    conversation: way.conversation ?? caller.key,
    client: caller,
    transparent,
    inputs: way.questions === 'pass' ? way.inputs : undefined,
    repeatable,
    precondition,
    signal,
    timeout: method === UNTIL_DONE ? Math.max(timeout, LONG) : timeout,
    verbatim,
  };
}

/** Sends one request; cancellation, progress and input requests reach the client that made it. */
export function dispatch(
  connection: Connection,
  method: string,
  params: Params,
  way: RequestContext & Questioned,
  sending: Sending,
): Promise<unknown> {
  const options = tied(connection, method, way, sending);
  const answer =
    way.progress === undefined
      ? connection.request(method, params, options)
      : requestWithProgress(connection, method, params, { ...options, progress: way.progress });
  if (options.inputs === undefined) return answer;
  return answer.then((result) => (asksForInput(result) ? passQuestions(connection.name, result, way) : result));
}

function requestWithProgress(
  connection: Connection,
  method: string,
  params: Params,
  options: CallOptions & Required<Pick<CallOptions, 'progress'>>,
): Promise<unknown> {
  const heartbeat = createHeartbeat(options.progress);
  const progress = (params: Params) => heartbeat.progress(withServer(connection.name, params));
  return connection.request(method, params, { ...options, progress }).finally(() => heartbeat.stop());
}
