/** The signal that cancels a request: the part of AbortSignal that mcpx uses, which is cheaper to create. */

export type CancelListener = ((event: Event) => void) | { handleEvent(event: Event): void };

/** Every AbortSignal is a CancelSignal. Node's functions and other people's code need an AbortSignal: `toAbortSignal`. */
export interface CancelSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: CancelListener, options?: { once?: boolean }): void;
  removeEventListener(type: 'abort', listener: CancelListener): void;
}

/**
 * Returns a genuine AbortSignal, which `fetch` and `AbortSignal.any` accept. Its reason is an AbortError as other code
 * expects it, with the reason of the peer as its message.
 */
export function toAbortSignal(signal: CancelSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = () => controller.abort(new DOMException(String(signal.reason), 'AbortError'));
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
  return controller.signal;
}
