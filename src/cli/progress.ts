/** Waits for servers: prints a line on a terminal if the wait is long, and ends when the command is stopped. */
import { McpxError } from '../errors.ts';
import { status } from './status-lines.ts';

/** Milliseconds before a wait is reported. */
const PATIENCE = 500;

/** Waits for the user's answer on the terminal and prints no progress lines meanwhile. */
export type Aside = <A>(asked: Promise<A>) => Promise<A>;

/** Rejects when `stop` is aborted, even if the work has not ended. */
export async function whileWaiting<T>(
  text: string,
  work: Promise<T> | ((aside: Aside) => Promise<T>),
  stop: AbortSignal,
): Promise<T> {
  let over = false;
  let timer: NodeJS.Timeout | undefined;
  const begin = () => {
    if (process.stderr.isTTY === true && !over) timer = setTimeout(() => status.start(`${text} …`), PATIENCE);
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
