/** `inspect {query}`: lists the tools that match a query, best first, within a fixed number of tokens. */
import { type Hit, USUAL_HITS } from '../../catalog/search/search.ts';
import type { Settings } from '../../config/config.ts';
import { McpxError, messageOf } from '../../errors.ts';
import { clean, cut, oneLine } from '../../render/text.ts';
import { aboutTool } from '../../render/title.ts';
import { estimateTokens } from '../../render/token-estimate.ts';
import { firstSentence, parameterList, renderTool } from '../../render/typescript.ts';
import { noServers, some } from '../../router/not-found.ts';
import type { ServerView } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';
import { integer } from './inspect-result.ts';

/** Estimated tokens of the whole answer for the usual number of tools, and tokens reserved for the name of each further tool. */
const BUDGET = 300;
const NAME = 14;
/** Number of tools that are shown with signature and first sentence, and the tokens of such a signature. */
const IN_FULL = { hits: 3, signature: 90 };
const MAX_LIMIT = 100;
/** Estimated tokens of one of the nearest tools with its parameters. */
const NEAREST = 40;
/** Maximum characters of a tool's sentence. */
const SENTENCE = 80;
/** Maximum characters of the query that an answer repeats. */
const QUOTED = 80;

/** Returns the query in the arguments of `inspect`; undefined if there is none. */
export function questionOf({ query }: Params): string | undefined {
  if (query === undefined || query === null || query === '') return undefined;
  if (typeof query === 'string') return query;
  throw new McpxError('arguments', '"query" must be a string');
}

/** An answer of `inspect` before it is cut to size. */
export interface Description {
  text: string;
  structured?: Params | false;
}

type Deps = Pick<ClientDeps, 'router' | 'settings' | 'listed' | 'search'>;

/** Searches all servers that the client may see, or one of them; throws not_found for a server that it may not see. */
export async function findTools(args: Params, only: string | undefined, deps: Deps): Promise<Description> {
  const { router, settings, listed, search } = deps;
  const [question = '', limit] = [questionOf(args), Math.min(MAX_LIMIT, integer(args, 'limit', USUAL_HITS, 1))];
  await (only === undefined ? listed() : router.server(only));
  const servers = router.servers();
  const nearest = await search.find(
    question,
    { servers, revision: router.revision(), only },
    Math.max(limit, IN_FULL.hits),
  );
  const hits = nearest.slice(0, limit);
  const searched = only === undefined ? servers : servers.filter(({ name }) => name === only);
  // The nearest tools of a server that the caller has named are no strangers.
  const isListed = nearest.slice(0, IN_FULL.hits).some(({ fits }) => fits) || (only !== undefined && hits.length > 0);
  const nothing = isListed ? undefined : nothingFor(question, hits, searched, router.configFile);
  const text = [nothing ?? describeHits(hits, settings), ...unsearched(searched)];
  const structured = settings.front.structured === 'always' && { tools: hits.map(namesOf) };
  return { text: text.join('\n'), structured };
}

/** Returns one line per tool: the first ones with signature and sentence, the others as short as the budget requires. */
export function describeHits(hits: Hit[], { compression }: Pick<Settings, 'compression'>): string {
  const lines: string[] = [];
  let left = BUDGET + NAME * Math.max(0, hits.length - USUAL_HITS);
  for (const [place, hit] of hits.entries()) {
    const room = left - NAME * (hits.length - place - 1);
    const forms = formsOf(hit, compression).map((text) => ({ text, tokens: estimateTokens(text) }));
    const [signature, sentence, parameters, name] = forms;
    const wanted = place < IN_FULL.hits ? [signature, sentence, parameters, name] : [parameters, name];
    const line =
      wanted.find(
        (form) => form !== undefined && form.tokens <= room && (form !== signature || form.tokens <= IN_FULL.signature),
      ) ?? name;
    if (line === undefined) break;
    lines.push(line.text);
    left -= line.tokens;
  }
  return lines.join('\n');
}

/** Returns the forms of a line, from the longest to the shortest. */
function formsOf(hit: Hit, { schema, maxDescription }: Settings['compression']): string[] {
  const { server, tool } = hit;
  const name = nameOf(hit);
  const said = cut(firstSentence(aboutTool(tool)), Math.min(SENTENCE, maxDescription));
  const called = `${name}(${parameterList(tool.inputSchema)})`;
  const short = said === '' ? called : `${called} // ${said}`;
  const signature = renderTool(tool, { form: 'short', maxDescription: Math.min(SENTENCE, maxDescription) });
  const isSignature = schema === 'typescript' && !signature.startsWith('{');
  return [...(isSignature ? [`${server}.${signature}`] : [short]), short, called, name];
}

/** Returns one line for a question of which no tool has enough. */
function nothingFor(question: string, hits: Hit[], servers: ServerView[], configFile: string | undefined): string {
  const said = `no tool for "${cut(oneLine(clean(question)), QUOTED)}"`;
  if (hits.length > 0) return `${said}; nearest: ${hits.map(nearestForm).join(', ')}`;
  if (servers.length === 0) return `${said}: ${noServers(configFile)}`;
  return `${said}; the servers are: ${some(servers.map(({ name }) => name))}`;
}

/** Returns a name; of the first tools with short parameters, so that a call needs no look-up if one of them is the right one. */
function nearestForm(hit: Hit, place: number): string {
  const called = `${nameOf(hit)}(${parameterList(hit.tool.inputSchema)})`;
  return place < IN_FULL.hits && estimateTokens(called) <= NEAREST ? called : nameOf(hit);
}

function nameOf({ server, tool }: Hit): string {
  return `${server}.${oneLine(clean(tool.name))}`;
}

/** Reports the servers whose tools are unknown, and which the search did not cover. */
function unsearched(servers: ServerView[]): string[] {
  return servers
    .filter(({ entry, tools }) => entry.listing.kind !== 'listed' && tools.length === 0)
    .map(({ name, entry: { listing } }) => {
      const why =
        listing.kind === 'failed' ? `not available: ${messageOf(listing.error).split('\n')[0]}` : 'still starting';
      return `not searched: ${name}: ${why}`;
    });
}

function namesOf({ server, tool }: Hit): Params {
  const { name, description } = tool;
  return { server, name, ...(description !== undefined && { description }) };
}
