/** Limits the wrong tokens that one address may try, with a bounded table of counts. Valid tokens are not affected. */
import { BoundedMap } from '../bounded-map.ts';

export interface WrongTokens {
  /**
   * Counts a wrong token of an address. Returns undefined below the limit; otherwise the time for which further ones
   * are refused, and whether this is the first refusal.
   */
  count(address: string): Braked | undefined;
  /** True if further wrong tokens of an address are refused now. */
  isBraked(address: string): boolean;
}

export interface Braked {
  /** Seconds until the address may try again. */
  wait: number;
  first: boolean;
}

export interface WrongTokensOptions {
  /** Wrong tokens per minute that are answered without a delay. */
  limit?: number;
  /** Maximum number of addresses in the table; the oldest entry is dropped first. */
  maxAddresses?: number;
  /** Returns a monotonic time in milliseconds. */
  now?: () => number;
}

const LIMIT = 20;
const MAX_ADDRESSES = 10_000;
/** Milliseconds for which wrong tokens are counted. */
const WINDOW = 60_000;

export function createWrongTokens({
  limit = LIMIT,
  maxAddresses = MAX_ADDRESSES,
  now = () => performance.now(),
}: WrongTokensOptions = {}): WrongTokens {
  const tries = new BoundedMap<string, { count: number; until: number }>(maxAddresses);
  return {
    count(address) {
      const key = networkOf(address);
      const time = now();
      let entry = tries.get(key);
      if (entry === undefined || entry.until <= time) {
        entry = { count: 0, until: time + WINDOW };
        tries.set(key, entry);
      }
      entry.count += 1;
      if (entry.count <= limit) return undefined;
      return { wait: Math.max(1, Math.ceil((entry.until - time) / 1000)), first: entry.count === limit + 1 };
    },
    isBraked(address) {
      const entry = tries.get(networkOf(address));
      return entry !== undefined && entry.until > now() && entry.count > limit;
    },
  };
}

/**
 * Returns the network that is counted as one address: for IPv6 the /64 prefix, because a host usually has all of it.
 */
function networkOf(address: string): string {
  if (!address.includes(':')) return address;
  const [head = '', tail] = address.split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? 0 : tail.split(':').length;
  while (tail !== undefined && groups.length + after < 8 && groups.length < 4) groups.push('0');
  return `${groups.slice(0, 4).join(':')}::/64`;
}
