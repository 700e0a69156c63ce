/** Questions of a server that clients have not answered yet: on a shared connection nothing says which call a question belongs to, so the calls of others go on a further one meanwhile. */
import type { Connection } from './connection.ts';

export interface PendingQuestions {
  /** The server asks something on behalf of a call of that party, until what it returns is called. */
  begin(connection: Connection, party: unknown): () => void;
  /**
   * Where the calls of a client go: the first of several connections on which nobody else has a question to answer. Where there is none, it
   * is the first of all, and the server is told that it cannot ask.
   */
  placeFor(client: string, connectionAt: (place: number) => Connection): number;
}

/** Connections for one set of capabilities: each costs a process, and a client may leave questions unanswered for minutes. */
const MAX_PLACES = 8;

export function createPendingQuestions(): PendingQuestions {
  const pending = new Map<Connection, unknown[]>();
  /** Further connections that calls went to. */
  const further = new Set<Connection>();

  const isFree = (connection: Connection, client: string) =>
    pending.get(connection)?.every((party) => party === client) ?? true;

  const end = (connection: Connection, party: unknown) => {
    const parties = pending.get(connection) ?? [];
    parties.splice(parties.indexOf(party), 1);
    if (parties.length === 0) pending.delete(connection);
    if (pending.size > 0) return;
    for (const one of further) {
      // It goes on as long as somebody waits for what it says by itself.
      if (one.expected) continue;
      further.delete(one);
      void one.rest();
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
      // At nearly every call.
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

/** The key of a connection at that place, beside the one at place 0. */
export function keyAt(key: string, place: number): string {
  return place === 0 ? key : `${key} ${place}`;
}

/** Whether one is there only for as long as somebody has a question of the other to answer. */
export function isFurther(one: Connection, other: Connection | undefined): boolean {
  const isShared = one.owner === undefined && other?.owner === undefined;
  return isShared && other?.state.kind === 'ready' && one.offered === other.offered;
}
