/** Rate limits: pure decisions over counters and clocks. Limits of concurrency are in `shares.ts`. */
import { BoundedMap } from '../bounded-map.ts';

/** A token bucket per key. */
export interface Rate {
  /** Takes `count` units. If too few are left, takes nothing and returns the seconds to wait before a retry. */
  take(key: string, count?: number): number | undefined;
  /** Takes `count` units for a request that was already admitted; a deficit delays the next request. */
  charge(key: string, count: number): void;
}

export interface RateOptions {
  /** Units per second, greater than zero. The burst is the units of one second, and at least one. */
  rate: number;
  /** Returns a monotonic time in milliseconds. */
  now?: () => number;
}

/** Maximum number of keys; a dropped one begins again with a full bucket. Clients with OAuth come and go. */
const MAX_KEYS = 10_000;

/** Creates a rate limit. */
export function createRate({ rate, now = () => performance.now() }: RateOptions): Rate {
  const burst = Math.max(1, rate);
  const accounts = new BoundedMap<string, { left: number; at: number }>(MAX_KEYS);
  const standing = (key: string, time: number) => {
    const account = accounts.get(key) ?? { left: burst, at: time };
    return Math.min(burst, account.left + ((time - account.at) * rate) / 1000);
  };
  return {
    charge(key, count) {
      const time = now();
      accounts.set(key, { left: standing(key, time) - count, at: time });
    },
    take(key, count = 1) {
      const time = now();
      const left = standing(key, time);
      // A request of more than a burst is admitted if the bucket is full; the deficit delays the next one.
      const needed = Math.min(count, burst);
      const enough = left >= needed;
      accounts.set(key, { left: enough ? left - count : left, at: time });
      return enough ? undefined : Math.max(1, Math.ceil((needed - left) / rate));
    },
  };
}

/** No limit, for `http.rate: null`. */
export const NO_RATE: Rate = { take: () => undefined, charge: () => undefined };
