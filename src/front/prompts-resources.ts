/** MCP methods for prompts, resources, completion and logging, with exposed names and URIs, in both fronts. */

import { exposeNames, mayBeOf, type Named, type NameTable } from '../catalog/exposed-names.ts';
import {
  exposeTemplate,
  exposeUri,
  fitsTemplate,
  type Located,
  literalLength,
  locateUri,
} from '../catalog/exposed-uris.ts';
import type { Item } from '../catalog/listing.ts';
import { pageOf } from '../catalog/pagination.ts';
import { RpcError } from '../errors.ts';
import { RESOURCE_NOT_FOUND } from '../mcp/error-codes.ts';
import { isLogLevel } from '../mcp/log-levels.ts';
import { asName } from '../render/text.ts';
import type { Forward, RequestContext, ServerView } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import type { FrontDeps } from './front-interface.ts';
import { refreshAndFind } from './refresh-and-find.ts';
import { exposeMessages } from './rewrite-uris.ts';

interface Prompt extends Named {
  item: Item;
}

export type NativeMethod = (params: Params, way: RequestContext) => Promise<unknown>;

/** Resources that mcpx itself provides. */
export interface OwnResources {
  list(): Item[];
  /** Resolves with undefined for any other URI. */
  read(uri: unknown): Promise<Params | undefined>;
}

const NOTHING_OWN: OwnResources = { list: () => [], read: async () => undefined };

type Deps = Pick<FrontDeps, 'router' | 'settings' | 'listed' | 'verify' | 'subscriptions'>;

