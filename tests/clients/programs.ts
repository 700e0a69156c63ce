/** The clients that are tested: where they are installed, how each is connected to mcpx and to a model, and how it is asked. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { nodeLock } from '../../scripts/node.mjs';
import { at, hostTarget } from '../../scripts/project.mjs';
import { EXECUTABLE } from '../e2e/program.ts';
import { readMarkdown } from '../setup/markdown.ts';

/** How a client reaches mcpx. */
export type Way = { kind: 'README' } | { kind: 'http'; url: string };

export interface Client {
  title: string;
  /** The script of the package, to be run with the pinned Node; undefined where it is not installed. */
  script: string | undefined;
  /** The command lines that connect it, without the program. */
  connect(way: Way, home: string): string[][];
  /** Prepares the home, and says the environment in which the client talks to the model and to nobody else. */
  prepare(home: string, modelUrl: string): Record<string, string>;
  /** The command line that asks a question and ends. */
  ask(question: string): string[];
}

/** Where scripts/install-clients.mjs puts them: those of the lockfile, and the others. */
const FOLDERS = ['clients', 'more-clients'].map((folder) => at('.cache', folder, 'node_modules'));

/** Node of the version that the executable embeds, as the build has fetched it. */
export const pinnedNodeFile = at('.cache', 'node', nodeLock().version, hostTarget(), 'node');

function installed(script: string): string | undefined {
  if (!existsSync(pinnedNodeFile)) return undefined;
  return FOLDERS.map((folder) => join(folder, script)).find((file) => existsSync(file));
}

/** The code block under a heading of the README, with the executable under test in it. */
export function snippetOf(heading: string): string {
  const text = readFileSync(at('README.md'), 'utf8');
  const section = text.split(/^### /m).find((part) => part.startsWith(`${heading}\n`)) ?? '';
  return (readMarkdown(section).blocks[0]?.text ?? '').replaceAll('/usr/local/bin/mcpx', EXECUTABLE);
}

/** The words of a command line in the README after the name of the client. */
const wordsOf = (heading: string) => snippetOf(heading).trim().split(/\s+/).slice(1);

function write(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}

export const claudeCode: Client = {
  title: 'Claude Code',
  script: installed('@anthropic-ai/claude-code/cli-wrapper.cjs'),
  connect: (way) => [
    way.kind === 'README'
      ? wordsOf('Claude Code')
      : ['mcp', 'add', '--scope', 'user', '--transport', 'http', 'mcpx', way.url],
  ],
  prepare: (_home, modelUrl) => ({
    ANTHROPIC_BASE_URL: modelUrl,
    ANTHROPIC_API_KEY: 'scripted',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_AUTOUPDATER: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
  }),
  ask: (question) => ['-p', question, '--allowedTools', 'mcp__mcpx'],
};

export const codex: Client = {
  title: 'Codex',
  script: installed('@openai/codex/bin/codex.js'),
  connect: (way) => [way.kind === 'README' ? wordsOf('Codex') : ['mcp', 'add', 'mcpx', '--url', way.url]],
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
};
