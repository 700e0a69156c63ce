/** The events of a pool's connections, with the name of the server, and its questions that wait for an answer. */
import type { Params, RpcRequest } from '../wire/message.ts';
import type { About, Incoming } from '../wire/peer.ts';
import type { Connection, ConnectionOptions, ConnectionState } from './connection.ts';
import type { PendingQuestions } from './pending-questions.ts';
import type { Answerer } from './rooted.ts';

/** A notification of an upstream, and the request it belongs to, as far as that can be told. */
export interface Heard {
  method: string;
  params: Params | undefined;
  about: About | undefined;
}

export interface PoolEvents {
  /** Of connections that outlive a call. */
  state?: (server: string, state: ConnectionState, connection: Connection) => void;
  notification?: (server: string, notification: Heard, connection: Connection) => void;
  /** Answers a request of an upstream other than `ping`; absent: -32601. */
  request?: (server: string, request: RpcRequest, incoming: Incoming, connection: Connection) => Promise<unknown>;
}

interface Own {
  self: () => Connection;
  state: (state: ConnectionState) => void;
  /** Told of questions first; answers some of them. */
  answer: Answerer | undefined;
  questions: PendingQuestions;
}

/** The events of the pool as one connection's own. */
export function eventsOf(
  server: string,
  events: PoolEvents = {},
  { self, state, answer: own, questions }: Own,
): NonNullable<ConnectionOptions['events']> {
  const { notification, request } = events;
  return {
    state,
    ...(notification && {
      notification: (method, params, about) => notification(server, { method, params, about }, self()),
    }),
    ...(request && {
      async request(question, incoming) {
        const answered = own?.(question, incoming);
        if (answered !== undefined) return answered;
        const { about, origin } = incoming;
        const answer = request(server, question, incoming, self());
        // A question that came on the stream of its call delays no other client.
        if (about?.asked === undefined || origin !== undefined) return answer;
        return answer.finally(questions.begin(self(), about.party));
      },
    }),
  };
}