export function createPromptsResources(deps: Deps, own: OwnResources = NOTHING_OWN): Map<string, NativeMethod> {
  const { router, settings, listed, subscriptions } = deps;
  const style = settings.naming.resources;
  let known: { revision: string; prompts: NameTable<Prompt> } | undefined;

  const prompts = () => {
    if (known?.revision === router.revision()) return known.prompts;
    const items = router
      .servers()
      .flatMap(({ name: server, entry: { spec }, prompts }) =>
        prompts.map((item) => ({ server, label: spec.label, name: String(item.name), item })),
      );
    known = { revision: router.revision(), prompts: exposeNames(items, settings.naming).table };
    return known.prompts;
  };

  async function promptOf(name: unknown, way: RequestContext): Promise<Prompt> {
    const exposed = String(name);
    const find = () => prompts().get(exposed);
    const mayHave = ({ name: server, entry: { spec } }: ServerView) =>
      mayBeOf(spec.label ?? server, exposed, settings.naming);
    const prompt = find() ?? (await refreshAndFind({ find, mayHave, lists: 'all' }, deps));
    if (prompt !== undefined) return prompt;
    router.missed('prompt', (denied) => exposeNames(denied, settings.naming).table.get(exposed), way);
    throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${asName(name)}`);
  }

  /** Returns the server and its own URI for a URI that a client sent. */
  async function resourceAt(uri: unknown, way: RequestContext): Promise<Located> {
    if (typeof uri !== 'string') throw new RpcError(INVALID_PARAMS, '"uri" must be a string');
    const isThere = (found: Located) => views().some(({ name }) => name === found.server);
    const of = (server: string | undefined) => (server === undefined ? undefined : { server, uri });
    // A URI that names its server, or whose server is certain, does not wait for other servers' lists.
    const known = style === 'keep' ? of(certainHolderOf(uri, views())) : locateUri(uri);
    if (known !== undefined && isThere(known)) return known;
    const find = () => holderOf(uri, views()) ?? onlyHolder(views());
    const found =
      style === 'keep' ? of(await refreshAndFind({ find, lists: 'all' }, deps)) : await listed().then(() => known);
    if (found !== undefined && isThere(found)) return found;
    router.missed('resource', (denied) => deniedAt(found, uri, denied), way);
    const code = style === 'keep' ? RESOURCE_NOT_FOUND : INVALID_PARAMS;
    throw new RpcError(code, 'Resource not found', { uri });
  }
  const views = () => router.servers();

  /** Returns the resource that the client subscribed to with this URI, even if another server lists it now. */
  function subscribedAt(uri: unknown, holder: string): Located | undefined {
    if (typeof uri !== 'string') return undefined;
    const places = style === 'keep' ? views().map(({ name: server }) => ({ server, uri })) : [locateUri(uri)];
    return places.find((place) => place !== undefined && subscriptions.wanted(place, holder) !== undefined);
  }

  const resourceRequest =
    (method: string, { server, uri }: Located, more: Pick<Forward, 'via' | 'routed'> = {}): NativeMethod =>
    (params, way) =>
      router.forward({
        ...way,
        ...more,
        server,
        kind: 'resource',
        name: uri,
        method,
        params: { ...params, uri },
        questions: 'pass',
      });

  async function read(params: Params, way: RequestContext): Promise<unknown> {
    const resource = await resourceAt(params.uri, way);
    return rewriteContents(await resourceRequest('resources/read', resource)(params, way), resource, params.uri);
  }

  /** Rewrites the URIs in the contents: the requested one as the client sent it, others as exposed URIs. */
  function rewriteContents(result: unknown, { server, uri }: Located, asked: unknown): unknown {
    if (style === 'keep' || !isRecord(result) || !Array.isArray(result.contents)) return result;
    const contents = result.contents.map((one) => {
      if (!isRecord(one) || typeof one.uri !== 'string') return one;
      return { ...one, uri: one.uri === uri ? asked : exposeUri({ server, uri: one.uri }, style) };
    });
    return { ...result, contents };
  }

  /** Completes an argument of a prompt, by its exposed name, or of a resource template, by its exposed URI. */
  async function complete(params: Params, way: RequestContext): Promise<unknown> {
    const { ref } = params;
    if (!isRecord(ref)) throw new RpcError(INVALID_PARAMS, '"ref" must be an object');
    const method = 'completion/complete';
    if (ref.type === 'ref/prompt') {
      const { server, name } = await promptOf(ref.name, way);
      return router.forward({
        ...way,
        server,
        kind: 'prompt',
        name,
        method,
        params: { ...params, ref: { ...ref, name } },
      });
    }
    const { server, uri } = await resourceAt(ref.uri, way);
    return router.forward({
      ...way,
      server,
      kind: 'resource',
      name: uri,
      method,
      params: { ...params, ref: { ...ref, uri } },
    });
  }

  const list =
    (key: string, items: () => Item[]): NativeMethod =>
    async (params) => {
      await listed(undefined, 'all');
      return pageOf(items(), key, params);
    };

  return new Map<string, NativeMethod>([
    [
      'prompts/list',
      list('prompts', () => [...prompts()].map(([name, { server, item }]) => provenance(item, server, { name }))),
    ],
    [
      'prompts/get',
      async (params, way) => {
        const { server, name } = await promptOf(params.name, way);
        const result = await router.forward({
          ...way,
          server,
          kind: 'prompt',
          name,
          method: 'prompts/get',
          params: { ...params, name },
          questions: 'pass',
        });
        return exposeMessages(result, server, style);
      },
    ],
    ['resources/list', list('resources', () => [...exposedResources(views(), style), ...own.list()])],
    ['resources/templates/list', list('resourceTemplates', () => exposedTemplates(views(), style))],
    ['resources/read', async (params, way) => (await own.read(params.uri)) ?? read(params, way)],
    [
      'resources/subscribe',
      async (params, way) => {
        const { caller } = way;
        const { key } = caller;
        const resource = await resourceAt(params.uri, way);
        const known = subscriptions.wanted(resource, key) !== undefined;
        // This precedes the response, because the first notification may arrive together with it.
        const routed: Forward['routed'] = (via) =>
          subscriptions.subscribe(resource, { caller, asked: String(params.uri), via });
        try {
          return await resourceRequest('resources/subscribe', resource, { routed })(params, way);
        } catch (error) {
          if (!known) subscriptions.unsubscribe(resource, key);
          throw error;
        }
      },
    ],
    [
      'resources/unsubscribe',
      async (params, way) => {
        const { key } = way.caller;
        const resource = subscribedAt(params.uri, key) ?? (await resourceAt(params.uri, way));
        const via = subscriptions.unsubscribe(resource, key);
        return via === undefined ? {} : resourceRequest('resources/unsubscribe', resource, { via })(params, way);
      },
    ],
    [
      'logging/setLevel',
      async ({ level }, { caller }) => {
        if (!isLogLevel(level)) throw new RpcError(INVALID_PARAMS, `Invalid log level: ${asName(level)}`);
        subscriptions.setLevel(level, caller.key);
        caller.logLevel = level;
        return {};
      },
    ],
    ['completion/complete', complete],
  ]);
}

type Views = ReturnType<FrontDeps['router']['servers']>;
type Style = FrontDeps['settings']['naming']['resources'];

function exposedResources(views: Views, style: Style): Item[] {
  const all = views.flatMap(({ name: server, resources }) =>
    resources.map((item) => provenance(item, server, { uri: exposeUri({ server, uri: String(item.uri) }, style) })),
  );
  return firsts(all, 'uri');
}

function exposedTemplates(views: Views, style: Style): Item[] {
  const all = views.flatMap(({ name: server, templates }) =>
    templates.map((item) =>
      provenance(item, server, { uriTemplate: exposeTemplate(server, String(item.uriTemplate), style) }),
    ),
  );
  return firsts(all, 'uriTemplate');
}

/** Removes duplicates: with unchanged URIs, the first server that lists a URI provides it. */
function firsts(items: Item[], key: string): Item[] {
  const seen = new Map<unknown, Item>();
  for (const item of items) if (!seen.has(item[key])) seen.set(item[key], item);
  return [...seen.values()];
}

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

/** Returns the item under its exposed name or URI, with its own one and its server in `_meta`. */
export function provenance(item: Item, server: string, exposed: Item): Item {
  const meta = isRecord(item._meta) ? item._meta : {};
  const [key = 'name'] = Object.keys(exposed);
  return { ...item, ...exposed, _meta: { ...meta, 'dev.mcpx/server': server, [`dev.mcpx/${key}`]: item[key] } };
}
