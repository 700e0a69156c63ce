/** How many wrong tokens one address may try: a bounded table of counts. It decides nothing about right ones. */

export interface WrongTokens {
  /** Counts one more from that address. Undefined while there were few; else how long further ones are refused, and whether this is the first of them. */
  count(address: string): Braked | undefined;
}

export interface Braked {
  /** Seconds. */
  wait: number;
  first: boolean;
}

export interface WrongTokensOptions {
  /** Tries per minute that are answered as ever. */
  limit?: number;
  /** Addresses that are remembered; the one that was heard of first is forgotten first. */
  maxAddresses?: number;
  /** Monotonic ms. */
  now?: () => number;
}

const LIMIT = 20;
const MAX_ADDRESSES = 10_000;
/** ms. */
const WINDOW = 60_000;

export function createWrongTokens({
  limit = LIMIT,
  maxAddresses = MAX_ADDRESSES,
  now = () => performance.now(),
}: WrongTokensOptions = {}): WrongTokens {
  const tries = new Map<string, { count: number; until: number }>();
  return {
    count(address) {
      const key = networkOf(address);
      const time = now();
      let entry = tries.get(key);
      if (entry === undefined || entry.until <= time) {
        tries.delete(key);
        const [oldest] = tries.keys();
        if (tries.size >= maxAddresses && oldest !== undefined) tries.delete(oldest);
        entry = { count: 0, until: time + WINDOW };
        tries.set(key, entry);
      }
      entry.count += 1;
      if (entry.count <= limit) return undefined;
      return { wait: Math.max(1, Math.ceil((entry.until - time) / 1000)), first: entry.count === limit + 1 };
    },
  };
}

/** A host has a whole /64 of IPv6 to itself: its first four groups. */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (tail !== undefined && groups.length + after < 8 && groups.length < 4) groups.push('0');
  return `${groups.slice(0, 4).join(':')}::/64`;
}
