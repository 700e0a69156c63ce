/** The MCP libraries that are tested: each runs a minimal agent. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { at } from '../../scripts/project.mjs';
import { EXECUTABLE } from '../e2e/program.ts';
import { type Client, MORE, pinnedNodeFile, write } from './programs.ts';

const AGENT = at('tests', 'clients', 'agent.mjs');

/** A client that is a library: `name` in agent.mjs, and the package that must be there. */
export function library(name: string, title: string, needed: string, more: Partial<Client> = {}): Client {
  const isInstalled = existsSync(join(MORE, 'node_modules', needed)) && existsSync(pinnedNodeFile);
  return {
    title,
    command: isInstalled ? [pinnedNodeFile, '--experimental-import-meta-resolve', AGENT, name] : undefined,
    connect(way, home) {
      const local =
        way.kind === 'stdio' ? { command: way.command, args: [] } : { command: EXECUTABLE, args: ['serve'] };
      const server = way.kind === 'http' ? { url: way.url } : local;
      write(join(home, 'server.json'), JSON.stringify(server));
      return [];
    },
    prepare: (_home, modelUrl) => ({ MODEL_URL: modelUrl, AGENT_PACKAGES: MORE, NODE_NO_WARNINGS: '1' }),
    ask: (question) => [question],
    ...more,
  };
}

export const langChain = library('langchain', 'LangChain', '@langchain/mcp-adapters');
export const aiSdk = library('ai-sdk', 'AI SDK', '@ai-sdk/mcp', { images: 'base64 as text' });
export const mastra = library('mastra', 'Mastra', '@mastra/mcp', { images: 'base64 as text' });
export const openAiAgents = library('openai-agents', 'OpenAI Agents', '@openai/agents', {
  reads: 'text',
  images: 'nothing',
});
