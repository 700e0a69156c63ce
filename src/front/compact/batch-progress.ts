/** Combines the progress of several calls into one progress value that only increases. */
import type { Params } from '../../wire/message.ts';

export interface SharedProgress {
  /** Returns the progress handler of call `index`, in place of the client's own. */
  of(index: number): { progress: (params: Params) => void };
  done(index: number): void;
}

/** The minimum increase per notification, too small to be visible; heartbeats are progress too. */
const LEAST_STEP = 1e-6;

export function shareProgress(calls: number, send: ((params: Params) => void) | undefined): SharedProgress | undefined {
  if (send === undefined) return undefined;
  const parts = Array.from({ length: calls }, () => 0);
  let last = 0;
  const tell = (message: unknown) => {
    const sum = parts.reduce((total, part) => total + part, 0);
    last = Math.min(calls, Math.max(sum, last + LEAST_STEP));
    send({ progress: last, total: calls, ...(typeof message === 'string' && { message }) });
  };
  return {
    of: (index) => ({
      progress({ progress, total, message }) {
        const part = Number(progress) / Number(total);
        if (part > (parts[index] ?? 0)) parts[index] = Math.min(part, 0.99);
        tell(typeof message === 'string' ? `[${index}] ${message}` : undefined);
      },
    }),
    done(index) {
      parts[index] = 1;
      tell(undefined);
    },
  };
}
