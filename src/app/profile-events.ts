/** Passes the events of a profile's upstream connections to its catalog, its subscriptions and its clients. */
import type { FailureStore } from '../catalog/failure-store.ts';
import type { Log } from '../observe/log.ts';
import type { Observer } from '../observe/observer.ts';
import { answerQuestion, mayHear, passToCall } from '../router/server-requests.ts';
import type { UpstreamEvents } from '../upstream/upstream-events.ts';
import type { ProfileRuntime } from './profile.ts';

type Hearers = Pick<ProfileRuntime, 'profile' | 'pool' | 'catalog' | 'subscriptions' | 'logLevels' | 'sessions'>;

export interface ProfileEventDeps {
  /** Returns the profile, which exists once its connections have events. */
  running(): Hearers;
  observer: Pick<Observer, 'emit'>;
  failures: Pick<FailureStore, 'record' | 'clear'> | undefined;
  log: Log;
}

export function createProfileEvents({ running, observer, failures, log }: ProfileEventDeps): Required<UpstreamEvents> {
  return {
    notification(heard, connection) {
      const { pool, catalog, sessions } = running();
      const { method, params } = heard;
      const { name: server } = connection;
      for (const one of pool.affected(connection)) catalog.noticed(server, method, one);
      const passed = passToCall(heard, connection);
      if (passed === 'dropped') log.debug(`${method} is dropped: it may be about calls of several tokens`, { server });
      if (passed !== undefined) return;
      for (const session of sessions)
        if (mayHear(method, session, connection) && pool.serves(connection, session.key))
          session.onNotification(server, method, params, connection);
    },
    request(request, incoming, connection) {
      const { pool, sessions } = running();
      const { name: server } = connection;
      const client = pool.clientOf(connection);
      const only = client === undefined ? undefined : [...sessions].find(({ key }) => key === client);
      return answerQuestion(server, request, incoming, only && ((...asked) => only.onServerRequest(server, ...asked)));
    },
    state(state, connection) {
      const { profile, pool, catalog, subscriptions, logLevels } = running();
      const { name: server } = connection;
      const reason = 'reason' in state ? state.reason : undefined;
      observer.emit({ type: 'state', profile: profile.name, server, state: state.kind, reason });
      if ('failure' in state) failures?.record(connection.spec, state.failure);
      if (state.kind !== 'ready') return;
      failures?.clear(connection.spec);
      for (const one of pool.affected(connection)) catalog.connected(server, one);
      logLevels.connected(connection);
      subscriptions.renew(connection);
    },
    moved: (connection) => running().subscriptions.renew(connection),
  };
}
