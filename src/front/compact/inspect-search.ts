/** `inspect {query}`: lists the tools that match a query, best first, within a fixed number of tokens. */
import { type Hit, MAX_HITS } from '../../catalog/search/search.ts';
import type { Settings } from '../../config/config.ts';
import { McpxError, messageOf } from '../../errors.ts';
import { clean, cut, nearest, oneLine } from '../../render/text.ts';
import { aboutTool } from '../../render/title.ts';
import { estimateTokens } from '../../render/token-estimate.ts';
import { firstSentence, parameterList, renderTool } from '../../render/typescript.ts';
import { didYouMean, noServers, some } from '../../router/not-found.ts';
import type { ServerView } from '../../router/router.ts';
import type { Params } from '../../wire/message.ts';
import type { ClientDeps } from '../front-interface.ts';

/** Estimated tokens of the whole answer, and tokens reserved for the name of each further tool. */
const BUDGET = 300;
const NAME = 14;
/** Maximum tokens of a signature; a longer one is replaced by its parameter names. */
const SIGNATURE = 90;
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
export async function findTools(question: string, only: string | undefined, deps: Deps): Promise<Description> {
  const { router, settings, listed, search } = deps;
  await (only === undefined ? listed() : router.server(only));
  const servers = router.servers();
  const hits = await search.find(question, { servers, revision: router.revision(), only });
  const searched = only === undefined ? servers : servers.filter(({ name }) => name === only);
  const text = [
    hits.length > 0 ? describeHits(hits, settings) : nothingFor(question, searched, router.configFile),
    ...unsearched(searched),
  ];
  const structured = settings.front.structured === 'always' && { tools: hits.map(namesOf) };
  return { text: text.join('\n'), structured };
}

/** Returns one line per tool; later tools may get shorter lines. */
export function describeHits(hits: Hit[], { compression }: Pick<Settings, 'compression'>): string {
  const lines: string[] = [];
  let left = BUDGET;
  for (const [place, hit] of hits.slice(0, MAX_HITS).entries()) {
    const reserved = NAME * (Math.min(hits.length, MAX_HITS) - place - 1);
    const forms = formsOf(hit, compression).map((text) => ({ text, tokens: estimateTokens(text) }));
    const [fullest, ...shorter] = forms.filter(({ tokens }) => tokens <= left - reserved);
    const first = fullest?.text === forms[0]?.text && (fullest?.tokens ?? 0) > SIGNATURE ? shorter[0] : fullest;
    if (first === undefined) break;
    lines.push(first.text);
    left -= first.tokens;
  }
  return lines.join('\n');
}

/** Returns the forms of a line, from the longest to the shortest. */
function formsOf({ server, tool }: Hit, { schema, maxDescription }: Settings['compression']): string[] {
  const name = `${server}.${oneLine(clean(tool.name))}`;
  const said = cut(firstSentence(aboutTool(tool)), Math.min(SENTENCE, maxDescription));
  const called = `${name}(${parameterList(tool.inputSchema)})`;
  const short = said === '' ? called : `${called} // ${said}`;
  const signature = renderTool(tool, { form: 'short', maxDescription: Math.min(SENTENCE, maxDescription) });
  const isSignature = schema === 'typescript' && !signature.startsWith('{');
  return [...(isSignature ? [`${server}.${signature}`] : [short]), short, called, name];
}

function nothingFor(question: string, servers: ServerView[], configFile: string | undefined): string {
  const names = servers.flatMap(({ name, tools }) => tools.map((tool) => `${name}.${tool.name}`));
  const close = didYouMean(nearest(question, names));
  const where =
    servers.length === 0 ? noServers(configFile) : `The servers are: ${some(servers.map(({ name }) => name))}`;
  return `No tool matches "${cut(oneLine(clean(question)), QUOTED)}"${close === '' ? '.' : close}\n${where}`;
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
