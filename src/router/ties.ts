/** What ties a request that is sent upstream to the client on whose behalf it is: cancellation, questions, log messages, and how long it may take. */
import type { CallOptions, Connection, Reliance } from '../upstream/connection.ts';
import type { Params } from '../wire/message.ts';
import { createHeartbeat } from './heartbeat.ts';
import type { Questioned, Way } from './request.ts';
import { towards, withServer } from './reverse.ts';

export interface Sending {
  /** Whether it may be sent again when the connection breaks under it. */
  repeatable: boolean;
  /** Whether the server may know of everything that the client can do. */
  transparent: boolean;
  /** Whether a large answer may come in bytes: only where nobody on the way looks at what is in it. */
  verbatim?: boolean | undefined;
  /** What must hold where it goes (default: nothing). */
  reliance?: Reliance;
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
  const { server, method, timeout, transparent, repeatable, verbatim, reliance } = sent;
  const { asked, heard } = towards(server, way);
  const { caller, signal } = way;
  return {
    asked,
    heard,
    // One that takes questions as the result of a request takes them for that request only.
    party: way.inputs === undefined ? caller.key : undefined,
    caller: caller.key,
    client: caller,
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
  const options = tied({ server: connection.name, method, timeout: connection.spec.timeout, ...sending }, way);
  if (way.progress === undefined) return connection.request(method, params, options);
  const heartbeat = createHeartbeat(way.progress);
  const progress = (params: Params) => heartbeat.progress(withServer(connection.name, params));
  return connection.request(method, params, { ...options, progress }).finally(() => heartbeat.stop());
}
