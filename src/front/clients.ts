/** What is known of clients that cut what servers say of themselves; a client is recognised by the name in its `clientInfo`. */
import type { Tool } from '../catalog/list.ts';

export interface ClientLimits {
  title: string;
  /** Names in `clientInfo`. */
  names: string[];
  /** Characters of a tool's description that reach the model. */
  description?: number;
  /** Characters of a server's instructions that reach the model. */
  instructions?: number;
  /** Tools, of all servers together, that reach the model. */
  tools?: number;
}

/** For whoever is not known to be wider: the narrowest limit of a client in wide use. */
export const DESCRIPTION_LIMIT = 2048;

/** Only what is documented or was seen: a limit that is taken too wide loses tools without a word. */
export const CLIENTS: ClientLimits[] = [
  {
    // 2 KB of each description and of the instructions: https://code.claude.com/docs/en/mcp, "Scale with MCP tool search".
    // Counted in characters, and nobody is told: https://github.com/anthropics/claude-code/issues/81268
    title: 'Claude Code',
    names: ['claude-code'],
    description: 2048,
    instructions: 2048,
  },
  {
    // "A chat request can have a maximum of 128 tools": https://code.visualstudio.com/docs/copilot/chat/chat-agent-mode
    title: 'VS Code',
    names: ['Visual Studio Code', 'Visual Studio Code - Insiders'],
    tools: 128,
  },
  {
    // The first 40 tools of all servers: https://docs.cursor.com/context/model-context-protocol, "Limitations"
    title: 'Cursor',
    names: ['cursor-vscode'],
    tools: 40,
  },
];

/** Characters of a description that a client is sure to pass on. */
export function descriptionLimit(clientName: string | undefined): number {
  const known = CLIENTS.find(({ names }) => clientName !== undefined && names.includes(clientName));
  return known?.description ?? DESCRIPTION_LIMIT;
}

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

/** What of the servers reaches the model of a client with these limits, in the order in which they are listed. */
export function seenBy({ description, instructions, tools }: Partial<ClientLimits>, all: Offered[]): Seen {
  const seen: Seen = { offered: [], cutTools: [], cutInstructions: [], lostCharacters: 0, leftOut: 0 };
  const shorten = (text: string, most: number, tell: () => void) => {
    if (text.length <= most) return text;
    tell();
    seen.lostCharacters += text.length - most;
    return text.slice(0, most);
  };
  let room = tools ?? Number.POSITIVE_INFINITY;
  for (const { server, tools: listed, instructions: words } of all) {
    const kept = listed.slice(0, room);
    room -= kept.length;
    seen.leftOut += listed.length - kept.length;
    const cutWords =
      words && shorten(words, instructions ?? Number.POSITIVE_INFINITY, () => seen.cutInstructions.push(server));
    const shown = kept.map((tool) =>
      typeof tool.description === 'string' && description !== undefined
        ? {
            ...tool,
            description: shorten(tool.description, description, () => seen.cutTools.push(`${server}.${tool.name}`)),
          }
        : tool,
    );
    seen.offered.push({ server, tools: shown, instructions: cutWords });
  }
  return seen;
}
