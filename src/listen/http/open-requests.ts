/** Checks all open HTTP requests with one timer; a timer per request would cost more than handling most of them. */
import { LinkedList, type ListNode } from '../../slot-map.ts';
import type { RequestTrace } from './access-log.ts';

export interface OpenRequests {
  add(trace: RequestTrace): ListNode<RequestTrace>;
  remove(place: ListNode<RequestTrace>): void;
  close(): void;
}

/** Milliseconds between two checks. */
const LOOK = 125;
/** Milliseconds after which a response is slow. */
const PATIENCE = 500;

/** Calls `look` with all open requests at every check, as long as there are any. */
export function createOpenRequests(look: (all: Iterable<RequestTrace>) => void): OpenRequests {
  const all = new LinkedList<RequestTrace>();
  let timer: NodeJS.Timeout | undefined;

  const lookAround = () => {
    timer = undefined;
    const now = performance.now();
    for (const trace of all) if (now - trace.began >= PATIENCE) trace.isSlow();
    look(all);
    if (!all.isEmpty) schedule();
  };
  const schedule = () => {
    timer ??= setTimeout(lookAround, LOOK).unref();
  };

  return {
    add(trace) {
      schedule();
      return all.add(trace);
    },
    remove: (place) => all.remove(place),
    close: () => clearTimeout(timer),
  };
}
