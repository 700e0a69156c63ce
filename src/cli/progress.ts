/** Waits for servers: shows on a terminal what a long wait is for, and ends when the command is stopped. */
import { environmentOf, isAutomated, lookup } from '../config/environment.ts';
import { McpxError } from '../errors.ts';
import { inLanguage } from './language/language.ts';
import { showWait } from './output.ts';
import { status } from './status-lines.ts';

/** Milliseconds before a wait is shown. */
const PATIENCE = 200;

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
    if (process.stderr.isTTY === true && !over) timer = setTimeout(() => begun(`${inLanguage(text)} …`), PATIENCE);
  };
  const end = () => {
    clearTimeout(timer);
    showWait(undefined);
  };
  const aside: Aside = (asked) => {
    end();
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
    end();
    stop.removeEventListener('abort', giveUp);
  }
}

/** Shows a spinner; a line where nobody watches it, or on a terminal that cannot move its cursor. */
function begun(text: string): void {
  const world = environmentOf();
  if (isAutomated(world) || lookup('TERM', world) === 'dumb') status.start(text);
  else showWait(text);
}

export function whileStarting<T>(server: string, work: Promise<T>, stop: AbortSignal): Promise<T> {
  return whileWaiting(`starting ${server}`, work, stop);
}
