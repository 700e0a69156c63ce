/** Measures what a client reads with mcpx and would have read without: the list of tools, answers of `inspect`, results. */
import type { Tool } from '../catalog/list.ts';
import type { Ledger } from '../observe/ledger.ts';
import { estimateTokens, toolTokens } from '../render/tokens.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import type { Caller } from '../upstream/pool.ts';
import { CLIENTS, type KnownClient, knownClient } from './clients.ts';
import { type Offered, offeredBy, seenBy, shownLength, textLength } from './shown.ts';

/** What a client is shown in place of all that the servers have. */
interface Shown {
  tools: Tool[];
  instructions: string;
}

/** What a client reads before the first question, in tokens, which are estimates. */
export interface Reading {
  /** How many tools there are. */
  tools: number;
  without: number;
  with: number;
  /** Clients that show a model little of a tool before it searches, and what they read. */
  deferring: { client: string; without: number; with: number }[];
}

/** Who reads a menu. */
type Reader = Pick<Caller, 'lasts' | 'principal' | 'clientInfo'>;

export interface Meter {
  /** A client was shown `tools` and `instructions` for all that the servers have. A client without sessions reads them once in a while, however often it asks. */
  menu(servers: ServerView[], shown: Shown, reader: Reader): void;
  /** The same as it would be, for whoever wants to know; it is not counted. */
  reading(servers: ServerView[], shown: Shown): Reading;
  /** `inspect` answered. */
  lookup(answer: ToolResult): void;
  /** A tool's result as its server sent it, and as the client gets it. */
  result(original: ToolResult, shaped: ToolResult, client?: KnownClient): void;
}

/** A client without known limits. */
const NOBODY: KnownClient = { title: '', names: [] };

const own = (shown: Shown): Offered => ({ server: 'mcpx', ...shown });

export function createMeter(ledger: Pick<Ledger, 'add'>): Meter {
  const sizeOf = remembered(listedLength);
  const tokensOf = remembered(toolTokens);
  const lengthOf = ({ tools, instructions = '' }: Offered) => sum(tools.map(sizeOf)) + instructions.length;
  const costOf = ({ tools, instructions = '' }: Offered) => sum(tools.map(tokensOf)) + estimateTokens(instructions);
  const isFirst = createFirstReading();
  return {
    menu(servers, shown, reader) {
      if (reader.lasts === 'request' && !isFirst(reader)) return;
      const client = knownClient(reader.clientInfo) ?? NOBODY;
      ledger.add({
        menus: 1,
        listedWithout: sum(seenBy(client, offeredBy(servers)).offered.map(lengthOf)),
        listedWith: sum(seenBy(client, [own(shown)]).offered.map(lengthOf)),
      });
    },
    reading(servers, shown) {
      const offered = offeredBy(servers);
      const costs = (client: KnownClient) => ({
        without: sum(seenBy(client, offered).offered.map(costOf)),
        with: sum(seenBy(client, [own(shown)]).offered.map(costOf)),
      });
      return {
        tools: sum(offered.map(({ tools }) => tools.length)),
        ...costs(NOBODY),
        deferring: CLIENTS.filter(({ defers }) => defers).map((client) => ({ client: client.title, ...costs(client) })),
      };
    },
    lookup(answer) {
      ledger.add({ lookups: 1, lookedUp: textLength(answer) });
    },
    result(original, shaped, client) {
      // The answer of mcpx is one that the client shows whole.
      const [before, after] = [shownLength(original, client), textLength(shaped)];
      if (after < before) ledger.add({ reencoded: 1, resultsBefore: before, resultsAfter: after });
    },
  };
}

/** ms after which a client without sessions begins another conversation, and how many such clients are told apart. */
const CONVERSATION = 30 * 60_000;
const MAX_CLIENTS = 1000;

/** Whether a client without sessions reads a menu for the first time in a while. Those of one token that do not say who they are count as one. */
function createFirstReading(): (reader: Reader) => boolean {
  const seen = new Map<string, number>();
  return ({ principal, clientInfo }) => {
    const key = JSON.stringify([principal, clientInfo?.name, clientInfo?.version]);
    const last = seen.get(key) ?? Number.NEGATIVE_INFINITY;
    const now = performance.now();
    // The one that asked last is the last to be forgotten.
    seen.delete(key);
    seen.set(key, now);
    const [oldest] = seen.keys();
    if (seen.size > MAX_CLIENTS && oldest !== undefined) seen.delete(oldest);
    return now - last > CONVERSATION;
  };
}

/** A definition stays the same object for as long as it is the same. */
function remembered(measure: (tool: Tool) => number): (tool: Tool) => number {
  const known = new WeakMap<Tool, number>();
  return (tool) => {
    const size = known.get(tool) ?? measure(tool);
    known.set(tool, size);
    return size;
  };
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** Characters of what clients put before a model: titles, annotations and `_meta` stay with the client. */
function listedLength({ name, description, inputSchema }: Tool): number {
  if (inputSchema === undefined) return `${name} ${description ?? ''}\n`.length;
  return JSON.stringify({ name, description, inputSchema }).length;
}
