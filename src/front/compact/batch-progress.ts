/** Combines the progress of several calls into one progress value that only increases. */
import type { Params } from '../../wire/message.ts';
import type { Place } from './batch.ts';

export interface SharedProgress {
  /** Returns the progress handler of a call, in place of the client's own. */
  of(place: Place): { progress: (params: Params) => void };
  done(place: Place): void;
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
  const reportOf = (index: number) => ({
    progress({ progress, total, message }: Params) {
      const part = Number(progress) / Number(total);
      if (part > (parts[index] ?? 0)) parts[index] = Math.min(part, 0.99);
      tell(typeof message === 'string' ? `[${index}] ${message}` : undefined);
    },
  });
  /** The elements of an `each` share the progress of their call. */
  const inner = new Map<number, SharedProgress | undefined>();
  const innerOf = ({ index, of }: Place) => {
    if (!inner.has(index)) inner.set(index, shareProgress(of ?? 1, reportOf(index).progress));
    return inner.get(index);
  };
  return {
    of: (place) => {
      const { index, element } = place;
      return (element === undefined ? undefined : innerOf(place)?.of({ index: element })) ?? reportOf(index);
    },
    done(place) {
      const { index, element } = place;
      if (element !== undefined) return innerOf(place)?.done({ index: element });
      parts[index] = 1;
      tell(undefined);
    },
  };
}
