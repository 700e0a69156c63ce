/** A start that follows after a pause and can be cancelled. */
import type { McpxError } from '../../errors.ts';

export interface DelayedStart<T> {
  promise: Promise<T>;
  cancel(error: McpxError): void;
}

export function startLater<T>(wait: number, begin: () => Promise<T>): DelayedStart<T> {
  let cancel: DelayedStart<T>['cancel'] = () => undefined;
  const promise = new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => void begin().then(resolve, reject), wait);
    // Callers have their own timers, so this one need not keep the process alive.
    timer.unref();
    cancel = (error) => {
      clearTimeout(timer);
      reject(error);
    };
  });
  promise.catch(() => undefined);
  return { promise, cancel };
}
