/**
 * mcpx as the client of a server of the official conformance suite: `node scripts/conformance/client.mjs <url>`, started by
 * the suite. Lists the server's tools through mcpx and calls each of them once, or what the scenario wants.
 * MCPX_COMMAND is the program, as a JSON list.
 */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createTempHome } from '../mcp-client.mjs';

/** ms; the suite stops waiting after 30 s and ends its shell only. */
const PATIENCE = 25_000;

/** Arguments that fit: every number gets one, and who asks for a schema gets that of the tool before it, as it arrived. */
function argumentsFor({ inputSchema }, before) {
  const values = Object.entries(inputSchema.properties ?? {}).flatMap(([name, { type }], index) => {
    if (type === 'number') return [[name, index + 1]];
    return name === 'schema' ? [[name, before?.inputSchema]] : [];
  });
  return Object.fromEntries(values);
}

setTimeout(() => process.exit(1), PATIENCE).unref();
/** Some scenarios say what is to be called. */
const { toolCalls: wanted } = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const [command, ...args] = JSON.parse(process.env.MCPX_COMMAND);
const home = createTempHome({
  mcpServers: { suite: { url: process.argv[2] } },
  naming: { style: 'plain', resources: 'keep' },
  front: { kind: 'aggregate' },
});
const client = new Client(
  { name: 'conformance-person', version: '1.0.0' },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
// A person who agrees to whatever is proposed.
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
try {
  await client.connect(
    new StdioClientTransport({ command, args: [...args, 'serve'], cwd: home.folder, env: home.env, stderr: 'inherit' }),
  );
  const { tools } = await client.listTools();
  const once = () => tools.map((tool, index) => ({ name: tool.name, arguments: argumentsFor(tool, tools[index - 1]) }));
  for (const call of wanted ?? once()) {
    const result = await client.callTool(call);
    process.stdout.write(`${call.name}: ${JSON.stringify(result)}\n`);
    if (result.isError) process.exitCode = 1;
  }
} finally {
  await client.close();
  home.remove();
}
