/** What of servers, and of a result, the model of a client is shown: all of it, or what the client leaves of it. */
import type { Tool } from '../catalog/list.ts';
import type { ServerView, ToolResult } from '../router/router.ts';
import { isRecord } from '../wire/message.ts';
import type { KnownClient } from './clients.ts';

/** As much of a server as is read by a model before the first question. */
export interface Offered {
  server: string;
  tools: Tool[];
  instructions?: string | undefined;
}

export interface Seen {
  offered: Offered[];
  /** Tools whose description is cut, as `server.tool`, and the characters that are lost. */
  cutTools: string[];
  /** Servers whose instructions are cut. */
  cutInstructions: string[];
  lostCharacters: number;
  /** Tools that do not reach the model at all. */
  leftOut: number;
}

/** Everything that servers offer. */
export function offeredBy(servers: ServerView[]): Offered[] {
  return servers.map(({ name, tools, entry }) => ({ server: name, tools, instructions: entry.hello?.instructions }));
}

/** What of the servers reaches the model of such a client before the first question, in the order in which they are listed. */
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

/** As much of a tool as its model reads before it searches: a name with the server's, and the beginning of the description. */
function deferred(tool: Tool, server: string, { defers }: Partial<KnownClient>): Tool {
  const description = (tool.description ?? '').slice(0, defers?.description);
  return { name: `mcp__${server}__${tool.name}`, ...(description !== '' && { description }) };
}

/** Characters of a result that the model of a client is shown; of one that nobody knows, those of the text. */
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

/** Characters of text in a result. */
export function textLength({ content }: ToolResult): number {
  const blocks = Array.isArray(content) ? content : [];
  return blocks.reduce<number>(
    (length, block) => length + (isRecord(block) && typeof block.text === 'string' ? block.text.length : 0),
    0,
  );
}
