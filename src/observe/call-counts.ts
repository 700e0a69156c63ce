/** Counts calls and failed calls since the start, in memory. */
import { type CallRecord, isUnreached } from './observer.ts';

export interface Stats {
  record(call: Pick<CallRecord, 'outcome'>): void;
  snapshot(): { calls: number; errors: number };
}

export function createStats(): Stats {
  let calls = 0;
  let errors = 0;
  return {
    record({ outcome }) {
      if (isUnreached(outcome)) return;
      calls += 1;
      if (outcome !== 'ok') errors += 1;
    },
    snapshot: () => ({ calls, errors }),
  };
}
