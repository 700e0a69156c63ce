/** Search over the tools that a client may see; the index is built by the first search, or before it if that takes long. */

import { createHash } from 'node:crypto';
import { BoundedMap } from '../../bounded-map.ts';
import type { ServerEntry } from '../catalog.ts';
import type { Tool } from '../listing.ts';
import type { Prior } from './ranking.ts';
import type { Corpus, Searchable } from './search-index.ts';

export interface Hit {
  server: string;
  tool: Tool;
  /** The score, comparable within one response only. */
  score: number;
  /** False if the tool is only the nearest one, and covers little of the question. */
  fits: boolean;
}

/** The servers to search, with the tools that are visible to the client. */
export interface Scope {
  servers: readonly { name: string; tools: readonly Tool[]; entry?: Pick<ServerEntry, 'spec' | 'handshake'> }[];
  /** Changes whenever the offer of a server may have changed. */
  revision: string;
  /** Restricts the search to the tools of this server. */
  only?: string | undefined;
}

export interface ToolSearch {
  /** Returns the nearest tools, best first, at most `limit` of them. */
  find(question: string, scope: Scope, limit?: number): Promise<Hit[]>;
  /**
   * Builds the index in the background after a delay, if there are so many tools that the first search would have to
   * wait.
   */
  prepare(scope: () => Scope): void;
}

/** Maximum number of indexes; an index is shared by all sessions that see the same tools. */
const MAX_KEPT = 4;
/** Number of tools that a search returns if nothing else is asked for. */
export const USUAL_HITS = 10;
/**
 * Milliseconds until the index is built, because a client that has just listed the tools sends other requests first.
 */
const PAUSE = 1000;
/** Number of tools up to which the first search builds the index without a noticeable delay. */
const MANY = 300;
export function createToolSearch(prior: Prior = () => 0): ToolSearch {
  const kept = new BoundedMap<string, Promise<Corpus>>(MAX_KEPT);
  const keyOf = createKeys();
  /** Returns the index of a scope; concurrent searches share one build. */
  const corpusOf = (scope: Scope): Promise<Corpus> => {
    const key = keyOf(scope);
    const corpus = kept.get(key) ?? load(scope);
    kept.set(key, corpus);
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
        // An error occurs again in the next search, and is reported there.
        if (tools > MANY) corpusOf(seen).catch(() => undefined);
      }, PAUSE).unref();
    },
    async find(question, scope, limit = USUAL_HITS) {
      const corpus = await corpusOf(scope);
      const { search } = await import('./ranking.ts');
      const found = await search(question, corpus, { prior, limit, only: scope.only });
      return found.map(({ server, tool, score, fits }) => ({ server, tool: asSeen(tool, server, scope), score, fits }));
    },
  };
}

async function load({ servers }: Scope): Promise<Corpus> {
  const { createCorpus } = await import('./search-index.ts');
  return createCorpus(servers.map(searchable));
}

/**
 * Returns the client's own definition of a tool. Clients that see the same names may see different definitions if
 * changed ones are held back.
 */
function asSeen(found: Tool, server: string, { servers }: Scope): Tool {
  const tools = servers.find(({ name }) => name === server)?.tools ?? [];
  return tools.find(({ name }) => name === found.name) ?? found;
}

/** Returns a function that makes the key of an index: the visible names and the revision. */
function createKeys(): (scope: Scope) => string {
  // An unchanged list of thousands of tools is mostly the same array.
  const digests = new WeakMap<readonly Tool[], string>();
  const digestOf = (tools: readonly Tool[]): string => {
    const digest = digests.get(tools) ?? digestOfNames(tools);
    digests.set(tools, digest);
    return digest;
  };
  return ({ servers, revision }) => {
    const hash = createHash('sha256').update(revision);
    for (const { name, tools } of servers) hash.update(`\n${JSON.stringify(name)}${digestOf(tools)}`);
    return hash.digest('base64');
  };
}

function digestOfNames(tools: readonly Tool[]): string {
  const hash = createHash('sha256');
  for (const { name } of tools) hash.update(`\0${name}`);
  return hash.digest('base64');
}

function searchable({ name, tools, entry }: Scope['servers'][number]): Searchable {
  return { name, tools, about: entry?.spec.description, instructions: entry?.handshake?.instructions };
}
