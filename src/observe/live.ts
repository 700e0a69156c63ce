/** The calls that are under way just now. */
import { InFlight } from '../in-flight.ts';
import type { Call, Happening } from './observer.ts';

export interface LiveCalls {
  hear(happening: Happening): void;
  /** The oldest first. */
  list(): Call[];
}

export function createLiveCalls(): LiveCalls {
  const calls = new InFlight<Call>();
  return {
    hear(happening) {
      if (happening.type === 'call_began') calls.set(happening.call.id, happening.call);
      else if (happening.type === 'call_ended') calls.delete(happening.call.id);
    },
    list: () => calls.values(),
  };
}
