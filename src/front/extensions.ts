/** Extensions of servers: announced where mcpx can tell which server is meant by their methods, which it relays unchanged. */
import { exposeNames } from '../catalog/names.ts';
import { type Located, locateUri } from '../catalog/uris.ts';
import { RpcError } from '../errors.ts';
import type { Router, ServerView } from '../router/router.ts';
import { isRecord, METHOD_NOT_FOUND, type Params } from '../wire/message.ts';
import type { FrontDeps } from './front.ts';
import type { Native } from './natives.ts';

/** The extension that has tasks in the modern era. */
export const TASKS_EXTENSION = 'io.modelcontextprotocol/tasks';
/** Extensions that several servers may have at once: they have no methods but those that mcpx knows. */
const ROUTED: ReadonlySet<string> = new Set([TASKS_EXTENSION, 'io.modelcontextprotocol/ui']);

/** The first words of the methods of MCP itself, of either side. */
const OWN: ReadonlySet<string> = new Set(
  ['initialize', 'ping', 'server', 'subscriptions', 'tools', 'prompts', 'resources', 'completion', 'logging'].concat([
    'tasks',
    'roots',
    'sampling',
    'elicitation',
    'notifications',
  ]),
);

/** Whether a method can be one of an extension. */
export function isExtensionMethod(method: string): boolean {
  return method.includes('/') && !OWN.has(topicOf(method));
}

/** The extensions that a front announces: of each what the first server says that has it. */
export function announcedExtensions(servers: ServerView[], router: Pick<Router, 'seesAll'>): Params {
  const announced = new Map<string, unknown>();
  for (const [id, owners] of ownersById(servers)) {
    const [first] = owners;
    const isRelayed = owners.length === 1 && first !== undefined && router.seesAll(first.name);
    if (ROUTED.has(id) || isRelayed) announced.set(id, extensionsOf(first)[id]);
  }
  return Object.fromEntries(announced);
}

type Deps = Pick<FrontDeps, 'router' | 'settings' | 'listed'>;

/** What answers a method that mcpx does not know; undefined for one that no extension can have. */
export function createExtensionRelay({ router, settings, listed }: Deps): (method: string) => Native | undefined {
  return (method) => {
    if (!isExtensionMethod(method)) return undefined;
    return async (params, way) => {
      await listed();
      const owners = ownersOf(method, router);
      const target = targetOf(params, owners, settings) ?? (owners.length === 1 ? { server: owners[0] } : undefined);
      if (target?.server === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
      const { server, ...own } = target;
      return router.forward({
        ...way,
        server: server.name,
        kind: 'extension',
        name: method,
        method,
        params: { ...params, ...own },
      });
    };
  };
}

/** The servers that may have a method: those with an extension of that name, else all that have an extension mcpx does not know. */
function ownersOf(method: string, router: Pick<Router, 'servers' | 'seesAll'>): ServerView[] {
  const open = router.servers().filter(({ name }) => router.seesAll(name));
  const byId = [...ownersById(open)].filter(([id]) => !ROUTED.has(id));
  const named = byId.filter(([id]) => id.split('/').at(-1) === topicOf(method));
  return [...new Set((named.length > 0 ? named : byId).flatMap(([, owners]) => owners))];
}

interface Target {
  server: ServerView | undefined;
  /** As the server itself calls it. */
  uri?: string;
  name?: string;
}

/** The server whose URI or name is in the params, where it is one of the owners. */
function targetOf({ uri, name }: Params, owners: ServerView[], { naming }: Deps['settings']): Target | undefined {
  const viewOf = (server: string) => owners.find((owner) => owner.name === server);
  if (typeof uri === 'string') {
    const listers = owners.filter(({ resources }) => resources.some((item) => item.uri === uri));
    const place: Located | undefined = locateUri(uri) ?? (listers[0] && { server: listers[0].name, uri });
    return listers.length > 1 || place === undefined ? undefined : { server: viewOf(place.server), uri: place.uri };
  }
  if (typeof name !== 'string') return undefined;
  for (const list of ['tools', 'prompts'] as const) {
    const items = owners.flatMap(({ name: server, [list]: all }) =>
      all.map((item) => ({ server, name: String(item.name) })),
    );
    const found = exposeNames(items, naming).table.get(name);
    if (found !== undefined) return { server: viewOf(found.server), name: found.name };
  }
  return undefined;
}

function ownersById(servers: ServerView[]): Map<string, ServerView[]> {
  const owners = new Map<string, ServerView[]>();
  for (const server of servers)
    for (const id of Object.keys(extensionsOf(server))) owners.set(id, [...(owners.get(id) ?? []), server]);
  return owners;
}

function extensionsOf(server: ServerView | undefined): Params {
  const { extensions } = server?.entry.hello?.capabilities ?? {};
  return isRecord(extensions) ? extensions : {};
}

function topicOf(method: string): string {
  return method.split('/')[0] ?? method;
}
