/** Known MCP clients by the name in `clientInfo`: how much of a server and of a result each one passes to the model. */
import type { Settings } from '../config/config.ts';

export interface KnownClient {
  title: string;
  /** Names in `clientInfo`; a name that ends with `*` is a prefix. */
  names: string[];
  /** The version in `clientInfo`, where a name alone does not identify the client. */
  version?: string;
  /** Maximum characters of a tool's description that reach the model. */
  description?: number;
  /** Maximum characters of a server's instructions that reach the model. */
  instructions?: number;
  /** Maximum number of tools, of all servers together, that reach the model. */
  tools?: number;
  /** The part of a result that reaches the model if the result has both text and `structuredContent`. */
  reads?: 'text' | 'structured' | 'both';
  /** Maximum characters of a result's text that reach the model. */
  resultChars?: number;
  /** Maximum UTF-8 bytes of a result's text that reach the model, for clients that count bytes. */
  resultBytes?: number;
  /**
   * A result of more than `above` characters goes to a file; the model reads the first `shown` characters. Claude Code
   * exempts marked tools.
   */
  aside?: { above: number; shown: number };
  /** True if the client parses the first text as JSON, and fails the call if it is JSON but no object. */
  parsesText?: true;
  /** True if the client decides by `readOnlyHint` whether a tool needs approval. */
  approvesReads?: true;
  /** Set if the client shows the model little of each tool and has its own tool search. */
  defers?: Deferral;
  /** Limits of versions before `before`. */
  older?: { before: string } & Pick<KnownClient, 'description' | 'instructions'>;
}

/** The part of a tool that the model reads before it searches. */
export interface Deferral {
  /** Characters of the description that the model reads after the name. */
  description: number;
  /** The key of `_meta` that exempts a tool, so that the model reads all of it. */
  unless?: string;
}

/** The strictest limit of a widely used client; it applies to all clients without a known limit. */
export const DESCRIPTION_LIMIT = 2048;

/**
 * Limits that are documented, or that were measured in the released client with a scripted model. A limit that is too
 * high loses tools or results silently.
 */
export const CLIENTS: KnownClient[] = [
  {
    // The model reads tool names only until it searches: https://code.claude.com/docs/en/mcp, "Scale with MCP tool
    // search". Descriptions and instructions are cut, counted in characters:
    // https://github.com/anthropics/claude-code/issues/81268. The limits were measured in @anthropic-ai/claude-code
    // 2.1.327, where the model reads only structuredContent if a result has it.
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
    // The model reads only structuredContent, and 12,000 bytes of a result including a line that Codex adds, however
    // many blocks there are; the middle is left out. Approval depends on readOnlyHint. Measured in @openai/codex
    // 0.169.
    title: 'Codex',
    names: ['codex-mcp-client'],
    reads: 'structured',
    resultBytes: 11_500,
    approvesReads: true,
  },
  {
    // "A chat request can have a maximum of 128 tools": https://code.visualstudio.com/docs/copilot/chat/chat-agent-mode
    // Not measured: the program is not on npm.
    title: 'VS Code',
    names: ['Visual Studio Code', 'Visual Studio Code - Insiders'],
    tools: 128,
  },
  {
    // The model reads the first 40 tools of all servers: https://docs.cursor.com/context/model-context-protocol,
    // "Limitations". Not measured: the program is not on npm.
    title: 'Cursor',
    names: ['cursor-vscode'],
    tools: 40,
  },
  {
    // The model reads text and structuredContent. A result above 20,480 bytes goes to a file; the model reads 500 of
    // them and the path. All of 140 tools reached the model with whole descriptions. Measured in @github/copilot
    // 1.0.102 with a model that the user configured, not with GitHub's models.
    title: 'Copilot CLI',
    names: ['copilot-cli'],
    reads: 'both',
    resultChars: 20_000,
    resultBytes: 20_000,
    aside: { above: 20_480, shown: 500 },
  },
  {
    // Only the text blocks of a result reach the model. A result fails if its first text is JSON but no object, and it
    // has no structuredContent. Measured in @google/gemini-cli 0.61.
    title: 'Gemini CLI',
    names: ['gemini-cli-mcp-client', 'gemini-cli-mcp-client-*'],
    reads: 'text',
    parsesText: true,
  },
  {
    // Only the text reaches the model; measured in opencode-ai 1.18.
    title: 'OpenCode',
    names: ['opencode'],
    reads: 'text',
  },
  {
    // The model reads text and structuredContent. A result of 27,000 characters arrived whole and one of 29,000 went to
    // a file; the documented limit is 25,000. The client has its own tool search, which shows 160 characters of a
    // description. Its name contains the server's name ("qwen-cli-mcp-client-mcpx"). Measured in @qwen-code/qwen-code
    // 0.24.4, which does not contain the second name.
    title: 'Qwen Code',
    names: ['qwen-cli-mcp-client-*', 'qwen-code-mcp-client'],
    reads: 'both',
    resultChars: 25_000,
    defers: { description: 160 },
  },
  {
    // The model reads the whole result as JSON, cut in the middle to 8,000 characters. Line breaks and quotation marks
    // of a text count twice there, so about 6,000 characters of text fit. All of 120 tools reached the model, with 9,000
    // characters of a description. Measured in cline 3.0.65, whose name is the first one.
    title: 'Cline',
    names: ['@cline/core', 'Cline', 'cline-*'],
    reads: 'both',
    resultChars: 6000,
  },
  {
    // Only the text reaches the model, 60,000 characters of it uncut; measured in @continuedev/cli 1.5.47.
    title: 'Continue',
    names: ['continue-cli-client'],
    reads: 'text',
  },
  {
    // The model reads text and structuredContent in one JSON text; measured in @langchain/mcp-adapters 1.1.4.
    title: 'LangChain',
    names: ['@langchain/mcp-adapters'],
    reads: 'both',
  },
  {
    // Only the text reaches the model; measured in @ai-sdk/mcp 2.0.99. A program may choose another name.
    title: 'AI SDK',
    names: ['ai-sdk-mcp-client'],
    reads: 'text',
  },
  {
    // The model reads only structuredContent of tools without an output schema. The name is that of the server in the
    // user's program, and the version is a constant. Measured in @mastra/mcp 2.0.0.
    title: 'Mastra',
    names: ['mcpx'],
    version: '1.0.0',
    reads: 'structured',
  },
  // The OpenAI Agents SDK has no entry: its users choose the name. The model reads the text, measured in @openai/agents
  // 0.20.0.
];

