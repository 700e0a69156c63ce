/** What ties a request that is sent upstream to the client on whose behalf it is: cancellation, questions, log messages, and how long it may take. */
import type { CallOptions, Connection, Reliance } from '../upstream/connection.ts';
import { asksForInput } from '../upstream/rounds.ts';
import type { Params } from '../wire/message.ts';
import { createHeartbeat } from './heartbeat.ts';
import type { Questioned, Way } from './request.ts';
import { passQuestions, towards, withServer } from './reverse.ts';

export interface Sending {
  /** Whether it may be sent again when the connection breaks under it. */
  repeatable: boolean;
  /** Whether the server may know of everything that the client can do. */
  transparent: boolean;
  /** Which answers may come in bytes: large ones only where nobody on the way looks at what is in them. */
  verbatim?: CallOptions['verbatim'];
  /** What must hold where it goes (default: nothing). */
  reliance?: Reliance;
}

/** A server answers this when the task is done, and not before; ms that it is given for that at least. */
const UNTIL_DONE = 'tasks/result';
const LONG = 10 * 60_000;

function tied(
  { name, spec: { timeout } }: Connection,
  method: string,
  way: Way & Questioned,
  { transparent, repeatable, verbatim, reliance }: Sending,
): CallOptions {
  const { asked, heard } = towards(name, way);
  const { caller, signal } = way;
  return {
    asked,
    heard,
    // One that takes questions as the result of a request takes them for that request only, which may be many calls.
    party: way.inputs ?? caller.key,
    caller: caller.key,
    client: caller,
    principal: caller.principal,
    transparent,
    inputs: way.questions === 'pass' ? way.inputs : undefined,
    repeatable,
    reliance,
    signal,
    timeout: method === UNTIL_DONE ? Math.max(timeout, LONG) : timeout,
    verbatim,
  };
}

/** Sends one request with everything that ties it to its client: cancellation, progress, questions. */
export function send(
  connection: Connection,
  method: string,
  params: Params,
  way: Way & Questioned,
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
