/**
 * mcpx as the client of a server of the official conformance suite: `node scripts/conformance/client.mjs <url>`, started by
 * the suite. Lists the server's tools through mcpx and calls each of them once, or what the scenario wants. If mcpx names a
 * command to sign in, it is run, as a user would do. MCPX_COMMAND is the program, as a JSON list.
 */
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createTempHome } from '../mcp-client.mjs';

/** ms; the suite stops waiting after 30 s and ends its shell only. */
const PATIENCE = 25_000;
/** The user signs in at most so often. */
const SIGN_INS = 3;
/** Empty lists after a sign-in, 100 ms apart, until the user signs in again. */
const LOOKS = 40;
/** The document that the suite serves for clients without registration. */
const METADATA_DOCUMENT = 'https://conformance-test.local/client-metadata.json';

setTimeout(() => process.exit(1), PATIENCE).unref();
/** Some scenarios say what is to be called, and as which client. */
const context = JSON.parse(process.env.MCP_CONFORMANCE_CONTEXT ?? '{}');
const scenario = process.env.MCP_CONFORMANCE_SCENARIO ?? '';
const [command, ...args] = JSON.parse(process.env.MCPX_COMMAND);

/** Arguments that fit: every number gets one, and who asks for a schema gets that of the tool before it, as it arrived. */
function argumentsFor({ inputSchema }, before) {
  const values = Object.entries(inputSchema.properties ?? {}).flatMap(([name, { type }], index) => {
    if (type === 'number') return [[name, index + 1]];
    return name === 'schema' ? [[name, before?.inputSchema]] : [];
  });
  return Object.fromEntries(values);
}

/** The `oauth` settings that a user of this scenario would write. */
function oauthSettings() {
  const { client_id: clientId, client_secret: clientSecret, private_key_pem: privateKey } = context;
  return {
    ...(clientId && { clientId }),
    ...(clientSecret && { clientSecret }),
    ...(privateKey && { privateKey }),
    ...(scenario.startsWith('auth/client-credentials') && { grant: 'client_credentials' }),
    ...(scenario === 'auth/basic-cimd' && { clientMetadataUrl: METADATA_DOCUMENT }),
  };
}

/** Runs `mcpx login`, and follows the redirects of the sign-in page like a browser. */
async function signIn(home, more) {
  const words = [...args, 'login', 'suite', '--json', '--no-browser', ...more];
  const child = spawn(command, words, { cwd: home.folder, env: home.env, stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  let printed = '';
  for await (const chunk of child.stdout) {
    const before = printed;
    printed += chunk;
    const { url } = before === '' && printed.includes('\n') ? JSON.parse(printed.split('\n')[0]) : {};
    if (url !== undefined) await (await fetch(url)).text();
  }
  return (await ended) === 0;
}

/** The options of the command that a message names; undefined if it names none. */
function namedSignIn(text) {
  const [, scope] = /mcpx login suite(?: --config \S+)*(?: --scope "([^"]+)")?/.exec(text) ?? [undefined, null];
  if (scope === null) return undefined;
  return scope === undefined ? [] : ['--scope', scope];
}

const home = createTempHome({
  mcpServers: { suite: { url: process.argv[2], oauth: oauthSettings() } },
  naming: { style: 'plain', resources: 'keep' },
  front: { kind: 'aggregate' },
});
const client = new Client(
  { name: 'conformance-person', version: '1.0.0' },
  { capabilities: { elicitation: { form: { applyDefaults: true } } } },
);
// A person who agrees to whatever is proposed.
client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }));
let signIns = 0;
const trySignIn = async (more) => {
  signIns += 1;
  return signIns <= SIGN_INS && (await signIn(home, more));
};

/** Lists the tools; a server that is only listed after a sign-in has none before. */
async function listTools() {
  const { tools } = await client.listTools();
  if (tools.length > 0 || !scenario.startsWith('auth/') || !(await trySignIn([]))) return tools;
  for (let look = 1; ; look++) {
    const again = await client.listTools();
    if (again.tools.length > 0) return again.tools;
    await sleep(100);
    // The server may have moved to another authorization server, and a user signs in once more.
    if (look % LOOKS === 0 && !(await trySignIn([]))) return tools;
  }
}

/** Calls a tool; if the answer names a sign-in, signs in and calls it again. */
async function callTool(call) {
  const result = await client.callTool(call).catch((error) => ({ isError: true, content: [], error: error.message }));
  const more = result.isError ? namedSignIn(JSON.stringify(result).replaceAll('\\"', '"')) : undefined;
  return more !== undefined && (await trySignIn(more)) ? callTool(call) : result;
}

try {
  await client.connect(
    new StdioClientTransport({ command, args: [...args, 'serve'], cwd: home.folder, env: home.env, stderr: 'inherit' }),
  );
  const tools = await listTools();
  const once = () => tools.map((tool, index) => ({ name: tool.name, arguments: argumentsFor(tool, tools[index - 1]) }));
  for (const call of context.toolCalls ?? once()) {
    const result = await callTool(call);
    process.stdout.write(`${call.name}: ${JSON.stringify(result)}\n`);
    if (result.isError) process.exitCode = 1;
  }
} finally {
  await client.close();
  home.remove();
}
