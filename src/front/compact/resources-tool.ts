/** The `resources` tool: lists or reads resources, for clients whose models can use only tools. */

import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js';
import { exposeUri, fitsTemplate, type Located, locateUri } from '../../catalog/exposed-uris.ts';
import type { Item } from '../../catalog/listing.ts';
import { McpxError } from '../../errors.ts';
import { cut, nearest, oneLine } from '../../render/text.ts';
import { textBlock } from '../../render/text-block.ts';
import { didYouMean } from '../../router/not-found.ts';
import type { RequestContext, ServerView, ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { type Dialect, dialectOf, written } from './dialect.ts';
import { inspectResult, RESULT_URI } from './inspect-result.ts';
import { shapeResult } from './results.ts';
import { readTarget } from './tool-target.ts';

type Deps = Pick<ClientDeps, 'router' | 'settings' | 'listed' | 'clientResults'>;

/** Maximum code points of a description in a list. */
const MAX_ABOUT = 120;

export async function readResources(args: Params, way: RequestContext, deps: Deps): Promise<ToolResult> {
  const { router, listed, clientResults, settings } = deps;
  const dialect = dialectOf(settings.front);
  const readOn = (part: Params) => written(dialect.inspect, part);
  const shaped = (result: ToolResult, title: string) => shapeResult(result, { settings, clientResults, title, readOn });
  const { server, uri } = readPlace(args);
  if (uri?.startsWith(RESULT_URI)) return inspectResult({ result: uri.slice(RESULT_URI.length) }, deps);
  await listed(undefined, 'all');
  const views = server === undefined ? router.servers() : [await router.server(server)];
  if (uri === undefined) return shaped(listOf(views, dialect), 'resources');
  const found = locateResource(uri, server, views);
  const params = { uri: found.uri };
  const answer = await router.forward({ ...way, ...of(found), method: 'resources/read', params });
  return shaped(contentOf(answer, found.server, settings.naming.resources), `resource ${found.uri}`);
}

/** Matches a URI scheme and its colon: https://www.rfc-editor.org/rfc/rfc3986#section-3.1 */
const SCHEME = /^[a-z][a-z0-9+.-]*:/i;

/** Reads `server_name` and `uri`, or `method`, which is a server's name, optionally followed by a dot and a URI. */
function readPlace(args: Params): { server?: string | undefined; uri?: string | undefined } {
  const uri = text(args, 'uri');
  if (text(args, 'method') === undefined || text(args, 'server_name') !== undefined) {
    return { server: text(args, 'server_name'), uri };
  }
  const { server, tool: rest = '' } = readTarget({ method: args.method });
  if (server === undefined) return { server: rest, uri };
  return { server, uri: uri ?? (SCHEME.test(rest) ? rest : undefined) };
}

function of({ server, uri }: Located) {
  return { server, kind: 'resource' as const, name: uri };
}

function listOf(views: ServerView[], dialect: Dialect): ToolResult {
  const lines = views.flatMap(({ name, resources, templates }) => [
    ...(resources.length + templates.length > 0 ? [`${name}:`] : []),
    ...resources.map((item) => `  ${item.uri}${about(item)}`),
    ...templates.map((item) => `  ${item.uriTemplate}${about(item)}`),
  ]);
  const owner = views.find(({ resources }) => resources.length > 0)?.name;
  const example = { ...(owner !== undefined && dialect.server(owner)), uri: '…' };
  const text =
    lines.length === 0
      ? 'There are no resources.'
      : [...lines, `read one: ${written('resources', example)}`].join('\n');
  return { content: [textBlock(text)] } satisfies CallToolResult;
}

function about({ name, title, description, mimeType }: Item): string {
  const words = [title ?? name, description].filter((part) => typeof part === 'string' && part !== '').join(': ');
  const type = typeof mimeType === 'string' ? ` (${mimeType})` : '';
  return `${words === '' ? '' : ` — ${cut(oneLine(words), MAX_ABOUT)}`}${type}`;
}

/** Hints for a URI that does not identify a single server. */
export interface ResourceHints {
  which: string;
  list: string;
}

const FOR_MODELS: ResourceHints = {
  which: 'say which one in "server_name"',
  list: 'resources without a uri lists them; with "server_name" any uri of that server can be read',
};

/**
 * Returns the server of a URI: an exposed URI contains it; any other belongs to the named server or to the only one
 * that has it.
 */
export function locateResource(
  uri: string,
  server: string | undefined,
  views: ServerView[],
  hints: ResourceHints = FOR_MODELS,
): Located {
  const exposed = locateUri(uri);
  if (exposed !== undefined) return exposed;
  if (server !== undefined) return { server, uri };
  const listing = views.filter(({ resources }) => resources.some((item) => item.uri === uri));
  const fitting = views.filter(({ templates }) =>
    templates.some(({ uriTemplate }) => fitsTemplate(String(uriTemplate), uri)),
  );
  const owners = (listing.length > 0 ? listing : fitting).map(({ name }) => name);
  const [owner, ...others] = owners;
  if (owner !== undefined && others.length === 0) return { server: owner, uri };
  if (owner !== undefined) {
    throw new McpxError('not_found', `several servers have a resource "${uri}": ${owners.join(', ')}`, {
      hint: hints.which,
    });
  }
  const known = views.flatMap(({ resources }) => resources.map((item) => String(item.uri)));
  throw new McpxError('not_found', `no server lists a resource "${uri}"${didYouMean(nearest(uri, known))}`, {
    hint: hints.list,
  });
}

/** Converts resource contents to content blocks: text, image or audio, and an embedded resource for anything else. */
function contentOf(answer: unknown, server: string, style: Deps['settings']['naming']['resources']): ToolResult {
  const contents = isRecord(answer) && Array.isArray(answer.contents) ? answer.contents.filter(isRecord) : [];
  const content = contents.map((one) => {
    const { text, blob, mimeType, uri } = one;
    if (typeof text === 'string') return { type: 'text', text };
    const kind = /^(image|audio)\//.exec(String(mimeType))?.[1];
    if (kind !== undefined && typeof blob === 'string') return { type: kind, data: blob, mimeType };
    return { type: 'resource', resource: { ...one, uri: exposeUri({ server, uri: String(uri) }, style) } };
  });
  return { content };
}

function text(args: Params, key: string): string | undefined {
  const value = args[key];
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new McpxError('arguments', `"${key}" must be a string`);
}
