/** Limits how many child processes run at once, in total and per client; idle ones are stopped first to make room. */
import { McpxError } from '../../errors.ts';
import { createShares, type Exhausted, nameOfHolder } from '../../policy/shares.ts';

/** A running child that may be stopped while idle; the next call restarts it. */
export interface Stoppable {
  holder: string | undefined;
  /** Returns the monotonic ms since which the child is idle; undefined while it is in use. */
  idleSince(): number | undefined;
  /** Stops the child; resolves when it has ended. */
  stop(): Promise<void>;
}

export interface ChildLimit {
  /**
   * Takes the place of one process, waiting if necessary. Resolves with the function that releases it, to be called
   * once, or with an error if no place was free in time.
   */
  enter(holder: string | undefined, server: string, signal: AbortSignal): Promise<(() => void) | McpxError>;
  /** Registers a running child until the returned function is called. */
  add(child: Stoppable): () => void;
}

/** Milliseconds that a start waits for a place: stopping a process takes up to 3 s. */
const PATIENCE = 5000;

export interface ChildLimitOptions {
  limit: number | (() => number);
  /** Milliseconds that a start waits for a place. */
  patience?: number;
}

export function createChildLimit({ limit, patience = PATIENCE }: ChildLimitOptions): ChildLimit {
  const places = createShares(limit);
  const running = new Set<Stoppable>();
  const stopping = new Set<Stoppable>();
  const waiting = new Set<() => void>();

  const giveBack = (holder: string | undefined) => {
    places.give(holder);
    for (const wake of waiting) wake();
  };

  /** Resolves when a place was released, when the signal aborts, or after so many ms. */
  const given = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, ms);
      signal.addEventListener('abort', wake, { once: true });
      waiting.add(wake);
    });

  /**
   * A start may stop children of its own client; if the total limit is reached, also those of clients with more
   * processes.
   */
  const mayStop = (child: Stoppable, holder: string | undefined, exhausted: Exhausted) =>
    child.holder === holder ||
    (exhausted === 'total' && (holder === undefined || places.of(child.holder) > places.of(holder)));

  /** Stops one child per waiting start: the longest idle one of the holder with the most processes. */
  const makeRoom = (holder: string | undefined, exhausted: Exhausted) => {
    if (stopping.size > waiting.size) return;
    let longest: { child: Stoppable; has: number; since: number } | undefined;
    for (const child of running) {
      const since = stopping.has(child) || !mayStop(child, holder, exhausted) ? undefined : child.idleSince();
      if (since === undefined) continue;
      const has = places.of(child.holder);
      const isBetter = longest === undefined || has > longest.has || (has === longest.has && since < longest.since);
      if (isBetter) longest = { child, has, since };
    }
    if (longest === undefined) return;
    const { child } = longest;
    stopping.add(child);
    void child.stop().finally(() => stopping.delete(child));
  };

  return {
    async enter(holder, server, signal) {
      const until = performance.now() + patience;
      for (;;) {
        const exhausted = places.take(holder);
        if (exhausted === undefined) return () => giveBack(holder);
        const left = until - performance.now();
        if (left <= 0 || signal.aborted) return noRoom(server, exhausted, { holder, places });
        makeRoom(holder, exhausted);
        await given(left, signal);
      }
    },
    add(child) {
      running.add(child);
      return () => void running.delete(child);
    },
  };
}

interface Occupied {
  holder: string | undefined;
  places: { limit: number; of(holder: string | undefined): number };
}

function noRoom(server: string, exhausted: Exhausted, { holder, places }: Occupied): McpxError {
  const who =
    exhausted === 'share' && holder !== undefined
      ? `${nameOfHolder(holder)} has ${places.of(holder)} processes already, which is its share`
      : `${places.limit} processes run already`;
  return new McpxError('overloaded', `server "${server}" cannot be started: ${who}`, {
    hint: 'end sessions that are no longer needed, or raise "limits.children" in the config',
    data: { exhausted: exhausted === 'share' ? 'client' : 'gateway' },
  });
}
