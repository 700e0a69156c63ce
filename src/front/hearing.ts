/** What a server says that belongs to no call, as far as it concerns the client of a front. */
import { exposeUri } from '../catalog/uris.ts';
import { isUnknown, withServer } from '../router/reverse.ts';
import type { Connection } from '../upstream/connection.ts';
import type { Params } from '../wire/message.ts';
import type { Downstream, Front, FrontDeps } from './front.ts';
import type { Pages } from './pages.ts';

export interface Hearing {
  /** Log messages have a level that the client may have bounded. */
  isWanted(method: string, params?: Params): boolean;
  hear: Front['heard'];
}

type Deps = Pick<FrontDeps, 'router' | 'wishes' | 'caller' | 'settings'>;

interface Client extends Pick<Downstream, 'notify'> {
  /** The pages that it was asked to open. */
  pages: Pick<Pages, 'knows'>;
}

export function createHearing({ router, wishes, caller, settings }: Deps, { pages, notify }: Client): Hearing {
  const isWanted = (method: string, params: Params = {}) =>
    method !== 'notifications/message' || wishes.hears(params.level, caller.key);

  const hearUpdate = (server: string, method: string, params: Params, spoke: Connection | undefined) => {
    const resource = { server, uri: String(params.uri) };
    const asked = wishes.wanted(resource, caller.key, spoke);
    const part = () =>
      wishes.wantsWhole(resource, caller.key, spoke) ? exposeUri(resource, settings.naming.resources) : undefined;
    const uri = asked ?? part();
    // It may have been denied since it was subscribed to.
    if (uri === undefined || !router.sees(server, resource.uri)) return;
    notify(method, withServer(server, { ...params, uri }, { 'dev.mcpx/uri': resource.uri }));
  };

  return {
    isWanted,
    hear(server, method, params = {}, spoke) {
      // What a client may not use says nothing to it either.
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
