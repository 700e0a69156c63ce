/** Notices that the user has signed in with another process: looks at the file with the tokens while a server waits for it. */

export interface SignInWatch {
  /** Waits until a server has a token, and another one than `refused`. */
  wait(waiting: WaitingServer): void;
  /** Calls the listener with the name of each server that has got a token. Without listeners nothing is watched. */
  onSignIn(listener: (server: string) => void): () => void;
  stop(): void;
}

export interface WaitingServer {
  name: string;
  url: string;
  /** The access token that the server no longer accepts. */
  refused: string | undefined;
  /** Returns the stored access token. It is called once per second, so it must be cheap. */
  current(): string | undefined;
}

/** Milliseconds between two looks at the file. */
const INTERVAL = 1000;

export function createSignInWatch(): SignInWatch {
  const waiting = new Map<string, WaitingServer>();
  const listeners = new Set<(server: string) => void>();
  let timer: NodeJS.Timeout | undefined;

  const stop = () => {
    clearInterval(timer);
    timer = undefined;
  };
  const look = () => {
    for (const [key, { name, refused, current }] of waiting) {
      const token = current();
      if (token === undefined || token === refused) continue;
      waiting.delete(key);
      for (const tell of listeners) tell(name);
    }
    if (waiting.size === 0) stop();
  };

  return {
    wait(server) {
      if (listeners.size === 0) return;
      waiting.set(`${server.name} ${server.url}`, server);
      timer ??= setInterval(look, INTERVAL).unref();
    },
    onSignIn(listener) {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
        if (listeners.size === 0) stop();
      };
    },
    stop() {
      waiting.clear();
      stop();
    },
  };
}
