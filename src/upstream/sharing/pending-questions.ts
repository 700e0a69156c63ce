/** Tracks unanswered server requests: they cannot be assigned to a call on a shared connection, so other clients use another one meanwhile. */
import { isWithinShare } from '../../policy/shares.ts';
import type { Connection } from '../connection-interface.ts';

/** The client that a server request is for. */
export interface Recipient {
  /** Undefined if the client is new with each request. */
  key: string | undefined;
  /** The holder whose share of the connections the request uses, see `policy/shares.ts`. */
  holder?: string | undefined;
}

export interface PendingQuestions {
  /** Registers a server request for a call of that client; the returned function ends it. */
  begin(connection: Connection, recipient: Recipient): () => void;
  /**
   * Returns the index of the first connection on which no other client has a pending server request. If there is none,
   * returns 0, and the server gets an error for its requests. A holder that has used its share gets one of its own, so
   * that only its own requests become ambiguous.
   */
  placeFor(client: Recipient, connectionAt: (place: number) => Connection): number;
}

/**
 * The maximum number of connections for one set of capabilities: each costs a process, and a request may stay
 * unanswered for minutes.
 */
const MAX_PLACES = 8;

export function createPendingQuestions(): PendingQuestions {
  const pending = new Map<Connection, Recipient[]>();
  /** The additional connections that received calls. */
  const further = new Set<Connection>();

  const isFree = (connection: Connection, client: Recipient) =>
    pending.get(connection)?.every(({ key }) => key === client.key) ?? true;
  const isOf = (connection: Connection, holder: string | undefined) =>
    holder !== undefined && pending.get(connection)?.every((recipient) => recipient.holder === holder) === true;

  const end = (connection: Connection, recipient: Recipient) => {
    const parties = pending.get(connection) ?? [];
    parties.splice(parties.indexOf(recipient), 1);
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
    begin(connection, recipient) {
      const parties = pending.get(connection) ?? [];
      parties.push(recipient);
      pending.set(connection, parties);
      return () => end(connection, recipient);
    },
    placeFor(client, connectionAt) {
      // This is the common case.
      if (pending.size === 0) return 0;
      const own: number[] = [];
      for (let place = 0; place < MAX_PLACES; place += 1) {
        const connection = connectionAt(place);
        if (!isFree(connection, client)) {
          if (isOf(connection, client.holder)) own.push(place);
          continue;
        }
        if (!pending.has(connection) && !isWithinShare(own.length, MAX_PLACES - place)) break;
        if (place > 0) further.add(connection);
        return place;
      }
      return own[0] ?? 0;
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
