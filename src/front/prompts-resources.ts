/** MCP methods for prompts, resources, completion and logging, with exposed names and URIs, in both fronts. */
import { exposeNames, mayBeOf, type Named } from '../catalog/exposed-names.ts';
import { exposeTemplate, exposeUri, type Located } from '../catalog/exposed-uris.ts';
import type { Item } from '../catalog/listing.ts';
import { joinPages, mapPages, type Pageable, pageOf } from '../catalog/pagination.ts';
import type { Settings } from '../config/config.ts';
import { RpcError } from '../errors.ts';
import { isLogLevel } from '../mcp/log-levels.ts';
import { asName } from '../render/text.ts';
import type { Forward, RequestContext, ServerView } from '../router/router.ts';
import { INVALID_PARAMS, isRecord, type Params } from '../wire/message.ts';
import { readResult, resultResources } from './compact/inspect-result.ts';
import type { ExposedPrompt } from './exposed-tables.ts';
import type { Client, Method } from './front-interface.ts';
import { locateResource, subscribedAt } from './locate-resource.ts';
import { refreshAndFind } from './refresh-and-find.ts';
import { exposeMessages } from './rewrite-uris.ts';

const list =
  (key: string, items: (client: Client) => Pageable<Item>): Method =>
  async (params, _, client) => {
    await client.listed(undefined, 'all');
    return pageOf(items(client), key, params);
  };

export const PROMPT_AND_RESOURCE_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  ['prompts/list', list('prompts', exposedPrompts)],
  ['prompts/get', getPrompt],
  // The results that mcpx stores are resources of mcpx itself; only the compact front stores any.
  ['resources/list', list('resources', (client) => joinPages(exposedResources(client), resultResources(client)))],
  ['resources/templates/list', list('resourceTemplates', exposedTemplates)],
  ['resources/read', readResource],
  ['resources/subscribe', subscribe],
  ['resources/unsubscribe', unsubscribe],
  ['logging/setLevel', setLevel],
  ['completion/complete', completeArgument],
]);

async function promptOf(name: unknown, way: RequestContext, client: Client): Promise<ExposedPrompt> {
  const { router, settings, exposed: names } = client;
  const exposed = String(name);
  const find = () => names.prompts().get(exposed);
  const mayHave = ({ name: server, entry: { spec } }: ServerView) =>
    mayBeOf(spec.label ?? server, exposed, settings.naming);
  const prompt = find() ?? (await refreshAndFind({ find, mayHave, lists: 'all' }, client));
  if (prompt !== undefined) return prompt;
  const pick = (denied: Named[]) => exposeNames(denied, settings.naming).table.get(exposed);
  router.missed('prompt', { name: exposed, pick }, way);
  throw new RpcError(INVALID_PARAMS, `Unknown prompt: ${asName(name)}`);
}

async function getPrompt(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const { server, name } = await promptOf(params.name, way, client);
  const address = { server, kind: 'prompt', name, method: 'prompts/get' } as const;
  const result = await client.router.forward({ ...way, ...address, params: { ...params, name }, questions: 'pass' });
  return exposeMessages(result, server, client.settings.naming.resources);
}

interface ResourceRequest extends Pick<Forward, 'method' | 'via' | 'routed'> {
  resource: Located;
  params: Params;
}

function requestResource(
  { resource: { server, uri }, params, ...more }: ResourceRequest,
  way: RequestContext,
  client: Client,
): Promise<unknown> {
  const address = { server, kind: 'resource', name: uri } as const;
  return client.router.forward({ ...way, ...more, ...address, params: { ...params, uri }, questions: 'pass' });
}

async function readResource(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const stored = await readResult(params.uri, client);
  if (stored !== undefined) return stored;
  const resource = await locateResource(params.uri, way, client);
  const result = await requestResource({ resource, params, method: 'resources/read' }, way, client);
  return rewriteContents(result, { resource, asked: params.uri }, client);
}

