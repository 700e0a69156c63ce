/** Known MCP clients, by the name in their `clientInfo`: how much of a server they pass on to the model, and which part of a result. */
import type { Tool } from '../catalog/list.ts';
import type { Settings } from '../config/config.ts';
import type { Caller } from '../upstream/pool.ts';

export interface KnownClient {
  title: string;
  /** Names in `clientInfo`; one that ends with `*` is a prefix. */
  names: string[];
  /** Characters of a tool's description that reach the model. */
  description?: number;
  /** Characters of a server's instructions that reach the model. */
  instructions?: number;
  /** Tools, of all servers together, that reach the model. */
  tools?: number;
  /** The part of a result that reaches the model where the result has text and `structuredContent`. */
  reads?: 'text' | 'structured' | 'both';
  /** Characters of the text of a result that reach the model. */
  resultChars?: number;
  /** The client decides by `readOnlyHint` whether a tool may run without approval. */
  approvesReads?: true;
}

/** The narrowest limit of a client in wide use; it holds for clients that are not known to pass on more. */
export const DESCRIPTION_LIMIT = 2048;

/**
 * Only documented limits, and those seen in the shipped program with a scripted model: a limit that is taken too wide
 * loses tools or results without a word.
 */
export const CLIENTS: KnownClient[] = [
  {
    // 2 KB of each description and of the instructions: https://code.claude.com/docs/en/mcp, "Scale with MCP tool search".
    // Counted in characters, and nobody is told: https://github.com/anthropics/claude-code/issues/81268
    // The model reads structuredContent alone where a result has it: seen in @anthropic-ai/claude-code 2.1.
    title: 'Claude Code',
    names: ['claude-code'],
    description: 2048,
    instructions: 2048,
    reads: 'structured',
  },
  {
    // The model reads structuredContent alone, and about 12,000 characters of a result; approval by readOnlyHint: seen in
    // @openai/codex 0.169.
    title: 'Codex',
    names: ['codex-mcp-client'],
    reads: 'structured',
    resultChars: 12_000,
    approvesReads: true,
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
  {
    // Only the text blocks of a result reach the model: seen in @google/gemini-cli 0.61.
    title: 'Gemini CLI',
    names: ['gemini-cli-mcp-client', 'gemini-cli-mcp-client-*'],
    reads: 'text',
  },
  {
    // Only the text: seen in opencode-ai 1.18.
    title: 'OpenCode',
    names: ['opencode'],
    reads: 'text',
  },
  {
    // Text and structuredContent; results above 25,000 characters go to a file: seen in @qwen-code/qwen-code 0.24.
    title: 'Qwen Code',
    names: ['qwen-code-mcp-client', 'qwen-cli-mcp-client-*'],
    reads: 'both',
    resultChars: 25_000,
  },
  {
    // Text and structuredContent, cut at about 8,000 characters: seen in cline 3.0.
    title: 'Cline',
    names: ['Cline', '@cline/core', 'cline-*'],
    reads: 'both',
    resultChars: 8000,
  },
  {
    // Text and structuredContent, the latter as an artifact that agents hand on: seen in @langchain/mcp-adapters 1.1.
    title: 'LangChain',
    names: ['@langchain/mcp-adapters'],
    reads: 'both',
  },
];

function isNamed({ names }: KnownClient, name: string): boolean {
  return names.some((known) => (known.endsWith('*') ? name.startsWith(known.slice(0, -1)) : name === known));
}

export function knownClient(name: string | undefined): KnownClient | undefined {
  return name === undefined ? undefined : CLIENTS.find((client) => isNamed(client, name));
}

/** Characters of a description that a client is sure to pass on. */
export function descriptionLimit(clientName: string | undefined): number {
  return knownClient(clientName)?.description ?? DESCRIPTION_LIMIT;
}

/** The settings of the compact front as a client of this name gets them: what the file leaves open follows the table. */
export function settingsFor<S extends Pick<Settings, 'front' | 'limits'>>(
  settings: S,
  clientName: string | undefined,
): S {
  const client = knownClient(clientName);
  if (client === undefined) return settings;
  const { front, limits } = settings;
  const structured = front.structured === 'auto' && readsStructured(client) ? 'never' : front.structured;
  const execSplit = front.execSplit ?? client.approvesReads ?? null;
  const resultChars = Math.min(limits.resultChars, client.resultChars ?? Number.POSITIVE_INFINITY);
  return { ...settings, front: { ...front, structured, execSplit }, limits: { ...limits, resultChars } };
}

/** The same for one client, worked out again when it has introduced itself. */
export function settingsOf(settings: Settings, client: Pick<Caller, 'clientInfo'>): () => Settings {
  let known: { name: string | undefined; settings: Settings } = { name: undefined, settings };
  return () => {
    const name = client.clientInfo?.name;
    if (known.name !== name) known = { name, settings: settingsFor(settings, name) };
    return known.settings;
  };
}

/** The structured part would take the place of the text, or stand beside it: the model reads the text, which is made for it. */
function readsStructured({ reads }: KnownClient): boolean {
  return reads === 'structured' || reads === 'both';
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
export function seenBy({ description, instructions, tools }: Partial<KnownClient>, all: Offered[]): Seen {
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
