/** Measures what a client reads with mcpx and would have read without: the list of tools, answers of `inspect`, results. */
import type { Tool } from '../catalog/list.ts';
import type { Ledger } from '../observe/ledger.ts';
import { estimateTokens, toolTokens } from '../render/tokens.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';

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
}

export interface Meter {
  /** A client was shown `tools` and `instructions` for all that the servers have. */
  menu(servers: ServerView[], shown: Shown): void;
  /** The same as it would be, for whoever wants to know; it is not counted. */
  reading(servers: ServerView[], shown: Shown): Reading;
  /** `inspect` answered. */
  lookup(answer: ToolResult): void;
  /** A tool's result as its server sent it, and as the client gets it. */
  result(original: ToolResult, shaped: ToolResult): void;
}

export function createMeter(ledger: Pick<Ledger, 'add'>): Meter {
  const sizeOf = remembered(listedLength);
  const tokensOf = remembered(toolTokens);
  return {
    menu(servers, { tools, instructions }) {
      const without = servers.map(
        ({ tools, entry }) => sum(tools.map(sizeOf)) + (entry.hello?.instructions?.length ?? 0),
      );
      ledger.add({
        menus: 1,
        listedWithout: sum(without),
        listedWith: sum(tools.map(listedLength)) + instructions.length,
      });
    },
    reading(servers, { tools, instructions }) {
      const all = servers.flatMap((server) => server.tools);
      const words = servers.map(({ entry }) => entry.hello?.instructions ?? '');
      return {
        tools: all.length,
        without: sum(all.map(tokensOf)) + sum(words.map(estimateTokens)),
        with: sum(tools.map(toolTokens)) + estimateTokens(instructions),
      };
    },
    lookup(answer) {
      ledger.add({ lookups: 1, lookedUp: textLength(answer) });
    },
    result(original, shaped) {
      const [before, after] = [textLength(original), textLength(shaped)];
      if (after < before) ledger.add({ reencoded: 1, resultsBefore: before, resultsAfter: after });
    },
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
  return JSON.stringify({ name, description, inputSchema }).length;
}

/** Characters of text in a result. */
function textLength({ content }: ToolResult): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce<number>(
    (length, block) => length + (isRecord(block) && typeof block.text === 'string' ? block.text.length : 0),
    0,
  );
}
