/** Presents a server with one connection per call as a single connection. */
import type { Connection } from '../connection-interface.ts';
import type { Slots } from '../lifecycle/queue.ts';

export interface PerCallOptions {
  /** Creates a connection that is used once. */
  create(): Connection;
  /** Ends the connection. */
  end(connection: Connection): Promise<void>;
  /** Limits how many calls run at once. */
  slots: Slots;
  /** The fields that are shown while no call runs. */
  shown: Pick<Connection, 'name' | 'spec' | 'handshake' | 'offered' | 'folder'>;
}

export function perCall({ create, end, slots, shown }: PerCallOptions): Connection {
  const once = async <T>(work: (connection: Connection) => Promise<T>): Promise<T> => {
    const connection = create();
    try {
      return await work(connection);
    } finally {
      // The response does not wait for the process to exit.
      void end(connection);
    }
  };
  return {
    ...shown,
    perCall: true,
    hasSubscribers: false,
    state: { kind: 'idle' },
    connect: () => once((connection) => connection.connect()),
    async request(method, params, options = {}) {
      const { holder, key } = options.client ?? {};
      await slots.enter({ ...options, key: holder ?? key, holder });
      try {
        return await once((connection) => connection.request(method, params, options));
      } finally {
        slots.leave(holder);
      }
    },
    // No connection outlives a call.
    notify: () => undefined,
    diagnostics: () => ({ stderr: [], noise: 0 }),
    // Each call ends its own connection.
    stopIdle: async () => undefined,
    drain: async () => undefined,
    close: async () => undefined,
    killNow: () => undefined,
  };
}
