/** The delay before the next connection attempt: exponential backoff with jitter. */

import type { ServerSpec } from '../../config/config.ts';
import { type McpxError, signInData } from '../../errors.ts';

/** Milliseconds before a call retries a failure that only the user can fix, such as a missing command. */
const TERMINAL_PAUSE = 2000;
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

export interface Failures {
  failures: number;
  /** True if only the user can fix the cause. */
  terminal: boolean;
  reconnect: ServerSpec['reconnect'];
}

/** Returns the ms before the next attempt after a failure. */
export function pauseAfter(failure: McpxError, { failures, terminal, reconnect }: Failures): number {
  // The user may have signed in meanwhile, and a refused request is cheap, so the next call tries at once.
  if (signInData(failure)) return 0;
  if (terminal) return TERMINAL_PAUSE;
  // After maxRetries there is no automatic retry; the next call tries at once, then the backoff continues.
  return failures === reconnect.maxRetries + 1 ? 0 : Math.max(1, retryDelay(failures, reconnect.interval));
}
