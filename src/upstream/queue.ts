/** A bound on how much runs at once: first come, first served, with a bounded line. */
import { McpxError } from '../errors.ts';

export interface Slots {
  /** Undefined when there is room at once (the common case costs no promise); otherwise resolves when it is this one's turn. */
  enter(wait?: Wait): Promise<void> | undefined;
  leave(): void;
  readonly active: number;
  readonly waiting: number;
}

export interface Wait {
  signal?: AbortSignal | undefined;
  /** ms in the line at most. */
  timeout?: number | undefined;
}

export interface SlotsOptions {
  /** How many run at once. */
  limit: number;
  /** How many may wait (default: any number). */
  maxWaiting?: number;
  /** What is waited for, for messages, such as `server "github"`. */
  subject: string;
}

interface Waiting {
  admit(): void;
  refuse(error: McpxError): void;
}

export function createSlots({ limit, maxWaiting = Number.POSITIVE_INFINITY, subject }: SlotsOptions): Slots {
  // Sets keep their order and forget any member in constant time.
  const line = new Set<Waiting>();
  let active = 0;

  const join = (wait: Wait) =>
    new Promise<void>((resolve, reject) => {
      const { signal, timeout } = wait;
      const leaveLine = () => {
        line.delete(entry);
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
      };
      const entry: Waiting = {
        admit() {
          leaveLine();
          active += 1;
          resolve();
        },
        refuse(error) {
          leaveLine();
          reject(error);
        },
      };
      const onAbort = () => entry.refuse(new McpxError('cancelled', `the call to ${subject} was cancelled`));
      const onTimeout = () => entry.refuse(overloaded(`the call waited ${timeout} ms for its turn`));
      const timer = timeout === undefined ? undefined : setTimeout(onTimeout, Math.min(timeout, 2 ** 31 - 1));
      signal?.addEventListener('abort', onAbort, { once: true });
      line.add(entry);
    });

  const overloaded = (why: string) =>
    new McpxError('overloaded', `${subject} is overloaded: ${why}`, {
      hint: 'try again later, or raise "concurrency"',
    });

  return {
    get active() {
      return active;
    },
    get waiting() {
      return line.size;
    },
    enter(wait = {}) {
      if (active < limit) {
        active += 1;
        return undefined;
      }
      if (wait.signal?.aborted)
        return Promise.reject(new McpxError('cancelled', `the call to ${subject} was cancelled`));
      if (line.size >= maxWaiting) return Promise.reject(overloaded(`${line.size} calls wait already`));
      return join(wait);
    },
    leave() {
      active -= 1;
      const next = line.values().next();
      if (!next.done) next.value.admit();
    },
  };
}
