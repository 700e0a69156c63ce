/** Known MCP clients, by the name in their `clientInfo`: how much of a server they pass on to the model, and which part of a result. */
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
  /** The same in bytes of UTF-8, where the client counts those. */
  resultBytes?: number;
  /** A longer result goes to a file, unless the tool is marked, and the model is shown so much of its beginning. */
  aside?: { above: number; shown: number };
  /** The client decides by `readOnlyHint` whether a tool may run without approval. */
  approvesReads?: true;
  /** The client shows a model little of a tool, and has a search of its own for the rest. */
  defers?: Deferral;
  /** What was different in versions before one. */
  older?: { before: string } & Pick<KnownClient, 'description' | 'instructions'>;
}

/** What a model is shown of a tool before it has searched. */
export interface Deferral {
  /** Characters of the description, beside the name. */
  description: number;
  /** The key of `_meta` that marks a tool as shown whole. */
  unless?: string;
}

/** The narrowest limit of a client in wide use; it holds for clients that are not known to pass on more. */
export const DESCRIPTION_LIMIT = 2048;

/**
 * Only documented limits, and those seen in the shipped program with a scripted model: a limit that is taken too wide
 * loses tools or results without a word.
 */
export const CLIENTS: KnownClient[] = [
  {
    // Tools are names until its search finds them: https://code.claude.com/docs/en/mcp, "Scale with MCP tool search".
    // Descriptions and instructions are cut, counted in characters: https://github.com/anthropics/claude-code/issues/81268
    // The limits, and that the model reads structuredContent alone where a result has it: seen in @anthropic-ai/claude-code 2.1.327.
    title: 'Claude Code',
    names: ['claude-code'],
    description: 4096,
    instructions: 4096,
    older: { before: '2.1.326', description: 2048, instructions: 2048 },
    reads: 'structured',
    aside: { above: 50_000, shown: 2000 },
    defers: { description: 0, unless: 'anthropic/alwaysLoad' },
  },
  {
    // The model reads structuredContent alone, and 12,000 bytes of a result with a line of Codex before it, whatever the number of its
    // blocks; the middle is left out. Approval by readOnlyHint: seen in @openai/codex 0.169.
    title: 'Codex',
    names: ['codex-mcp-client'],
    reads: 'structured',
    resultBytes: 11_500,
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
    // Text and structuredContent; results above 25,000 characters go to a file; tools behind a search of its own, which shows about 200
    // characters of a description: seen in @qwen-code/qwen-code 0.24.
    title: 'Qwen Code',
    names: ['qwen-code-mcp-client', 'qwen-cli-mcp-client-*'],
    reads: 'both',
    resultChars: 25_000,
    defers: { description: 200 },
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

/** How a client introduces itself. */
type Introduced = { name: string; version?: string } | undefined;

/** What is known of a client of this name and version; of a version that it does not tell, only what holds for all. */
export function knownClient(info: Introduced): KnownClient | undefined {
  const found = info && CLIENTS.find((client) => isNamed(client, info.name));
  if (found?.older === undefined) return found;
  const { before, ...facts } = found.older;
  return isBefore(info?.version ?? '', before) ? { ...found, ...facts } : found;
}

/** Whether a version such as 2.1.9 comes before another; one that is no version does. */
function isBefore(version: string, other: string): boolean {
  if (!/^\d+\.\d+\.\d+/.test(version)) return true;
  return version.localeCompare(other, 'en', { numeric: true }) < 0;
}

/** Characters of a description that a client is sure to pass on. */
export function descriptionLimit(info: Introduced): number {
  return knownClient(info)?.description ?? DESCRIPTION_LIMIT;
}

/** The settings of the compact front as a client of this name gets them: what the file leaves open follows the table. */
export function settingsFor<S extends Pick<Settings, 'front' | 'limits'>>(settings: S, info: Introduced): S {
  const client = knownClient(info);
  if (client === undefined) return settings;
  const { front, limits } = settings;
  const structured = front.structured === 'auto' && readsStructured(client) ? 'never' : front.structured;
  const execSplit = front.execSplit ?? client.approvesReads ?? null;
  const resultChars = Math.min(limits.resultChars, client.resultChars ?? Number.POSITIVE_INFINITY);
  const bounds = { resultChars, ...(client.resultBytes !== undefined && { resultBytes: client.resultBytes }) };
  return { ...settings, front: { ...front, structured, execSplit }, limits: { ...limits, ...bounds } };
}

/** The same for one client, worked out again when it has introduced itself. */
export function settingsOf(settings: Settings, client: Pick<Caller, 'clientInfo'>): () => Settings {
  let known: { name: string | undefined; settings: Settings } = { name: undefined, settings };
  return () => {
    const name = client.clientInfo?.name;
    if (known.name !== name) known = { name, settings: settingsFor(settings, client.clientInfo) };
    return known.settings;
  };
}

/** The structured part would take the place of the text, or stand beside it: the model reads the text, which is made for it. */
function readsStructured({ reads }: KnownClient): boolean {
  return reads === 'structured' || reads === 'both';
}
