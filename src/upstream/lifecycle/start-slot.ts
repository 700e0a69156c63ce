/** Limits concurrent starts: a start holds a slot until it has ended, or until it has taken too long. */
import type { Slots } from './queue.ts';

/** Milliseconds after which a pending start frees its slot: slow upstreams must not delay others. */
const MAX_HOLD = 250;

/** Runs a start in a slot. Without `slots`, starts are not limited. */
export async function inStartSlot<T>(
  slots: Slots | undefined,
  signal: AbortSignal,
  start: () => Promise<T>,
): Promise<T> {
  if (!slots) return start();
  await slots.enter({ signal });
  let isHeld = true;
  const leave = () => {
    if (isHeld) slots.leave();
    isHeld = false;
  };
  const timer = setTimeout(leave, MAX_HOLD);
  try {
    return await start();
  } finally {
    clearTimeout(timer);
    leave();
  }
}
