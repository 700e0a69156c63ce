/** Runs `initialize` on the front of a modern request, so that the front knows the client. */
import type { CancelSignal } from '../../cancel-signal.ts';
import type { Envelope } from '../../mcp/envelope.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { Session } from '../app-api.ts';

export async function introduce({ front }: Session, envelope: Envelope, signal: CancelSignal): Promise<Params> {
  const { capabilities, clientInfo, logLevel } = envelope;
  const initialized = await front.request({ method: 'initialize', params: { capabilities, clientInfo } }, { signal });
  if (logLevel !== undefined && !signal.aborted)
    await front.request({ method: 'logging/setLevel', params: { level: logLevel } }, { signal }).catch(() => undefined);
  return isRecord(initialized) ? initialized : {};
}
