/** How fast: pure decisions over counters and clocks. How much at once is in `shares.ts`. */

/** So many per second, each key on its own account. */
export interface Rate {
  /** Takes `count` at once; where that is too fast, the seconds after which it may be tried again, and nothing is taken. */
  take(key: string, count?: number): number | undefined;
  /** Takes `count` for what was let in already; what is missing is paid off before the next. */
  charge(key: string, count: number): void;
}

export interface RateOptions {
  /** Per second, greater than zero. A second's worth may come in a burst, and never less than one. */
  rate: number;
  /** Monotonic ms. */
  now?: () => number;
}

/** Keys are names from the config, so that their number is bounded. */
export function createRate({ rate, now = () => performance.now() }: RateOptions): Rate {
  const burst = Math.max(1, rate);
  const accounts = new Map<string, { left: number; at: number }>();
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
      // More than a burst is let in on a full account, and paid off before the next.
      const needed = Math.min(count, burst);
      const enough = left >= needed;
      accounts.set(key, { left: enough ? left - count : left, at: time });
      return enough ? undefined : Math.max(1, Math.ceil((needed - left) / rate));
    },
  };
}

/** For `http.rate: null`. */
export const NO_RATE: Rate = { take: () => undefined, charge: () => undefined };
