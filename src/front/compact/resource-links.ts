/** Adds a line for each `resource_link` of a result that tells the model how to read it: several clients drop the links. */
import { locateUri } from '../../catalog/exposed-uris.ts';
import type { Settings } from '../../config/config.ts';
import { cleanName, cut } from '../../render/text.ts';
import { followingBlock } from '../../render/text-block.ts';
import type { ToolResult } from '../../router/router.ts';
import { isRecord, type Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { dialectOf, written } from './dialect.ts';
import { RESULT_URI } from './inspect-result.ts';
import { isText } from './result-values.ts';
import { hasResources } from './tool-definitions.ts';

type Deps = Pick<ClientDeps, 'router' | 'settings'>;

/** Maximum lines of one result, and their maximum characters: a `data:` URI may contain a whole file. */
const MAX_LINES = 20;
const MAX_CHARS = 4000;
/** Maximum code points of a name. */
const MAX_NAME = 80;

interface Link {
  name: string;
  /** The URI that the client reads. */
  exposed: string;
  /** The URI of the server. */
  uri: string;
}

/**
 * Adds a text block about the links of a result, whose URIs are exposed already. `among` is the number of results that
 * share the limit.
 */
export function withLinkLines(result: ToolResult, server: string, among: number, deps: Deps): ToolResult {
  const { router, settings } = deps;
  const content = result.content ?? [];
  const links = content.flatMap((block) => linkIn(block, settings)).filter(({ uri }) => router.sees(server, uri));
  if (links.length === 0) return result;
  const lines = told(links, howToRead(server, deps), among);
  // A client that drops the links may join the texts around them.
  return { ...result, content: [...content, followingBlock(content.filter(isText), lines.join('\n'))] };
}

function linkIn(block: unknown, { naming }: Pick<Settings, 'naming'>): Link[] {
  if (!isRecord(block) || block.type !== 'resource_link' || typeof block.uri !== 'string') return [];
  const named = [block.title, block.name].find((name) => typeof name === 'string' && name !== '');
  const name = cut(cleanName(String(named ?? '')), MAX_NAME);
  const uri = naming.resources === 'keep' ? block.uri : (locateUri(block.uri)?.uri ?? block.uri);
  return [{ name, exposed: block.uri, uri }];
}

/** Returns how a link is read: with the `resources` tool if the client has it, otherwise with `resources/read`. */
function howToRead(server: string, { router, settings }: Deps): (link: Link) => string {
  const servers = router.servers();
  const hasTool = hasResources(servers);
  const offers = servers.find(({ name }) => name === server)?.entry.handshake?.capabilities.resources !== undefined;
  return ({ uri, exposed }) => {
    if (!offers && /^https?:/i.test(uri)) return uri;
    if (!hasTool) return `read it with ${written('resources/read', { uri: exposed })}`;
    // A URI that another mcpx exposed looks like one of this mcpx, so it is passed in its exposed form.
    const isForeign = locateUri(uri) !== undefined || uri.startsWith(RESULT_URI);
    const place: Params = isForeign ? { uri: exposed } : { ...dialectOf(settings.front).server(server), uri };
    return `read it with ${written('resources', place)}`;
  };
}

/** Returns the lines that fit, and a last line with the number of the other links. */
function told(links: Link[], how: (link: Link) => string, among: number): string[] {
  const lines: string[] = [];
  let left = MAX_CHARS / among;
  for (const link of links) {
    if (lines.length >= Math.max(1, Math.floor(MAX_LINES / among))) break;
    if (link.exposed.length > left) continue;
    const line = `resource${link.name === '' ? '' : ` "${link.name}"`}: ${how(link)}`;
    if (line.length > left) continue;
    lines.push(line);
    left -= line.length;
  }
  const more = links.length - lines.length;
  const others = `${more}${lines.length === 0 ? '' : ' more'} resource${more === 1 ? '' : 's'}`;
  if (more > 0) lines.push(lines.length === 0 ? `[the result links to ${others}]` : `and ${others}`);
  return lines;
}
