/** Sends requests whose result nobody waits for: a refusal is logged. */
import { messageOf } from '../errors.ts';
import type { Log } from '../observe/log.ts';
import type { CallOptions } from '../upstream/call-options.ts';
import type { Connection } from '../upstream/connection-interface.ts';
import type { Params } from '../wire/message.ts';

export interface BackgroundRequest extends Pick<CallOptions, 'client' | 'bypassQueue'> {
  method: string;
  params: Params;
}

/** Sends a request to a connection that is ready; others get the current state when they connect. Resolves with false if it was refused. */
export async function requestInBackground(
  connection: Connection,
  { method, params, ...options }: BackgroundRequest,
  log: Log,
): Promise<boolean> {
  if (connection.state.kind !== 'ready') return false;
  try {
    await connection.request(method, params, options);
    return true;
  } catch (error) {
    log.debug(`${method} was refused: ${messageOf(error)}`, { server: connection.name });
    return false;
  }
}
