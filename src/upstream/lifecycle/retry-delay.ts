/** The delay before the next connection attempt: exponential backoff with jitter. */

/** The longest pause between two attempts in ms. */
const LONGEST = 30_000;
const JITTER = 0.2;
/** Milliseconds after which a connection is stable, so that its next failure counts as the first. */
export const STABLE_AFTER = 10_000;

/** Returns the ms before the next attempt: the interval, doubled with each failure, with ±20 % jitter. */
export function retryDelay(failures: number, interval: number, random: () => number = Math.random): number {
  const base = Math.min(interval * 2 ** Math.max(0, failures - 1), Math.max(LONGEST, interval));
  return Math.round(base * (1 - JITTER + 2 * JITTER * random()));
}
