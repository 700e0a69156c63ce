/** A bounded amount that many holders share: none of them can take so much that nothing is left for the others. */

/** Which bound was reached: that of the holder, or that of all together. */
export type Exhausted = 'share' | 'total';

export interface Shares {
  readonly limit: number;
  /** The part that nobody has. */
  readonly left: number;
  /** The part that one holder has. */
  of(holder: string | undefined): number;
  /** Takes so much (default 1); where a bound is in the way nothing is taken, and the bound is returned. Without a holder only the total counts. */
  take(holder: string | undefined, amount?: number): Exhausted | undefined;
  give(holder: string | undefined, amount?: number): void;
}

/** How many times as much as is left one holder may have. */
const WEIGHT = 3;

/** Whether a holder that has so much may have more where so much is left. */
export function isWithinShare(has: number, left: number, amount = 1): boolean {
  return has + amount <= WEIGHT * left;
}

/**
 * A holder may have at most three times as much as is left for everybody else, the "dynamic threshold" of shared buffers in switches:
 * one busy holder gets three quarters of the limit, two get 3/7 each, n get 3/(3n+1), and there is always something left for the next.
 * The limit may change; what is taken stays taken.
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

/** Numbers by name; those that are zero take no memory. */
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

/** The key of a token as a holder, which is also how messages name it. */
export function tokenHolder(name: string): string {
  return `token "${name}"`;
}

/** The key of a client that has a session and no token. */
export function sessionHolder(key: string): string {
  return `session ${key}`;
}

/** Clients that have neither are told apart by their address. */
export function addressHolder(address: string): string {
  return `address ${address}`;
}

/** A holder as messages for its own client name it. */
export function nameOfHolder(holder: string): string {
  return holder.startsWith('session ') ? 'this session' : holder;
}
