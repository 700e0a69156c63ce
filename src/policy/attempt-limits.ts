/** Limits attempts per minute, such as passwords and registrations, for each address and in total. */
import { createWrongTokens } from './wrong-tokens.ts';

/** Counts an attempt of an address. Returns the seconds to wait if it is over a limit; it must then not be processed. */
export type AttemptLimits = (address: string) => number | undefined;

export interface AttemptLimitOptions {
  /** Attempts per minute of one address, and of all together. */
  perAddress: number;
  total: number;
  /** Returns a monotonic time in milliseconds. */
  now?: () => number;
}

export function createAttemptLimits({ perAddress, total, now }: AttemptLimitOptions): AttemptLimits {
  const clock = now === undefined ? {} : { now };
  const own = createWrongTokens({ limit: perAddress, ...clock });
  const all = createWrongTokens({ limit: total, ...clock });
  // An attempt that is refused for its address does not use up the total, so one address cannot lock out the others.
  return (address) => (own.count(address) ?? all.count('all'))?.wait;
}
