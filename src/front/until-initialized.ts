/** Queues work until a client has completed the MCP handshake. */

/** Maximum number of queued notifications; further ones are dropped. */
const MAX_WAITING = 100;

export interface InitializedGuard {
  readonly isOpen: boolean;
  readonly opened: Promise<void>;
  /** Queues work until the client is initialized. */
  later(work: () => void): void;
  forget(): void;
  open(): void;
}

export function createInitializedGuard(): InitializedGuard {
  let isOpen = false;
  let resolve: () => void = () => undefined;
  const waiting: (() => void)[] = [];
  const opened = new Promise<void>((done) => {
    resolve = done;
  });
  return {
    get isOpen() {
      return isOpen;
    },
    opened,
    later: (work) => void (waiting.length < MAX_WAITING && waiting.push(work)),
    forget: () => void waiting.splice(0),
    open() {
      if (isOpen) return;
      isOpen = true;
      resolve();
      for (const work of waiting.splice(0)) work();
    },
  };
}
