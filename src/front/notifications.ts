/** Filters server notifications that belong to no call, and sends those that concern the client of a front. */
import { exposeUri } from '../catalog/exposed-uris.ts';
import { isUnknown, withServer } from '../router/server-requests.ts';
import type { ConnectionInfo } from '../upstream/connection-interface.ts';
import type { Params } from '../wire/message.ts';
import type { Client, ClientSession, Downstream } from './front-interface.ts';
import type { Pages } from './url-elicitation.ts';

interface Receiver extends Pick<Downstream, 'notify'> {
  /** The URL elicitations that the client received. */
  pages: Pick<Pages, 'knows'>;
}

/** Returns false for a log message below the level that the client has set. */
export function isWanted({ logLevels, identity }: Client, method: string, params: Params = {}): boolean {
  return method !== 'notifications/message' || logLevels.hears(params.level, identity.key);
}

/** Passes a notification of a server to the client if it concerns the client. */
export function hear(
  client: Client,
  { pages, notify }: Receiver,
  ...[server, method, params = {}, spoke]: Parameters<ClientSession['onNotification']>
): void {
  const { router } = client;
  // A client gets no notifications from servers that it may not use.
  if (!router.sees(server)) return;
  if (method === 'notifications/resources/updated') {
    hearUpdate(client, notify, { server, params, spoke });
    return;
  }
  const concerns =
    isUnknown(method) ||
    (method === 'notifications/message' && isWanted(client, method, params)) ||
    (method === 'notifications/elicitation/complete' && pages.knows(params.elicitationId)) ||
    (method === 'notifications/tasks/status' && router.tasks.servers(params.taskId).includes(server));
  if (concerns) notify(method, withServer(server, params));
}

interface Update {
  server: string;
  params: Params;
  spoke: ConnectionInfo | undefined;
}

function hearUpdate(client: Client, notify: Downstream['notify'], { server, params, spoke }: Update): void {
  const { router, subscriptions, identity, settings } = client;
  const resource = { server, uri: String(params.uri) };
  const asked = subscriptions.wanted(resource, identity.key, spoke);
  const part = () =>
    subscriptions.wantsWhole(resource, identity.key, spoke)
      ? exposeUri(resource, settings.naming.resources)
      : undefined;
  const uri = asked ?? part();
  // The access rules may have changed since the subscription.
  if (uri === undefined || !router.sees(server, resource.uri)) return;
  const told = withServer(server, { ...params, uri }, { 'dev.mcpx/uri': resource.uri });
  notify('notifications/resources/updated', told);
}
