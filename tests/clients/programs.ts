/** The clients that are tested: where they are installed, how each is connected to mcpx and to a model, and how it is asked. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { at, hostTarget } from '../../scripts/project.mjs';
import { nodeLock } from '../../scripts/release/node.mjs';
import type { KnownClient } from '../../src/front/known-clients.ts';
import { EXECUTABLE } from '../e2e/program.ts';
import { readMarkdown } from '../setup/markdown.ts';

/** How a client reaches mcpx. */
export type Way =
  | { kind: 'documented' }
  | { kind: 'http'; url: string }
  /** A server of its own name, without mcpx. */
  | { kind: 'stdio'; name: string; command: string };

export interface Client {
  title: string;
  /** The program and what stands before its arguments; undefined where it is not installed. */
  command: string[] | undefined;
  /** The command lines that connect it, without the program. */
  connect(way: Way, home: string): string[][];
  /** Prepares the home, and says the environment in which the client talks to the model and to nobody else. */
  prepare(home: string, modelUrl: string): Record<string, string>;
  /** The command line that asks a question and ends. */
  ask(question: string): string[];
  /** The command line that asks where mcpx may be absent, if `ask` needs it. */
  askAnyway?(question: string): string[];
  /** The part of a result that reaches the model, if the client has no row in src/front/known-clients.ts. */
  reads?: KnownClient['reads'];
  /** Replaces an image in the request, for clients that do not show it to the model. */
  images?: 'nothing' | 'base64 as text';
  /** Addresses that it tries whatever it is told; the proxy that it is given refuses. */
  tries?: RegExp;
}

/** Where scripts/install-clients.mjs puts them: those of the lockfile, and the others. */
export const MORE = at('.cache', 'more-clients');
const FOLDERS = [at('.cache', 'clients'), MORE].map((folder) => join(folder, 'node_modules'));

/** Node of the version that the executable embeds, as the build has fetched it. */
export const pinnedNodeFile = at('.cache', 'node', nodeLock().version, hostTarget(), 'node');

/** The file of an installed package. */
export function installed(file: string): string | undefined {
  return FOLDERS.map((folder) => join(folder, file)).find((path) => existsSync(path));
}

/** A script of an installed package, run by Node of the version that the executable embeds. */
export function script(file: string): string[] | undefined {
  const found = installed(file);
  return found === undefined || !existsSync(pinnedNodeFile) ? undefined : [pinnedNodeFile, found];
}

/** The code block under a heading of docs/clients.md, with the executable under test in it. */
export function snippetOf(heading: string): string {
  const text = readFileSync(at('docs/clients.md'), 'utf8');
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return (readMarkdown(section).blocks[0]?.text ?? '').replaceAll('/usr/local/bin/mcpx', EXECUTABLE);
}

/** The words of a command line in docs/clients.md after the name of the client. */
export const wordsOf = (heading: string) => snippetOf(heading).trim().split(/\s+/).slice(1);

export function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

type Connect = { [K in Way['kind']]: (way: Extract<Way, { kind: K }>) => string[] };

/** Connects a client by one command line. */
export function byKind({ documented, http, stdio }: Connect): Client['connect'] {
  return (way) => {
    if (way.kind === 'http') return [http(way)];
    return [way.kind === 'stdio' ? stdio(way) : documented(way)];
  };
}

export const claudeCode: Client = {
  title: 'Claude Code',
  command: script('@anthropic-ai/claude-code/cli-wrapper.cjs'),
  connect: byKind({
    documented: () => wordsOf('Claude Code'),
    http: ({ url }) => ['mcp', 'add', '--scope', 'user', '--transport', 'http', 'mcpx', url],
    stdio: ({ name, command }) => ['mcp', 'add', '--scope', 'user', name, '--', command],
  }),
  prepare: (_home, modelUrl) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'scripted',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    // On a busy machine its own 5 s end before mcpx has started, and the conversation begins without tools.
    MCP_TIMEOUT: '60000',
    MCP_CONNECT_TIMEOUT_MS: '60000',
    CLAUDE_CODE_MCP_STARTUP_WAIT_MS: '60000',
  }),
  ask: (question) => ['-p', question, '--allowedTools', 'mcp__mcpx'],
};

