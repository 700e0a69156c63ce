/** A bound on how much runs at once: who waits takes turns by key, first come, first served within one, with a bounded line. */
import { McpxError } from '../errors.ts';
import { createCounts, isWithinShare } from '../policy/shares.ts';

export interface Slots {
  /** Undefined when there is room at once (the common case costs no promise); otherwise resolves when it is this one's turn. */
  enter(wait?: Wait): Promise<void> | undefined;
  /** With the same holder. */
  leave(holder?: string): void;
  readonly active: number;
  readonly waiting: number;
}

export interface Wait {
  signal?: AbortSignal | undefined;
  /** ms in the line at most. */
  timeout?: number | undefined;
  /** Those with the same key form one line; the lines take turns, so that a busy one delays no other. */
  key?: string | undefined;
  /** Whose share of the slots it takes, see `policy/shares.ts`; absent: it may take all of them. Those of one key have one holder. */
  holder?: string | undefined;
  /** Takes no turn: somebody who has one waits for it. */
  ahead?: boolean | undefined;
}

export interface SlotsOptions {
  /** How many run at once. */
  limit: number;
  /** How many may wait in all (default: any number). */
  maxWaiting?: number;
  /** What is waited for, for messages, such as `server "github"`. */
  subject: string;
}

interface Waiting {
  holder: string | undefined;
  admit(): void;
  refuse(error: McpxError): void;
}

/** Timers beyond this fire at once in Node. */
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
      if (wait.ahead || isFree(wait.holder)) {
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
  /** Whose turn it is among those for whom there is a slot; stays in its line until it is removed. */
  next(isFree: (holder: string | undefined) => boolean): Waiting | undefined;
}

/** Maps and sets keep their order and forget any member in constant time: the first line is the one whose turn it is. */
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
