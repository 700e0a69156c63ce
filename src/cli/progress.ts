/** Waits for servers: says on a terminal what is being waited for, when it takes a while, and ends when the command is told to. */
import { McpxError } from '../errors.ts';
import { note, paint } from './output.ts';

/** ms before a wait is worth a line. */
const PATIENCE = 500;

/** Rejects when `stop` is aborted, whatever the work does then. */
export async function whileWaiting<T>(text: string, work: Promise<T>, stop: AbortSignal): Promise<T> {
  const timer = process.stderr.isTTY === true ? setTimeout(() => note(paint('dim', `${text} …`)), PATIENCE) : undefined;
  let giveUp: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    giveUp = () => reject(new McpxError('cancelled', 'interrupted'));
    if (stop.aborted) giveUp();
    else stop.addEventListener('abort', giveUp, { once: true });
  });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    clearTimeout(timer);
    stop.removeEventListener('abort', giveUp);
  }
}

export function whileStarting<T>(server: string, work: Promise<T>, stop: AbortSignal): Promise<T> {
  return whileWaiting(`starting ${server}`, work, stop);
}
