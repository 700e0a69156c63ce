/** Waits for servers: says on a terminal what is being waited for, when it takes a while, and ends when the command is told to. */
import { McpxError } from '../errors.ts';
import { note, paint } from './output.ts';

/** ms before a wait is worth a line. */
const PATIENCE = 500;

/** Waits for an answer that a person gives on the terminal, where a line in between would be in the way. */
export type Aside = <A>(asked: Promise<A>) => Promise<A>;

/** Rejects when `stop` is aborted, whatever the work does then. */
export async function whileWaiting<T>(
  text: string,
  work: Promise<T> | ((aside: Aside) => Promise<T>),
  stop: AbortSignal,
): Promise<T> {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    if (process.stderr.isTTY === true && !over) timer = setTimeout(() => note(paint('dim', `${text} …`)), PATIENCE);
  };
  const aside: Aside = (asked) => {
    clearTimeout(timer);
    return asked.finally(begin);
  };
  let giveUp: () => void = () => undefined;
  const stopped = new Promise<never>((_, reject) => {
    giveUp = () => reject(new McpxError('cancelled', 'interrupted'));
    if (stop.aborted) giveUp();
    else stop.addEventListener('abort', giveUp, { once: true });
  });
  begin();
  try {
    return await Promise.race([typeof work === 'function' ? work(aside) : work, stopped]);
  } finally {
    over = true;
    clearTimeout(timer);
    stop.removeEventListener('abort', giveUp);
  }
}

export function whileStarting<T>(server: string, work: Promise<T>, stop: AbortSignal): Promise<T> {
  return whileWaiting(`starting ${server}`, work, stop);
}