export const codex: Client = {
  title: 'Codex',
  command: script('@openai/codex/bin/codex.js'),
  connect: byKind({
    documented: () => wordsOf('Codex'),
    http: ({ url }) => ['mcp', 'add', 'mcpx', '--url', url],
    stdio: ({ name, command }) => ['mcp', 'add', name, '--', command],
  }),
  prepare(home, modelUrl) {
    const config = [
      'model = "scripted"',
      'model_provider = "scripted"',
      'check_for_update_on_startup = false',
      '[analytics]',
      'enabled = false',
      '[features]',
      'apps = false',
      'plugins = false',
      'daemon_auto_start = false',
      '[model_providers.scripted]',
      'name = "scripted"',
      `base_url = "${modelUrl}/v1"`,
      'wire_api = "responses"',
      'env_key = "SCRIPTED_KEY"',
    ];
    write(join(home, '.codex', 'config.toml'), `${config.join('\n')}\n`);
    return { SCRIPTED_KEY: 'scripted' };
  },
  ask: (question) => [
    'exec',
    '--skip-git-repo-check',
    '-c',
    'mcp_servers.mcpx.default_tools_approval_mode="approve"',
    question,
  ],
  askAnyway: (question) => ['exec', '--skip-git-repo-check', question],
};

export const geminiCli: Client = {
  title: 'Gemini CLI',
  command: script('@google/gemini-cli/bundle/gemini.js'),
  connect: byKind({
    documented: () => wordsOf('Gemini CLI'),
    http: ({ url }) => ['mcp', 'add', '--scope', 'user', '--transport', 'http', 'mcpx', url],
    stdio: ({ name, command }) => ['mcp', 'add', '--scope', 'user', name, command],
  }),
  prepare(home, modelUrl) {
    const settings = {
      security: { auth: { selectedType: 'gemini-api-key' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false, enableAutoUpdateNotification: false },
    };
    write(join(home, '.gemini', 'settings.json'), JSON.stringify(settings));
    return {
      GEMINI_API_KEY: 'scripted',
      GOOGLE_GEMINI_BASE_URL: modelUrl,
      GEMINI_CLI_NO_RELAUNCH: 'true',
      GEMINI_CLI_TRUST_WORKSPACE: 'true',
    };
  },
  ask: (question) => ['--yolo', '--model', 'gemini-2.5-pro', '--prompt', question],
};

/** Its package is a launcher that a script of the installation replaces; the program is in the package of the system. */
const openCodeFile = installed(`opencode-${process.platform}-${process.arch}/bin/opencode`);

export const openCode: Client = {
  title: 'OpenCode',
  command: openCodeFile === undefined ? undefined : [openCodeFile],
  connect(way, home) {
    const file = join(home, '.config', 'opencode', 'opencode.json');
    const added = {
      ...(way.kind === 'documented' && JSON.parse(snippetOf('OpenCode')).mcp),
      ...(way.kind === 'http' && { mcpx: { type: 'remote', url: way.url } }),
      ...(way.kind === 'stdio' && { [way.name]: { type: 'local', command: [way.command] } }),
    };
    const config = JSON.parse(readFileSync(file, 'utf8'));
    write(file, JSON.stringify({ ...config, mcp: { ...config.mcp, ...added } }));
    return [];
  },
  prepare(home, modelUrl) {
    const model = 'anthropic/claude-sonnet-4-5';
    const options = { apiKey: 'scripted', baseURL: `${modelUrl}/v1` };
    const config = {
      ...{ model, small_model: model, autoupdate: false, share: 'disabled', permission: 'allow' },
      provider: { anthropic: { options } },
    };
    write(join(home, '.config', 'opencode', 'opencode.json'), JSON.stringify(config));
    return { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' };
  },
  ask: (question) => ['run', question],
  // It installs the package of its plugins.
  tries: /^registry\./,
};
