/** Adds to the events of a connection the part that its sharing has in them: who answers a request, and who waits meanwhile. */
import type { UpstreamEvents } from '../upstream-events.ts';
import type { Answerer } from './by-roots.ts';
import type { PendingQuestions } from './pending-questions.ts';

interface Sharing extends Pick<UpstreamEvents, 'state'> {
  /** Gets server requests first and answers some of them. */
  answer: Answerer | undefined;
  questions: PendingQuestions;
}

/** Returns the events of one connection of a pool. */
export function eventsOf(
  { notification, request }: UpstreamEvents = {},
  { state, answer: own, questions }: Sharing,
): UpstreamEvents {
  return {
    ...(state && { state }),
    ...(notification && { notification }),
    ...(request && {
      async request(question, incoming, connection) {
        const answered = own?.(question, incoming);
        if (answered !== undefined) return answered;
        const { attribution, origin } = incoming;
        const answer = request(question, incoming, connection);
        // A server request on the response stream of its call does not delay other clients.
        if (attribution?.onServerRequest === undefined || origin !== undefined) return answer;
        const { conversation, client } = attribution;
        return answer.finally(questions.begin(connection, { key: conversation, holder: client?.holder }));
      },
    }),
  };
}
