/**
 * node --experimental-import-meta-resolve agent.mjs <library> <question>: a minimal agent on an MCP library, with the model at MODEL_URL.
 * AGENT_PACKAGES is the folder of the packages; ~/server.json says how the MCP server is reached.
 */
import { readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const packages = pathToFileURL(join(process.env.AGENT_PACKAGES ?? '', 'package.json'));
const load = (name) => import(import.meta.resolve(name, packages));

const server = JSON.parse(readFileSync(join(homedir(), 'server.json'), 'utf8'));
const isRemote = server.url !== undefined;
const model = { baseURL: `${process.env.MODEL_URL}/v1`, apiKey: 'scripted' };
/** The environment of the server; some libraries pass on none. */
const env = { ...process.env };
const MOST_STEPS = 50;

/** Each returns a function that ends the connection. */
const LIBRARIES = {
  async langchain(question) {
    const { MultiServerMCPClient } = await load('@langchain/mcp-adapters');
    const { ToolNode } = await load('@langchain/langgraph/prebuilt');
    const { ChatOpenAI } = await load('@langchain/openai');
    const mcpx = isRemote ? { transport: 'http', url: server.url } : { transport: 'stdio', ...server, env };
    const client = new MultiServerMCPClient({ mcpServers: { mcpx } });
    const tools = await client.getTools();
    const chat = new ChatOpenAI({ model: 'scripted', apiKey: model.apiKey, configuration: model }).bindTools(tools);
    const node = new ToolNode(tools);
    const messages = [{ role: 'user', content: question }];
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const answer = await chat.invoke(messages);
      messages.push(answer);
      if (!answer.tool_calls?.length) break;
      messages.push(...(await node.invoke({ messages: [answer] })).messages);
    }
    return () => client.close();
  },

  async 'ai-sdk'(question) {
    const { generateText, stepCountIs } = await load('ai');
    const { createMCPClient } = await load('@ai-sdk/mcp');
    const { Experimental_StdioMCPTransport: Stdio } = await load('@ai-sdk/mcp/mcp-stdio');
    const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
    const transport = isRemote ? { type: 'http', url: server.url } : new Stdio({ ...server, env });
    const client = await createMCPClient({ transport });
    const provider = createOpenAICompatible({ name: 'scripted', ...model });
    const tools = await client.tools();
    await generateText({ model: provider('scripted'), tools, prompt: question, stopWhen: stepCountIs(MOST_STEPS) });
    return () => client.close();
  },

  async mastra(question) {
    const { MCPClient } = await load('@mastra/mcp');
    const { Agent } = await load('@mastra/core/agent');
    const { createOpenAICompatible } = await load('@ai-sdk/openai-compatible');
    const client = new MCPClient({ servers: { mcpx: isRemote ? { url: new URL(server.url) } : { ...server, env } } });
    const provider = createOpenAICompatible({ name: 'scripted', ...model });
    const agent = new Agent({
      ...{ id: 'agent', name: 'agent', instructions: 'Use the tools.', model: provider('scripted') },
      tools: await client.listTools(),
    });
    await agent.generate(question, { maxSteps: MOST_STEPS });
    return () => client.disconnect();
  },

  async 'openai-agents'(question) {
    const agents = await load('@openai/agents');
    const { default: OpenAI } = await load('openai');
    agents.setTracingDisabled(true);
    const own = isRemote
      ? new agents.MCPServerStreamableHttp({ name: 'mcpx', url: server.url })
      : new agents.MCPServerStdio({ name: 'mcpx', ...server, env });
    await own.connect();
    const agent = new agents.Agent({
      ...{ name: 'agent', instructions: 'Use the tools.', mcpServers: [own] },
      model: new agents.OpenAIChatCompletionsModel(new OpenAI(model), 'scripted'),
      mcpConfig: { convertSchemasToStrict: process.env.AGENT_STRICT === '1' },
    });
    await agents.run(agent, question, { maxTurns: MOST_STEPS });
    return () => own.close();
  },
};

const [name, question] = process.argv.slice(2);
const close = await LIBRARIES[name](question);
await close();
process.exit(0);
