/** A server with a connection of its own for every call, shown as one connection. */
import type { Connection } from './connection.ts';
import type { Slots } from './queue.ts';

export interface PerCallOptions {
  /** Begins a connection that is used once. */
  create(): Connection;
  /** Ends it. */
  end(connection: Connection): Promise<void>;
  /** Bounds how many run at once. */
  slots: Slots;
  /** What is shown of the server while nothing runs. */
  shown: Pick<Connection, 'name' | 'spec' | 'hello' | 'offered' | 'folder'>;
}

export function perCall({ create, end, slots, shown }: PerCallOptions): Connection {
  const once = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = create();
    try {
      return await work(connection);
    } finally {
      // The answer does not wait for the end of the process.
      void end(connection);
    }
  };
  return {
    ...shown,
    fleeting: true,
    expected: false,
    state: { kind: 'idle' },
    connect: () => once((connection) => connection.connect()),
    async request(method, params, options = {}) {
      const holder = options.client?.holder;
      const turn = slots.enter({ ...options, key: holder ?? options.caller, holder });
      if (turn) await turn;
      try {
        return await once((connection) => connection.request(method, params, options));
      } finally {
        slots.leave(holder);
      }
    },
    // There is no connection that outlives a call.
    notify: () => undefined,
    diagnostics: () => ({ stderr: [], noise: 0 }),
    // Each call ends what it began.
    rest: async () => undefined,
    dismiss: async () => undefined,
    close: async () => undefined,
    killNow: () => undefined,
  };
}
