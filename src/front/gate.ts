/** Whether a client has said hello, and what is kept for it until it has. */

/** What waits until a client is ready for it; more than this is too old by then. */
const MAX_WAITING = 100;

export interface Gate {
  readonly isOpen: boolean;
  readonly opened: Promise<void>;
  /** Does something as soon as it is open. */
  later(work: () => void): void;
  forget(): void;
  open(): void;
}

export function createGate(): Gate {
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
