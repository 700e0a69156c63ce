/** Measures what a client reads with mcpx and would have read without: the list of tools, answers of `inspect`, results. */
import type { Tool } from '../catalog/list.ts';
import type { Ledger } from '../observe/ledger.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';

export interface Meter {
  /** A client was shown `tools` and `instructions` for all that the servers have. */
  menu(servers: ServerView[], shown: { tools: Tool[]; instructions: string }): void;
  /** `inspect` answered. */
  lookup(answer: ToolResult): void;
  /** A tool's result as its server sent it, and as the client gets it. */
  result(original: ToolResult, shaped: ToolResult): void;
}

export function createMeter(ledger: Pick<Ledger, 'add'>): Meter {
  const known = new WeakMap<Tool, number>();
  const sizeOf = (tool: Tool) => {
    const size = known.get(tool) ?? listedLength(tool);
    known.set(tool, size);
    return size;
  };
  const total = (tools: Tool[]) => tools.reduce((sum, tool) => sum + sizeOf(tool), 0);
  return {
    menu(servers, { tools, instructions }) {
      const without = servers.map((server) => total(server.tools) + (server.entry.hello?.instructions?.length ?? 0));
      ledger.add({
        menus: 1,
        listedWithout: without.reduce((sum, size) => sum + size, 0),
        listedWith: tools.reduce((sum, tool) => sum + listedLength(tool), instructions.length),
      });
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

/** Characters of what clients put before a model: titles, annotations and `_meta` stay with the client. */
function listedLength({ name, description, inputSchema }: Tool): number {
  return JSON.stringify({ name, description, inputSchema }).length;
}

/** Characters of text in a result. */
function textLength({ content }: ToolResult): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce<number>(
    (sum, block) => sum + (isRecord(block) && typeof block.text === 'string' ? block.text.length : 0),
    0,
  );
}
