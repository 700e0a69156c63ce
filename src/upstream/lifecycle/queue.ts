/** A concurrency limit with a bounded queue: first in, first out per key, and round robin between keys. */
import type { CancelSignal } from '../../cancel-signal.ts';
import { McpxError } from '../../errors.ts';
import { createCounts, isWithinShare } from '../../policy/shares.ts';

export interface Slots {
  /**
   * Returns undefined if a slot is free (the common case needs no promise); otherwise resolves when a slot is assigned.
   */
  enter(wait?: Wait): Promise<void> | undefined;
  /** Frees a slot; `holder` has to be the one passed to `enter`. */
  leave(holder?: string): void;
  readonly active: number;
  readonly waiting: number;
}

export interface Wait {
  signal?: CancelSignal | undefined;
  /** The maximum time in the queue in ms. */
  timeout?: number | undefined;
  /** Entries with the same key form one queue; the queues alternate, so that a busy client does not delay others. */
  key?: string | undefined;
  /**
   * The holder whose share of the slots is used, see `policy/shares.ts`; undefined: no share limit. Entries with one
   * key have one holder.
   */
  holder?: string | undefined;
  /** Bypasses the limit; for requests that a running call waits for. */
  bypass?: boolean | undefined;
}

export interface SlotsOptions {
  /** The number of slots. */
  limit: number;
  /** The maximum number of waiting entries (default: unlimited). */
  maxWaiting?: number;
  /** The subject of error messages, such as `server "github"`. */
  subject: string;
}

interface Waiting {
  holder: string | undefined;
  admit(): void;
  refuse(error: McpxError): void;
}

/** The longest delay of a Node timer; a longer one fires at once. */
const LONGEST_TIMER = 2 ** 31 - 1;

export function createSlots({ limit, maxWaiting = Number.POSITIVE_INFINITY, subject }: SlotsOptions): Slots {
  const lines = createLines();
  const held = createCounts();
  let active = 0;

  const cancelled = () => new McpxError('cancelled', `the call to ${subject} was cancelled`);
  const overloaded = (why: string) =>
    new McpxError('overloaded', `${subject} is overloaded: ${why}`, {
      hint: 'try again later, or raise "concurrency"',
    });

  const isFree = (holder: string | undefined) =>
    active < limit && (holder === undefined || isWithinShare(held.of(holder), limit - active));
  const take = (holder: string | undefined) => {
    active += 1;
    if (holder !== undefined) held.add(holder, 1);
  };

  const join = ({ signal, timeout, key = '', holder }: Wait) =>
    new Promise<void>((resolve, reject) => {
      const leaveLine = () => {
        lines.remove(key, entry);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const entry: Waiting = {
        holder,
        admit() {
          leaveLine();
          take(holder);
          resolve();
        },
        refuse(error) {
          leaveLine();
          reject(error);
        },
      };
      const onAbort = () => entry.refuse(cancelled());
      const onTimeout = () => entry.refuse(overloaded(`the call waited ${timeout} ms for its turn`));
      const timer = timeout === undefined ? undefined : setTimeout(onTimeout, Math.min(timeout, LONGEST_TIMER));
      signal?.addEventListener('abort', onAbort, { once: true });
      lines.add(key, entry);
    });

  return {
    get active() {
      return active;
    },
    get waiting() {
      return lines.size;
    },
    enter(wait = {}) {
      if (wait.bypass || isFree(wait.holder)) {
        take(wait.holder);
        return undefined;
      }
      if (wait.signal?.aborted) return Promise.reject(cancelled());
      if (lines.size >= maxWaiting) return Promise.reject(overloaded(`${lines.size} calls wait already`));
      return join(wait);
    },
    leave(holder) {
      active -= 1;
      if (holder !== undefined) held.add(holder, -1);
      if (lines.size > 0) lines.next(isFree)?.admit();
    },
  };
}

interface Lines {
  readonly size: number;
  add(key: string, entry: Waiting): void;
  remove(key: string, entry: Waiting): void;
  /** Returns the next entry that may take a slot; the entry stays queued until it is removed. */
  next(isFree: (holder: string | undefined) => boolean): Waiting | undefined;
}

/** Maps and sets keep insertion order and delete in constant time; the first queue in the map is the next one. */
function createLines(): Lines {
  const lines = new Map<string, Set<Waiting>>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(key, entry) {
      const line = lines.get(key) ?? new Set();
      lines.set(key, line.add(entry));
      size += 1;
    },
    remove(key, entry) {
      const line = lines.get(key);
      if (!line?.delete(entry)) return;
      size -= 1;
      if (line.size === 0) lines.delete(key);
    },
    next(isFree) {
      for (const [key, line] of lines) {
        const [first] = line;
        if (first === undefined || !isFree(first.holder)) continue;
        lines.delete(key);
        lines.set(key, line);
        return first;
      }
      return undefined;
    },
  };
}
