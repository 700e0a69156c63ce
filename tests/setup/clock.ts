/** A clock that the test moves, for what depends on time. */
import { vi } from 'vitest';

/** Stops timeouts and clocks until the test advances them; `vi.useRealTimers` ends it. Intervals go on. */
export function stopClock(): void {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] });
}

/** Moves a stopped clock until `work` is done, and returns by how many ms. Only for work within this process: other processes and sockets keep their own time. */
export async function passTime(work: Promise<unknown>): Promise<number> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  const since = Date.now();
  while (!over) await vi.advanceTimersByTimeAsync(5);
  return Date.now() - since;
}
