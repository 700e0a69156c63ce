/** What is known of clients that cut what servers say of themselves; a client is recognised by the name in its `clientInfo`. */

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
