/** Tracks unanswered server requests: they cannot be assigned to a call on a shared connection, so other clients use another one meanwhile. */
import type { Connection } from '../connection-interface.ts';

export interface PendingQuestions {
  /** Registers a server request for a call of that party; the returned function ends it. */
  begin(connection: Connection, party: unknown): () => void;
  /**
   * Returns the index of the first connection on which no other client has a pending server request. If there is none,
   * returns 0, and the server gets an error for its requests.
   */
  placeFor(client: string, connectionAt: (place: number) => Connection): number;
}

/**
 * The maximum number of connections for one set of capabilities: each costs a process, and a request may stay
 * unanswered for minutes.
 */
const MAX_PLACES = 8;

export function createPendingQuestions(): PendingQuestions {
  const pending = new Map<Connection, unknown[]>();
  /** The additional connections that received calls. */
  const further = new Set<Connection>();

  const isFree = (connection: Connection, client: string) =>
    pending.get(connection)?.every((party) => party === client) ?? true;

  const end = (connection: Connection, party: unknown) => {
    const parties = pending.get(connection) ?? [];
    parties.splice(parties.indexOf(party), 1);
    if (parties.length === 0) pending.delete(connection);
    if (pending.size > 0) return;
    for (const one of further) {
      // A connection stays open while a client waits for its notifications.
      if (one.hasSubscribers) continue;
      further.delete(one);
      void one.stopIdle();
    }
  };

  return {
    begin(connection, party) {
      const parties = pending.get(connection) ?? [];
      parties.push(party);
      pending.set(connection, parties);
      return () => end(connection, party);
    },
    placeFor(client, connectionAt) {
      // This is the common case.
      if (pending.size === 0) return 0;
      for (let place = 0; place < MAX_PLACES; place += 1) {
        const connection = connectionAt(place);
        if (!isFree(connection, client)) continue;
        if (place > 0) further.add(connection);
        return place;
      }
      return 0;
    },
  };
}

/** Returns the key of the connection with this index; index 0 has the plain key. */
export function keyAt(key: string, place: number): string {
  return place === 0 ? key : `${key} ${place}`;
}

/** Returns true if `one` is an additional connection that exists only while `other` has a pending server request. */
export function isFurther(one: Connection, other: Connection | undefined): boolean {
  const isShared = one.owner === undefined && other?.owner === undefined;
  return isShared && other?.state.kind === 'ready' && one.offered === other.offered;
}
