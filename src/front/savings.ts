/** Measures the characters that a client reads with and without mcpx: tool lists, `inspect` answers and results. */
import { BoundedMap } from '../bounded-map.ts';
import type { Tool } from '../catalog/listing.ts';
import { beginSteps } from '../event-loop.ts';
import type { Ledger } from '../observe/savings-totals.ts';
import { estimateTokens, toolTokens } from '../render/token-estimate.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import type { ClientIdentity } from '../upstream/client-identity.ts';
import { CLIENTS, type KnownClient, knownClient } from './known-clients.ts';
import { type Offered, offeredBy, seenBy, shownLength, textLength } from './shown-to-model.ts';

/** The tools and instructions of mcpx that replace those of the servers. */
interface Shown {
  tools: Tool[];
  instructions: string;
}

/** Estimated tokens that a client reads before the first prompt. */
export interface Reading {
  /** Number of tools of all servers. */
  tools: number;
  without: number;
  with: number;
  /** The same estimates for clients that show the model little of each tool before it searches. */
  deferring: { client: string; without: number; with: number }[];
}

/** The client that reads a menu. */
type Reader = Pick<ClientIdentity, 'stateless' | 'principal' | 'clientInfo'>;

export interface Savings {
  /**
   * Counts a menu that a client read. A client without a session counts once per `CONVERSATION`, however often it
   * lists tools.
   */
  menu(servers: ServerView[], shown: Shown, reader: Reader): void;
  /** Returns the estimates without counting them. */
  reading(servers: ServerView[], shown: Shown): Promise<Reading>;
  /** Counts an answer of `inspect`. */
  lookup(answer: ToolResult): void;
  /** Counts a tool's result, as the server sent it and as the client gets it. */
  result(original: ToolResult, shaped: ToolResult, clientInfo: ClientIdentity['clientInfo']): void;
}

/** A client without known limits. */
const NOBODY: KnownClient = { title: '', names: [] };

const own = (shown: Shown): Offered => ({ server: 'mcpx', ...shown });

export function createSavings(ledger: Pick<Ledger, 'add'>): Savings {
  const sizeOf = remembered(listedLength);
  const tokensOf = remembered(toolTokens);
  const lengthOf = measureInSteps(sizeOf, ({ length }) => length);
  const costOf = measureInSteps(tokensOf, estimateTokens);
  const count = async (offered: Offered[], shown: Offered[]) => {
    ledger.add({ menus: 1, listedWithout: await lengthOf(offered), listedWith: await lengthOf(shown) });
  };
  const isFirst = createFirstReading();
  const limitsOf = rememberedClients();
  return {
    menu(servers, shown, reader) {
      if (reader.stateless && !isFirst(reader)) return;
      const client = knownClient(reader.clientInfo) ?? NOBODY;
      void count(seenBy(client, offeredBy(servers)).offered, seenBy(client, [own(shown)]).offered);
    },
    async reading(servers, shown) {
      const offered = offeredBy(servers);
      const costs = async (client: KnownClient) => ({
        without: await costOf(seenBy(client, offered).offered),
        with: await costOf(seenBy(client, [own(shown)]).offered),
      });
      const reading: Reading = {
        tools: offered.reduce((total, { tools }) => total + tools.length, 0),
        ...(await costs(NOBODY)),
        deferring: [],
      };
      for (const client of CLIENTS.filter(({ defers }) => defers))
        reading.deferring.push({ client: client.title, ...(await costs(client)) });
      return reading;
    },
    lookup(answer) {
      ledger.add({ lookups: 1, lookedUp: textLength(answer) });
    },
    result(original, shaped, clientInfo) {
      // Clients show the answer of mcpx in full.
      const [before, after] = [shownLength(original, limitsOf(clientInfo)), textLength(shaped)];
      if (after < before) ledger.add({ reencoded: 1, resultsBefore: before, resultsAfter: after });
    },
  };
}

/**
 * Milliseconds after which a client without a session starts a new conversation, and the maximum number of such
 * clients.
 */
const CONVERSATION = 30 * 60_000;
const MAX_CLIENTS = 1000;

/**
 * Returns a function that is true if a client without a session reads a menu for the first time in a conversation.
 * Clients of one token without `clientInfo` count as one.
 */
function createFirstReading(): (reader: Reader) => boolean {
  const seen = new BoundedMap<string, number>(MAX_CLIENTS);
  return ({ principal, clientInfo }) => {
    const key = JSON.stringify([principal, clientInfo?.name, clientInfo?.version]);
    const last = seen.get(key) ?? Number.NEGATIVE_INFINITY;
    const now = performance.now();
    seen.set(key, now);
    return now - last > CONVERSATION;
  };
}

/** Returns a function that looks a client program up once per session, and not for each of its results. */
function rememberedClients(): (clientInfo: ClientIdentity['clientInfo']) => KnownClient | undefined {
  const known = new WeakMap<object, { client: KnownClient | undefined }>();
  return (clientInfo) => {
    if (clientInfo === undefined) return undefined;
    const found = known.get(clientInfo) ?? { client: knownClient(clientInfo) };
    known.set(clientInfo, found);
    return found.client;
  };
}

/** Caches a measure by object identity: an unchanged definition stays the same object. */
function remembered(measure: (tool: Tool) => number): (tool: Tool) => number {
  const known = new WeakMap<Tool, number>();
  return (tool) => {
    const size = known.get(tool) ?? measure(tool);
    known.set(tool, size);
    return size;
  };
}

/** Returns a function that adds up the measures of all tools and instructions; with many tools, in several steps. */
function measureInSteps(
  toolSize: (tool: Tool) => number,
  textSize: (text: string) => number,
): (offered: Offered[]) => Promise<number> {
  return async (offered) => {
    const steps = beginSteps();
    let total = 0;
    for (const { tools, instructions = '' } of offered) {
      total += textSize(instructions);
      for (const tool of tools) {
        total += toolSize(tool);
        if (steps.isOver()) await steps.next();
      }
    }
    return total;
  };
}

/** Characters of a tool in the model's prompt; clients keep titles, annotations and `_meta` to themselves. */
function listedLength({ name, description, inputSchema }: Tool): number {
  if (inputSchema === undefined) return `${name} ${description ?? ''}\n`.length;
  return JSON.stringify({ name, description, inputSchema }).length;
}
