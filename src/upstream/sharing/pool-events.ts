/** Adds the server's name to the events of a pool's connections and tracks pending server requests. */
import type { Params, RpcRequest } from '../../wire/message.ts';
import type { Attribution, Incoming } from '../../wire/peer.ts';
import type { Connection, ConnectionState } from '../connection-interface.ts';
import type { ConnectionOptions } from '../connection-options.ts';
import type { Answerer } from './by-roots.ts';
import type { PendingQuestions } from './pending-questions.ts';

/** A notification of an upstream; `about` is the request that it belongs to, undefined if unknown. */
export interface ServerNotification {
  method: string;
  params: Params | undefined;
  about: Attribution | undefined;
}

export interface PoolEvents {
  /** Called for connections that outlive a call. */
  state?: (server: string, state: ConnectionState, connection: Connection) => void;
  notification?: (server: string, notification: ServerNotification, connection: Connection) => void;
  /** Answers a request of an upstream other than `ping`; if absent, the upstream gets -32601. */
  request?: (server: string, request: RpcRequest, incoming: Incoming, connection: Connection) => Promise<unknown>;
}

interface Own {
  self: () => Connection;
  state: (state: ConnectionState) => void;
  /** Gets server requests first and answers some of them. */
  answer: Answerer | undefined;
  questions: PendingQuestions;
}

/** Returns the event handlers of one connection. */
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
        const { attribution, origin } = incoming;
        const answer = request(server, question, incoming, self());
        // A server request on the response stream of its call does not delay other clients.
        if (attribution?.onServerRequest === undefined || origin !== undefined) return answer;
        return answer.finally(questions.begin(self(), attribution.conversation));
      },
    }),
  };
}
