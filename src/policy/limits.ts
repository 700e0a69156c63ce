/** How much at once and how fast: pure decisions over counters and clocks. */

/** So many at once, and not one more. */
export interface Gate {
  readonly limit: number;
  readonly inside: number;
  /** False where it is full; whoever was let in leaves once. */
  enter(): boolean;
  leave(): void;
}

/** The limit may change; whoever is inside stays. */
export function createGate(limit: number | (() => number)): Gate {
  const most = typeof limit === 'number' ? () => limit : limit;
  let inside = 0;
  return {
    get limit() {
      return most();
    },
    get inside() {
      return inside;
    },
    enter() {
      if (inside >= most()) return false;
      inside += 1;
      return true;
    },
    leave() {
      inside -= 1;
    },
  };
}

/** So much at once, in parts of any size. */
export interface Budget {
  /** False where there is not as much left. */
  take(amount: number): boolean;
  give(amount: number): void;
}

export function createBudget(limit: number): Budget {
  let left = limit;
  return {
    take(amount) {
      if (amount > left) return false;
      left -= amount;
      return true;
    },
    give(amount) {
      left += amount;
    },
  };
}

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
