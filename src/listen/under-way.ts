/** HTTP requests under way, looked at together a few times a second: a timer for each would cost more than most of what is done for it. */
import { InOrder, type Place } from '../in-flight.ts';
import type { Trace } from './trace.ts';

export interface UnderWay {
  add(trace: Trace): Place<Trace>;
  remove(place: Place<Trace>): void;
  close(): void;
}

/** ms between two looks. */
const LOOK = 125;
/** ms after which an answer is slow. */
const PATIENCE = 500;

/** `look` is called at every look, while there are any. */
export function createUnderWay(look: (all: Iterable<Trace>) => void): UnderWay {
  const all = new InOrder<Trace>();
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
