/** When to try again after a failure. */

/** ms; the longest pause between two tries. */
const LONGEST = 30_000;
const JITTER = 0.2;

/** Pause in ms before the next try: the first interval, doubled with each further failure, ±20 % so that many do not come back at once. */
export function retryDelay(failures: number, interval: number, random: () => number = Math.random): number {
  const base = Math.min(interval * 2 ** Math.max(0, failures - 1), Math.max(LONGEST, interval));
  return Math.round(base * (1 - JITTER + 2 * JITTER * random()));
}
