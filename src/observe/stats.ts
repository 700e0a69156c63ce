/** How many calls there were since the start, and how many failed; in memory. */
import type { CallRecord } from './observer.ts';

export interface Stats {
  record(call: Pick<CallRecord, 'outcome'>): void;
  snapshot(): { calls: number; errors: number };
}

export function createStats(): Stats {
  let calls = 0;
  let errors = 0;
  return {
    record({ outcome }) {
      // What nobody may use does not exist, and is not counted either.
      if (outcome === 'denied') return;
      calls += 1;
      if (outcome !== 'ok') errors += 1;
    },
    snapshot: () => ({ calls, errors }),
  };
}
