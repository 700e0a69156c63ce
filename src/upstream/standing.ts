/** What was asked for once and holds as long as a conversation does: asked for again when the next one begins. */
import type { Params } from '../wire/message.ts';
import type { Peer } from '../wire/peer.ts';

export interface Standing {
  /** Whether somebody expects to be told of changes, so that the conversation must not end for want of calls. */
  readonly subscribed: boolean;
  /** Whether a request asks for something that lasts. */
  lasts(method: string): boolean;
  /** Takes note of a request that was answered. */
  note(method: string, params: Params | undefined): void;
  /** Asks for everything again. */
  renew(peer: Pick<Peer, 'request'>): void;
}

const LASTING: ReadonlySet<string> = new Set(['resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']);

export function createStanding(): Standing {
  const subscriptions = new Map<unknown, Params>();
  let level: Params | undefined;

  return {
    get subscribed() {
      return subscriptions.size > 0;
    },
    lasts: (method) => LASTING.has(method),
    note(method, params) {
      if (params === undefined) return;
      if (method === 'resources/subscribe') subscriptions.set(params.uri, params);
      else if (method === 'resources/unsubscribe') subscriptions.delete(params.uri);
      else if (method === 'logging/setLevel') level = params;
    },
    renew(peer) {
      const again = (method: string, params: Params) => {
        // What the upstream no longer has cannot be subscribed to; it says so when it is read.
        peer.request(method, params).catch(() => undefined);
      };
      if (level) again('logging/setLevel', level);
      for (const params of subscriptions.values()) again('resources/subscribe', params);
    },
  };
}