function isNamed({ names, version }: KnownClient, info: { name: string; version?: string }): boolean {
  if (version !== undefined && info.version !== version) return false;
  return names.some((known) => (known.endsWith('*') ? info.name.startsWith(known.slice(0, -1)) : info.name === known));
}

/** The `clientInfo` of the handshake. */
type Introduced = { name: string; version?: string } | undefined;

/** Returns the entry for a client's name and version. A client without a version gets the limits of old versions. */
export function knownClient(info: Introduced): KnownClient | undefined {
  const found = info && CLIENTS.find((client) => isNamed(client, info));
  if (found?.older === undefined) return found;
  const { before, ...facts } = found.older;
  return isBefore(info?.version ?? '', before) ? { ...found, ...facts } : found;
}

/** True if a version such as 2.1.9 precedes the other; true for text that is not a version. */
function isBefore(version: string, other: string): boolean {
  if (!/^\d+\.\d+\.\d+/.test(version)) return true;
  return version.localeCompare(other, 'en', { numeric: true }) < 0;
}

/** Returns the characters of a description that the client is known to pass on. */
export function descriptionLimit(info: Introduced): number {
  return knownClient(info)?.description ?? DESCRIPTION_LIMIT;
}

/** Characters of the menu for a client without a known limit, or with the strictest one. */
const MENU = 2000;

/** Returns the characters of the menu: as configured, or as many as the client is known to pass on. */
export function menuLimit({ menuBudget }: Pick<Settings['front'], 'menuBudget'>, info: Introduced): number {
  const most = descriptionLimit(info);
  return Math.min(menuBudget ?? (most > DESCRIPTION_LIMIT ? most : MENU), most);
}

/**
 * Returns the settings of the compact front for this client: the table of clients fills the values that the config
 * leaves open.
 */
export function settingsFor<S extends Pick<Settings, 'front' | 'limits'>>(settings: S, info: Introduced): S {
  const client = knownClient(info);
  if (client === undefined) return settings;
  const { front, limits } = settings;
  const structured = front.structured === 'auto' && readsStructured(client) ? 'never' : front.structured;
  const execSplit = front.execSplit ?? client.approvesReads ?? null;
  const resultChars = Math.min(limits.resultChars, client.resultChars ?? Number.POSITIVE_INFINITY);
  const bounds = { resultChars, ...(client.resultBytes !== undefined && { resultBytes: client.resultBytes }) };
  const labels = client.parsesText && { labelsJson: true };
  return { ...settings, front: { ...front, structured, execSplit, ...labels }, limits: { ...limits, ...bounds } };
}

/** Returns a function that gives the settings for a client program; they are made again only for another one. */
export function settingsOf(
  settings: Settings,
  make: (settings: Settings, info: Introduced) => Settings,
): (info: Introduced) => Settings {
  const of = (info: Introduced) => ({ name: info?.name, version: info?.version, settings: make(settings, info) });
  let known = of(undefined);
  return (info) => {
    if (known.name !== info?.name || known.version !== info?.version) known = of(info);
    return known.settings;
  };
}

/**
 * True if the client shows structuredContent instead of or beside the text; mcpx then sends only the text, which is
 * written for the model.
 */
function readsStructured({ reads }: KnownClient): boolean {
  return reads === 'structured' || reads === 'both';
}
