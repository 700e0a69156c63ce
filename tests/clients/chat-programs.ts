/** The clients that talk to a model over Chat Completions: Copilot CLI, Qwen Code, Cline and Continue. */
import { appendFileSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { byKind, type Client, installed, script, snippetOf, wordsOf, write } from './programs.ts';

/** A file of the package that contains the program for this system. */
const binary = (file: string) => {
  const found = installed(file);
  return found === undefined ? undefined : [found];
};

export const copilotCli: Client = {
  title: 'Copilot CLI',
  command: binary(`@github/copilot-${process.platform}-${process.arch}/copilot`),
  connect: byKind({
    documented: () => wordsOf('Copilot CLI'),
    http: ({ url }) => ['mcp', 'add', '--transport', 'http', 'mcpx', url],
    stdio: ({ name, command }) => ['mcp', 'add', name, '--', command],
  }),
  prepare: (_home, modelUrl) => ({
    COPILOT_OFFLINE: 'true',
    COPILOT_AUTO_UPDATE: 'false',
    COPILOT_PROVIDER_BASE_URL: `${modelUrl}/v1`,
    COPILOT_PROVIDER_API_KEY: 'scripted',
    COPILOT_MODEL: 'claude-sonnet-4.5',
  }),
  ask: (question) => ['-p', question, '--allow-all-tools'],
  images: 'nothing',
};

export const qwenCode: Client = {
  title: 'Qwen Code',
  command: script('@qwen-code/qwen-code/cli-entry.js'),
  connect: byKind({
    documented: () => wordsOf('Qwen Code'),
    http: ({ url }) => ['mcp', 'add', '--scope', 'user', '--transport', 'http', 'mcpx', url],
    stdio: ({ name, command }) => ['mcp', 'add', '--scope', 'user', name, command],
  }),
  prepare(home, modelUrl) {
    const settings = {
      security: { auth: { selectedType: 'openai' } },
      privacy: { usageStatisticsEnabled: false },
      general: { enableAutoUpdate: false },
    };
    write(join(home, '.qwen', 'settings.json'), JSON.stringify(settings));
    return { OPENAI_API_KEY: 'scripted', OPENAI_BASE_URL: `${modelUrl}/v1`, OPENAI_MODEL: 'qwen3-vl-plus' };
  },
  ask: (question) => ['--yolo', '--prompt', question],
};

export const cline: Client = {
  title: 'Cline',
  command: binary(`@cline/cli-${process.platform}-${process.arch}/bin/cline`),
  connect: byKind({
    documented: () => wordsOf('Cline'),
    http: ({ url }) => ['mcp', 'add', 'mcpx', '--yes', '--transport', 'http', url],
    stdio: ({ name, command }) => ['mcp', 'add', name, '--yes', '--', command],
  }),
  prepare(home, modelUrl) {
    const provider = 'openai-compatible';
    const settings = { provider, apiKey: 'scripted', model: 'scripted', baseUrl: `${modelUrl}/v1` };
    const providers = {
      ...{ version: 1, lastUsedProvider: provider, modes: {} },
      providers: { [provider]: { settings, updatedAt: '2026-01-01T00:00:00.000Z', tokenSource: 'manual' } },
    };
    write(join(home, '.cline', 'data', 'settings', 'providers.json'), JSON.stringify(providers));
    return { CLINE_DISABLE_TELEMETRY: '1' };
  },
  ask: (question) => [question],
  images: 'base64 as text',
  // It reports errors and counts its use.
  tries: /^(?:[\w-]+\.)*cline\.bot:/,
};

/** Its config, in the home. */
const CONTINUE = ['.continue', 'config.yaml'];

export const continueCli: Client = {
  title: 'Continue',
  command: script('@continuedev/cli/dist/cn.js'),
  connect(way, home) {
    const file = join(home, ...CONTINUE);
    const head = readFileSync(file, 'utf8').includes('mcpServers:') ? '' : 'mcpServers:\n';
    const entry =
      way.kind === 'http'
        ? { name: 'mcpx', type: 'streamable-http', url: way.url }
        : way.kind === 'stdio' && { name: way.name, command: way.command };
    appendFileSync(file, entry ? `${head}  - ${JSON.stringify(entry)}\n` : snippetOf('Continue'));
    return [];
  },
  prepare(home, modelUrl) {
    const model = {
      ...{ name: 'scripted', provider: 'openai', model: 'scripted', apiKey: 'scripted', apiBase: `${modelUrl}/v1` },
      ...{ roles: ['chat'], capabilities: ['tool_use', 'image_input'] },
    };
    const lines = ['name: scripted', 'version: 0.0.1', 'schema: v1', `models: ${JSON.stringify([model])}`];
    write(join(home, ...CONTINUE), `${lines.join('\n')}\n`);
    return { CONTINUE_TELEMETRY_ENABLED: '0' };
  },
  ask: (question) => ['-p', '--auto', question],
  images: 'base64 as text',
};
