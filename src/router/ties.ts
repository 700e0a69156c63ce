/** What ties a request that is sent upstream to the client on whose behalf it is: cancellation, questions, log messages, and how long it may take. */
import type { CallOptions, Connection } from '../upstream/connection.ts';
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
  /** Whether a large answer may come in bytes: only where nobody on the way looks at what is in it. */
  verbatim?: boolean | undefined;
}

interface Sent extends Sending {
  server: string;
  method: string;
  /** ms, as the config says of the server. */
  timeout: number;
}

/** A server answers this when the task is done, and not before; ms that it is given for that at least. */
const UNTIL_DONE = 'tasks/result';
const LONG = 10 * 60_000;

function tied(sent: Sent, way: Way & Questioned): CallOptions {
  const { server, method, timeout, transparent, repeatable, verbatim } = sent;
  const { asked, heard } = towards(server, way);
  const { caller, signal } = way;
  return {
    asked,
    heard,
    // One that takes questions as the result of a request takes them for that request only, which may be many calls.
    party: way.inputs ?? caller.key,
    caller: caller.key,
    client: caller,
    transparent,
    inputs: way.questions === 'pass' ? way.inputs : undefined,
    repeatable,
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
  const { name, spec } = connection;
  const options = tied({ server: name, method, timeout: spec.timeout, ...sending }, way);
  const passed = (result: unknown) => (asksForInput(result) ? passQuestions(name, result, way.caller) : result);
  const settled = (answer: Promise<unknown>) => (options.inputs === undefined ? answer : answer.then(passed));
  if (way.progress === undefined) return settled(connection.request(method, params, options));
  const heartbeat = createHeartbeat(way.progress);
  const progress = (params: Params) => heartbeat.progress(withServer(name, params));
  return settled(connection.request(method, params, { ...options, progress }).finally(() => heartbeat.stop()));
}
