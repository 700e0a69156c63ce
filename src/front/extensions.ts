/** Announces server extensions and relays their methods unchanged, if a method identifies its server. */
import { exposeNames } from '../catalog/exposed-names.ts';
import { type Located, locateUri } from '../catalog/exposed-uris.ts';
import { RpcError } from '../errors.ts';
import { TASKS_EXTENSION } from '../mcp/tasks.ts';
import type { Router, ServerView } from '../router/router.ts';
import { isRecord, METHOD_NOT_FOUND, type Params } from '../wire/message.ts';
import type { Client, Method } from './front-interface.ts';

/** Extensions that several servers may have at once, because mcpx routes all their methods. */
const ROUTED: ReadonlySet<string> = new Set([TASKS_EXTENSION, 'io.modelcontextprotocol/ui']);

/** First segments of the methods that MCP itself defines, for clients and servers. */
const OWN: ReadonlySet<string> = new Set(
  ['initialize', 'ping', 'server', 'subscriptions', 'tools', 'prompts', 'resources', 'completion', 'logging'].concat([
    'tasks',
    'roots',
    'sampling',
    'elicitation',
    'notifications',
  ]),
);

/** True if the method may belong to an extension. */
export function isExtensionMethod(method: string): boolean {
  return method.includes('/') && !OWN.has(topicOf(method));
}

/** Returns the extensions that a front announces, each with the settings of the first server that has it. */
export function announcedExtensions(servers: ServerView[], router: Pick<Router, 'seesAll'>): Params {
  const announced = new Map<string, unknown>();
  for (const [id, owners] of ownersById(servers)) {
    const [first] = owners;
    const isRelayed = owners.length === 1 && first !== undefined && router.seesAll(first.name);
    if (ROUTED.has(id) || isRelayed) announced.set(id, extensionsOf(first)[id]);
  }
  return Object.fromEntries(announced);
}

/** Returns the handler of an unknown method; undefined if no extension can define that method. */
export function extensionMethod(method: string): Method | undefined {
  if (!isExtensionMethod(method)) return undefined;
  return async (params, way, { router, settings, listed }) => {
    await listed();
    const owners = ownersOf(method, router);
    const target = targetOf(params, owners, settings) ?? (owners.length === 1 ? { server: owners[0] } : undefined);
    if (target?.server === undefined) throw new RpcError(METHOD_NOT_FOUND, `Method not found: ${method}`);
    const { server, ...own } = target;
    const address = { server: server.name, kind: 'extension', name: method, method } as const;
    return router.forward({ ...way, ...address, params: { ...params, ...own } });
  };
}

/**
 * Returns the servers that may implement a method: those with an extension of that name, else all with an extension
 * that mcpx does not route.
 */
function ownersOf(method: string, router: Pick<Router, 'servers' | 'seesAll'>): ServerView[] {
  const open = router.servers().filter(({ name }) => router.seesAll(name));
  const byId = [...ownersById(open)].filter(([id]) => !ROUTED.has(id));
  const named = byId.filter(([id]) => id.split('/').at(-1) === topicOf(method));
  return [...new Set((named.length > 0 ? named : byId).flatMap(([, owners]) => owners))];
}

interface Target {
  server: ServerView | undefined;
  /** The server's own URI. */
  uri?: string;
  name?: string;
}

/** Returns the server whose URI or name is in the params, if it is one of the owners. */
function targetOf({ uri, name }: Params, owners: ServerView[], { naming }: Client['settings']): Target | undefined {
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
  const { extensions } = server?.entry.handshake?.capabilities ?? {};
  return isRecord(extensions) ? extensions : {};
}

function topicOf(method: string): string {
  return method.split('/')[0] ?? method;
}
