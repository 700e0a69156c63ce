/** A bounded amount shared by many holders: no holder can take so much that nothing is left for the others. */

/** The bound that was reached: that of the holder, or the total. */
export type Exhausted = 'share' | 'total';

export interface Shares {
  readonly limit: number;
  /** The part that no holder has taken. */
  readonly left: number;
  /** Returns the part that one holder has taken. */
  of(holder: string | undefined): number;
  /**
   * Takes an amount (default 1). If it exceeds a bound, takes nothing and returns that bound. Without a holder only the
   * total counts.
   */
  take(holder: string | undefined, amount?: number): Exhausted | undefined;
  give(holder: string | undefined, amount?: number): void;
}

/** Maximum of a holder's part, as a multiple of the part that is left. */
const WEIGHT = 3;

/** True if a holder that has `has` may take `amount` more while `left` is free. */
export function isWithinShare(has: number, left: number, amount = 1): boolean {
  return has + amount <= WEIGHT * left;
}

/**
 * Creates shares in which a holder may have at most three times as much as is left, as with the "dynamic threshold" of
 * shared buffers in switches: one busy holder gets three quarters of the limit, two get 3/7 each, n get 3/(3n+1), and
 * something is always left for the next one. The limit may change; amounts that were taken stay taken.
 */
export function createShares(limit: number | (() => number)): Shares {
  const most = typeof limit === 'number' ? () => limit : limit;
  const held = createCounts();
  let taken = 0;
  return {
    get limit() {
      return most();
    },
    get left() {
      return most() - taken;
    },
    of: (holder) => (holder === undefined ? 0 : held.of(holder)),
    take(holder, amount = 1) {
      const left = most() - taken;
      if (amount > left) return 'total';
      if (holder !== undefined) {
        if (!isWithinShare(held.of(holder), left, amount)) return 'share';
        held.add(holder, amount);
      }
      taken += amount;
      return undefined;
    },
    give(holder, amount = 1) {
      taken -= amount;
      if (holder !== undefined) held.add(holder, -amount);
    },
  };
}

/** Numbers by name; zeros take no memory. */
export interface Counts {
  of(name: string): number;
  add(name: string, amount: number): void;
}

export function createCounts(): Counts {
  const counts = new Map<string, number>();
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    of,
    add(name, amount) {
      const count = of(name) + amount;
      if (count === 0) counts.delete(name);
      else counts.set(name, count);
    },
  };
}

/** Returns the key of a token as a holder, which is also its name in messages. */
export function tokenHolder(name: string): string {
  return `token "${name}"`;
}

/** Returns the key of a client that has a session and no token. */
export function sessionHolder(key: string): string {
  return `session ${key}`;
}

/** Returns the key of a client that has neither a token nor a session. */
export function addressHolder(address: string): string {
  return `address ${address}`;
}

/** Returns the name of a holder for messages to its own client. */
export function nameOfHolder(holder: string): string {
  return holder.startsWith('session ') ? 'this session' : holder;
}
