/** Finds the server of a resource by the URI that a client sends. */
import type { Named } from '../catalog/exposed-names.ts';
import { fitsTemplate, type Located, literalLength, locateUri } from '../catalog/exposed-uris.ts';
import { RpcError } from '../errors.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/error-codes.ts';
import type { RequestContext, ServerView } from '../router/router.ts';
import { INVALID_PARAMS } from '../wire/message.ts';
import type { Client } from './front-interface.ts';
import { refreshAndFind } from './refresh-and-find.ts';

/** Returns the server and its own URI for a URI that a client sent; throws if there is none. */
export async function locateResource(uri: unknown, way: RequestContext, client: Client): Promise<Located> {
  if (typeof uri !== 'string') throw new RpcError(INVALID_PARAMS, '"uri" must be a string');
  const { router, settings } = client;
  const isKept = settings.naming.resources === 'keep';
  const found = await (isKept ? locateKept(uri, client) : locateWrapped(uri, client));
  if (found !== undefined && isThere(found, client)) return found;
  router.missed('resource', { name: uri, pick: (denied) => deniedAt(found, uri, denied) }, way);
  throw new RpcError(isKept ? RESOURCE_NOT_FOUND : INVALID_PARAMS, 'Resource not found', { uri });
}

/** A URI that names its server does not wait for the lists of other servers. */
async function locateWrapped(uri: string, client: Client): Promise<Located | undefined> {
  const named = locateUri(uri);
  if (named === undefined || !isThere(named, client)) await client.listed();
  return named;
}

async function locateKept(uri: string, client: Client): Promise<Located | undefined> {
  const views = () => client.router.servers();
  const certain = certainHolderOf(uri, views());
  if (certain !== undefined) return { server: certain, uri };
  const find = () => holderOf(uri, views()) ?? onlyHolder(views());
  const server = await refreshAndFind({ find, lists: 'all' }, client);
  return server === undefined ? undefined : { server, uri };
}

function isThere({ server }: Located, { router }: Client): boolean {
  return router.servers().some(({ name }) => name === server);
}

/** Returns the resource that the client subscribed to with this URI, even if another server lists it now. */
export function subscribedAt(uri: unknown, { router, settings, subscriptions, identity }: Client): Located | undefined {
  if (typeof uri !== 'string') return undefined;
  const isKept = settings.naming.resources === 'keep';
  const places = isKept ? router.servers().map(({ name: server }) => ({ server, uri })) : [locateUri(uri)];
  return places.find((place) => place !== undefined && subscriptions.wanted(place, identity.key) !== undefined);
}

type Views = ServerView[];

/**
 * Returns the server of an unchanged URI: the one that lists it, else the one with that very template, else the one
 * whose matching template has the most literal characters; the first of several.
 */
function holderOf(uri: string, views: Views): string | undefined {
  const all = views.flatMap(({ name, templates }) =>
    templates.map(({ uriTemplate }) => ({ name, template: String(uriTemplate) })),
  );
  const [fitting] = all
    .filter(({ template }) => fitsTemplate(template, uri, 'strictly'))
    .sort((one, other) => literalLength(other.template) - literalLength(one.template));
  // Some clients do not expand templates exactly as RFC 6570 specifies.
  const last = () => fitting ?? all.find(({ template }) => fitsTemplate(template, uri));
  return listerOf(uri, views) ?? (all.find(({ template }) => template === uri) ?? last())?.name;
}

/** Returns the same server, or undefined if a server that is not listed yet may take precedence. */
function certainHolderOf(uri: string, views: Views): string | undefined {
  const open = views.findIndex(({ entry }) => entry.listing.kind === 'unlisted');
  return open === -1 ? holderOf(uri, views) : listerOf(uri, views.slice(0, open));
}

function listerOf(uri: string, views: Views): string | undefined {
  return views.find(({ resources }) => resources.some((item) => item.uri === uri))?.name;
}

/** Returns the only server with the resources capability, if there is exactly one. */
function onlyHolder(views: Views): string | undefined {
  const [only, ...others] = views.filter(({ entry }) => entry.handshake?.capabilities.resources !== undefined);
  return others.length === 0 ? only?.name : undefined;
}

/**
 * Returns the denied resource that a URI names: any of the located server if it has denied ones, or the one listed
 * under it.
 */
function deniedAt(found: Located | undefined, uri: string, denied: Named[]): Named | undefined {
  if (found === undefined) return denied.find(({ name }) => name === uri);
  return denied.some(({ server }) => server === found.server) ? { server: found.server, name: found.uri } : undefined;
}
