/** Filters server notifications that belong to no call, and sends those that concern the client of a front. */
import { exposeUri } from '../catalog/exposed-uris.ts';
import { isUnknown, withServer } from '../router/server-requests.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import type { Params } from '../wire/message.ts';
import type { Downstream, Front, FrontDeps } from './front-interface.ts';
import type { Pages } from './url-elicitation.ts';

export interface Hearing {
  /** Returns false for a log message below the level that the client has set. */
  isWanted(method: string, params?: Params): boolean;
  hear: Front['onNotification'];
}

type Deps = Pick<FrontDeps, 'router' | 'subscriptions' | 'caller' | 'settings'>;

interface Client extends Pick<Downstream, 'notify'> {
  /** The URL elicitations that the client received. */
  pages: Pick<Pages, 'knows'>;
}

export function createHearing({ router, subscriptions, caller, settings }: Deps, { pages, notify }: Client): Hearing {
  const isWanted = (method: string, params: Params = {}) =>
    method !== 'notifications/message' || subscriptions.hears(params.level, caller.key);

  const hearUpdate = (server: string, method: string, params: Params, spoke: ConnectionInfo | undefined) => {
    const resource = { server, uri: String(params.uri) };
    const asked = subscriptions.wanted(resource, caller.key, spoke);
    const part = () =>
      subscriptions.wantsWhole(resource, caller.key, spoke)
        ? exposeUri(resource, settings.naming.resources)
        : undefined;
    const uri = asked ?? part();
    // The access rules may have changed since the subscription.
    if (uri === undefined || !router.sees(server, resource.uri)) return;
    notify(method, withServer(server, { ...params, uri }, { 'dev.mcpx/uri': resource.uri }));
  };

  return {
    isWanted,
    hear(server, method, params = {}, spoke) {
      // A client gets no notifications from servers that it may not use.
      if (!router.sees(server)) return;
      if (method === 'notifications/resources/updated') return hearUpdate(server, method, params, spoke);
      const concerns =
        isUnknown(method) ||
        (method === 'notifications/message' && isWanted(method, params)) ||
        (method === 'notifications/elicitation/complete' && pages.knows(params.elicitationId)) ||
        (method === 'notifications/tasks/status' && router.tasks.servers(params.taskId).includes(server));
      if (concerns) notify(method, withServer(server, params));
    },
  };
}
