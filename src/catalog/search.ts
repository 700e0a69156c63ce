/** Search over the tools that somebody may see; what it needs is loaded and built by the first question, or before it where that takes long. */
import { createHash } from 'node:crypto';
import type { ServerEntry } from './catalog.ts';
import type { Corpus, Searchable } from './corpus.ts';
import type { Tool } from './list.ts';
import type { Prior } from './ranking.ts';

export interface Hit {
  server: string;
  tool: Tool;
  /** Comparable within one answer only. */
  score: number;
}

/** Where to search: the servers with the tools that may be seen of them. */
export interface Scope {
  servers: readonly { name: string; tools: readonly Tool[]; entry?: Pick<ServerEntry, 'spec' | 'hello'> }[];
  /** Another one whenever what a server offers may have changed. */
  revision: string;
  /** Only the tools of this server. */
  only?: string | undefined;
}

export interface ToolSearch {
  /** Tools that fit the question, best first. */
  find(question: string, scope: Scope): Promise<Hit[]>;
  /** Makes the search ready before the first question, in a while, where there are so many tools that it would have to wait. */
  prepare(scope: () => Scope): void;
}

/** What is built is shared by all sessions that see the same tools; this many sets at once. */
const MAX_KEPT = 4;
export const MAX_HITS = 10;
/** ms until the search is made ready: a client that has listed the tools has other things to do first. */
const PAUSE = 1000;
/** Fewer tools are taken in by the first question without anybody noticing. */
const MANY = 300;
/** Nothing is shown that fits so much worse than the best, the less so the further down. */
const WORTH = { first: 5, share: 0.3, later: 0.5 };

export function createToolSearch(prior: Prior = () => 0): ToolSearch {
  const kept = new Map<string, Promise<Corpus>>();
  /** Built once, however many ask while it is. */
  const corpusOf = (scope: Scope): Promise<Corpus> => {
    const key = keyOf(scope);
    const corpus = kept.get(key) ?? load(scope);
    kept.delete(key);
    kept.set(key, corpus);
    for (const oldest of [...kept.keys()].slice(0, -MAX_KEPT)) kept.delete(oldest);
    corpus.catch(() => kept.delete(key));
    return corpus;
  };
  let isPending = false;
  return {
    prepare(scope) {
      if (isPending) return;
      isPending = true;
      setTimeout(() => {
        isPending = false;
        const seen = scope();
        const tools = seen.servers.reduce((total, server) => total + server.tools.length, 0);
        // What goes wrong here goes wrong again for whoever asks, and is told there.
        if (tools > MANY) corpusOf(seen).catch(() => undefined);
      }, PAUSE).unref();
    },
    async find(question, scope) {
      const corpus = await corpusOf(scope);
      const { rank } = await import('./ranking.ts');
      const ranked = rank(question, corpus, prior).filter(({ server }) => server === (scope.only ?? server));
      const best = ranked[0]?.score ?? 0;
      return ranked
        .filter(({ score }, place) => score >= best * (place < WORTH.first ? WORTH.share : WORTH.later))
        .slice(0, MAX_HITS)
        .map(({ server, tool, score }) => ({ server, tool: asSeen(tool, server, scope), score }));
    },
  };
}

async function load({ servers }: Scope): Promise<Corpus> {
  const { createCorpus } = await import('./corpus.ts');
  return createCorpus(servers.map(searchable));
}

/** Two who see the same names may see different definitions, where changed ones are held back: each gets their own. */
function asSeen(found: Tool, server: string, { servers }: Scope): Tool {
  const tools = servers.find(({ name }) => name === server)?.tools ?? [];
  return tools.find(({ name }) => name === found.name) ?? found;
}

/** Names say who sees what; the revision says of which time. */
function keyOf({ servers, revision }: Scope): string {
  const hash = createHash('sha256').update(revision);
  for (const { name, tools } of servers) {
    hash.update(`\n${JSON.stringify(name)}`);
    for (const tool of tools) hash.update(`\0${tool.name}`);
  }
  return hash.digest('base64');
}

function searchable({ name, tools, entry }: Scope['servers'][number]): Searchable {
  return { name, tools, about: entry?.spec.description, instructions: entry?.hello?.instructions };
}
