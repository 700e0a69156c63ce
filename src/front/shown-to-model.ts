/** Calculates which part of the servers, and of a result, a client passes on to its model. */
import type { Tool } from '../catalog/listing.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';
import type { KnownClient } from './known-clients.ts';

/** The part of a server that a model reads before the first prompt. */
export interface Offered {
  server: string;
  tools: Tool[];
  instructions?: string | undefined;
}

export interface Seen {
  offered: Offered[];
  /** Tools whose description is cut, as `server.tool`. */
  cutTools: string[];
  /** Servers whose instructions are cut. */
  cutInstructions: string[];
  lostCharacters: number;
  /** Number of tools that do not reach the model. */
  leftOut: number;
}

/** Returns all tools and instructions of the servers. */
export function offeredBy(servers: ServerView[]): Offered[] {
  return servers.map(({ name, tools, entry }) => ({
    server: name,
    tools,
    instructions: entry.handshake?.instructions,
  }));
}

/** Applies the client's limits to the servers, in listed order. */
export function seenBy(client: Partial<KnownClient>, all: Offered[]): Seen {
  const seen: Seen = { offered: [], cutTools: [], cutInstructions: [], lostCharacters: 0, leftOut: 0 };
  const shorten = (text: string, most: number, tell: () => void) => {
    if (text.length <= most) return text;
    tell();
    seen.lostCharacters += text.length - most;
    return text.slice(0, most);
  };
  let room = client.tools ?? Number.POSITIVE_INFINITY;
  for (const { server, tools, instructions: words } of all) {
    const kept = tools.slice(0, room);
    room -= kept.length;
    seen.leftOut += tools.length - kept.length;
    const most = client.instructions ?? Number.POSITIVE_INFINITY;
    const instructions = words && shorten(words, most, () => seen.cutInstructions.push(server));
    const shown = kept.map((tool) => {
      if (isDeferred(tool, client)) return deferred(tool, server, client);
      if (tool.description === undefined || client.description === undefined) return tool;
      const tell = () => seen.cutTools.push(`${server}.${tool.name}`);
      return { ...tool, description: shorten(tool.description, client.description, tell) };
    });
    seen.offered.push({ server, tools: shown, instructions });
  }
  return seen;
}

function isDeferred({ _meta }: Tool, { defers }: Partial<KnownClient>): boolean {
  return defers !== undefined && !(defers.unless !== undefined && isRecord(_meta) && _meta[defers.unless] === true);
}

/**
 * Returns the part of a tool that the model reads before it searches: `mcp__server__tool` and the start of the
 * description.
 */
function deferred(tool: Tool, server: string, { defers }: Partial<KnownClient>): Tool {
  const description = (tool.description ?? '').slice(0, defers?.description);
  return { name: `mcp__${server}__${tool.name}`, ...(description !== '' && { description }) };
}

/** Returns the characters of a result that reach the model; for an unknown client, those of the text. */
export function shownLength(
  result: ToolResult,
  { reads, resultChars, resultBytes, aside }: Partial<KnownClient> = {},
): number {
  const { structuredContent } = result;
  const text = textLength(result);
  const isRead = structuredContent !== undefined && (reads === 'structured' || reads === 'both');
  const structured = isRead ? JSON.stringify(structuredContent).length : 0;
  const length = isRead && reads === 'structured' ? structured : text + structured;
  if (aside !== undefined && length > aside.above) return aside.shown;
  return Math.min(length, resultChars ?? resultBytes ?? Number.POSITIVE_INFINITY);
}

/** Returns the number of characters in the text blocks of a result. */
export function textLength({ content }: ToolResult): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce<number>(
    (length, block) => length + (isRecord(block) && typeof block.text === 'string' ? block.text.length : 0),
    0,
  );
}
