/** A concurrency limit with a bounded queue: first in, first out per key, and round robin between keys. */
import type { CancelSignal } from '../../cancel-signal.ts';
import { McpxError } from '../../errors.ts';
import { LONGEST_TIMER } from '../../event-loop.ts';
import { createCounts, isWithinShare } from '../../policy/shares.ts';
import { LinkedList, type ListNode } from '../../slot-map.ts';

export interface Slots {
  /** Takes a free slot; returns false if there is none. `holder` is the one of `Wait`. */
  take(holder?: string): boolean;
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

/** A waiting entry. It is the event listener of its own abort signal, because a closure for each costs memory. */
interface Waiting {
  handleEvent(this: Waiting): void;
  key: string;
  holder: string | undefined;
  signal: CancelSignal | undefined;
  timeout: number | undefined;
  /** Monotonic ms at which the wait ends. */
  due: number;
  resolve(): void;
  reject(error: McpxError): void;
  /** Its position while it waits. */
  place: ListNode<Waiting> | undefined;
}

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

  const leaveLine = (entry: Waiting) => {
    lines.remove(entry);
    entry.signal?.removeEventListener('abort', entry);
    if (lines.size === 0) alarm.stop();
  };
  const refuse = (entry: Waiting, error: McpxError) => {
    leaveLine(entry);
    entry.reject(error);
  };
  function onAbort(this: Waiting): void {
    refuse(this, cancelled());
  }
  const admit = (entry: Waiting) => {
    leaveLine(entry);
    take(entry.holder);
    entry.resolve();
  };
  /** Refuses the entries that have waited for too long; returns when the next one has. */
  const expire = (now: number): number => {
    let next = Number.POSITIVE_INFINITY;
    for (const entry of lines.entries()) {
      if (entry.due > now) next = Math.min(next, entry.due);
      else refuse(entry, overloaded(`the call waited ${entry.timeout} ms for its turn`));
    }
    return next;
  };
  const alarm = createAlarm(expire);

  const join = ({ signal, timeout, key = '', holder }: Wait) =>
    new Promise<void>((resolve, reject) => {
      const due = timeout === undefined ? Number.POSITIVE_INFINITY : performance.now() + timeout;
      const call = { key, holder, signal, timeout, due };
      const entry: Waiting = { handleEvent: onAbort, ...call, resolve, reject, place: undefined };
      signal?.addEventListener('abort', entry, { once: true });
      lines.add(entry);
      alarm.set(due);
    });

  return {
    get active() {
      return active;
    },
    get waiting() {
      return lines.size;
    },
    take(holder) {
      const isTaken = isFree(holder);
      if (isTaken) take(holder);
      return isTaken;
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
      const next = lines.size > 0 ? lines.next(isFree) : undefined;
      if (next !== undefined) admit(next);
    },
  };
}

interface Alarm {
  /** Sounds at this monotonic time in ms, or earlier. */
  set(at: number): void;
  stop(): void;
}

/** One timer for all entries. `ring` gets the time and returns when it is due next; a timer per entry is costly. */
function createAlarm(ring: (now: number) => number): Alarm {
  let timer: NodeJS.Timeout | undefined;
  let wakeAt = Number.POSITIVE_INFINITY;
  const set = (at: number) => {
    if (at >= wakeAt) return;
    clearTimeout(timer);
    wakeAt = at;
    timer = setTimeout(sound, Math.min(Math.max(0, Math.ceil(at - performance.now())), LONGEST_TIMER));
  };
  const sound = () => {
    wakeAt = Number.POSITIVE_INFINITY;
    set(ring(performance.now()));
  };
  return {
    set,
    stop() {
      clearTimeout(timer);
      wakeAt = Number.POSITIVE_INFINITY;
    },
  };
}

interface Lines {
  readonly size: number;
  add(entry: Waiting): void;
  remove(entry: Waiting): void;
  /** Returns all entries; the caller may remove them meanwhile. */
  entries(): Waiting[];
  /** Returns the next entry that may take a slot; the entry stays queued until it is removed. */
  next(isFree: (holder: string | undefined) => boolean): Waiting | undefined;
}

interface Line {
  entries: LinkedList<Waiting>;
  size: number;
}

/** A map keeps its order of insertion; the first line in the map is the next one. */
function createLines(): Lines {
  const lines = new Map<string, Line>();
  let size = 0;
  return {
    get size() {
      return size;
    },
    add(entry) {
      const line = lines.get(entry.key) ?? { entries: new LinkedList(), size: 0 };
      if (line.size === 0) lines.set(entry.key, line);
      entry.place = line.entries.add(entry);
      line.size += 1;
      size += 1;
    },
    remove(entry) {
      const { key, place } = entry;
      const line = lines.get(key);
      if (line === undefined || place === undefined) return;
      line.entries.remove(place);
      entry.place = undefined;
      line.size -= 1;
      size -= 1;
      if (line.size === 0) lines.delete(key);
    },
    entries: () => [...lines.values()].flatMap((line) => [...line.entries]),
    next(isFree) {
      for (const [key, line] of lines) {
        const { first } = line.entries;
        if (first === undefined || !isFree(first.holder)) continue;
        if (lines.size > 1) {
          lines.delete(key);
          lines.set(key, line);
        }
        return first;
      }
      return undefined;
    },
  };
}
