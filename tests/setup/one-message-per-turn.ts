/** For clients of the official SDKs that are to hear of all progress. */
interface Receiving {
  onmessage?: ((message: any, extra?: any) => void) | undefined;
}

/**
 * Gives a connected client each message in a turn of its own. The SDKs run handlers of notifications in a later microtask and forget the
 * progress handler when the answer arrives, so they drop progress that arrives in one chunk with the answer, whichever server sent it.
 */
export function oneMessagePerTurn(carrier: Receiving): void {
  const { onmessage } = carrier;
  let last = Promise.resolve();
  carrier.onmessage = (message, extra) => {
    last = last.then(() => {
      onmessage?.(message, extra);
      return new Promise((resolve) => setImmediate(resolve));
    });
  };
}