/** Rewrites the URIs in the contents: the requested one as the client sent it, others as exposed URIs. */
function rewriteContents(
  result: unknown,
  { resource: { server, uri }, asked }: { resource: Located; asked: unknown },
  { settings }: Client,
): unknown {
  const style = settings.naming.resources;
  if (style === 'keep' || !isRecord(result) || !Array.isArray(result.contents)) return result;
  const contents = result.contents.map((one) => {
    if (!isRecord(one) || typeof one.uri !== 'string') return one;
    return { ...one, uri: one.uri === uri ? asked : exposeUri({ server, uri: one.uri }, style) };
  });
  return { ...result, contents };
}

async function subscribe(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const resource = await locateResource(params.uri, way, client);
  return client.subscriptions.subscribe(resource, { client, asked: String(params.uri) }, (routed) =>
    requestResource({ resource, params, method: 'resources/subscribe', routed }, way, client),
  );
}

async function unsubscribe(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const resource = subscribedAt(params.uri, client) ?? (await locateResource(params.uri, way, client));
  const via = client.subscriptions.unsubscribe(resource, client.identity.key);
  if (via === undefined) return {};
  return requestResource({ resource, params, method: 'resources/unsubscribe', via }, way, client);
}

async function setLevel({ level }: Params, _: RequestContext, client: Client): Promise<unknown> {
  if (!isLogLevel(level)) throw new RpcError(INVALID_PARAMS, `Invalid log level: ${asName(level)}`);
  client.logLevels.set(level, client.identity.key);
  client.identity = { ...client.identity, logLevel: level };
  return {};
}

/** Completes an argument of a prompt, by its exposed name, or of a resource template, by its exposed URI. */
async function completeArgument(params: Params, way: RequestContext, client: Client): Promise<unknown> {
  const { ref } = params;
  if (!isRecord(ref)) throw new RpcError(INVALID_PARAMS, '"ref" must be an object');
  const method = 'completion/complete';
  if (ref.type === 'ref/prompt') {
    const { server, name } = await promptOf(ref.name, way, client);
    const own = { ...params, ref: { ...ref, name } };
    return client.router.forward({ ...way, server, kind: 'prompt', name, method, params: own });
  }
  const { server, uri } = await locateResource(ref.uri, way, client);
  const own = { ...params, ref: { ...ref, uri } };
  return client.router.forward({ ...way, server, kind: 'resource', name: uri, method, params: own });
}

function exposedPrompts({ exposed }: Client): Pageable<Item> {
  return mapPages([...exposed.prompts()], ([name, { server, item }]) => provenance(item, server, { name }));
}

function exposedResources({ router, settings }: Client): Pageable<Item> {
  const style = settings.naming.resources;
  const listed = itemsOf(router.servers(), 'resources', 'uri', style);
  return mapPages(listed, ({ server, item }) =>
    provenance(item, server, { uri: exposeUri({ server, uri: String(item.uri) }, style) }),
  );
}

function exposedTemplates({ router, settings }: Client): Pageable<Item> {
  const style = settings.naming.resources;
  const listed = itemsOf(router.servers(), 'templates', 'uriTemplate', style);
  return mapPages(listed, ({ server, item }) =>
    provenance(item, server, { uriTemplate: exposeTemplate(server, String(item.uriTemplate), style) }),
  );
}

/** Returns the items without duplicates: with unchanged URIs, the first server that lists a URI provides it. */
function itemsOf(
  servers: ServerView[],
  list: 'resources' | 'templates',
  key: string,
  style: Settings['naming']['resources'],
): { server: string; item: Item }[] {
  const seen = new Map<string, { server: string; item: Item }>();
  for (const view of servers) {
    for (const item of view[list]) {
      // The name of a server has no space.
      const place = style === 'keep' ? String(item[key]) : `${view.name} ${item[key]}`;
      if (!seen.has(place)) seen.set(place, { server: view.name, item });
    }
  }
  return [...seen.values()];
}

/** Returns the item under its exposed name or URI, with its own one and its server in `_meta`. */
export function provenance(item: Item, server: string, exposed: Item): Item {
  const meta = isRecord(item._meta) ? item._meta : {};
  const [key = 'name'] = Object.keys(exposed);
  return { ...item, ...exposed, _meta: { ...meta, 'dev.mcpx/server': server, [`dev.mcpx/${key}`]: item[key] } };
}
