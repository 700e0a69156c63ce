/** Talks to mcpx as a client would and counts, exactly, what a model reads and writes on the way. For npm run bench:tokens. */
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { INITIALIZE, INITIALIZED, openSession } from '../mcp-client.mjs';
import { BuildError } from '../project.mjs';

/** ms for everything that is asked of one program. */
const PATIENCE = 10 * 60_000;

export const count = (text) => encode(text ?? '', { disallowedSpecial: new Set() }).length;
export const countJson = (value) => count(JSON.stringify(value));
export const listed = ({ name, description, inputSchema }) => ({ name, description, inputSchema });
const defined = ({ name, description, inputSchema, outputSchema }) => ({
  name,
  description,
  inputSchema,
  outputSchema,
});
export const sum = (values) => values.reduce((total, value) => total + value, 0);

/** A talk with a program that speaks MCP over stdio. */
export async function openClient(command, args, options) {
  const session = openSession(command, args, { timeout: PATIENCE, ...options });
  const ask = async (method, params) => {
    const { result, error } = await session.request(method, params);
    if (error) throw new BuildError(`"${method}" failed: ${error.message}`);
    return result;
  };
  const { instructions } = await ask(INITIALIZE.method, INITIALIZE.params);
  session.child.stdin.write(`${JSON.stringify(INITIALIZED)}\n`);
  const tools = [];
  for (let cursor; ; ) {
    const page = await ask('tools/list', cursor === undefined ? {} : { cursor });
    tools.push(...page.tools);
    cursor = page.nextCursor;
    if (cursor === undefined) break;
  }
  /** The text of an answer, and what the exchange costs. */
  const call = async (name, input) => {
    const params = { name, arguments: input };
    const { content, isError } = await ask('tools/call', params);
    const text = content.map((block) => block.text ?? '').join('\n');
    return { text, isError, cost: countJson(params) + count(text) };
  };
  return { tools, instructions, call, close: session.close };
}

async function taskCost(client, menu, { server, tool, query, args }) {
  const name = { server_name: server, tool_name: tool };
  const search = await client.call('inspect', { query });
  const look = await client.call('inspect', name);
  const input = args ?? (await exampleOf(client, name));
  const exec = await client.call('exec', { ...name, arguments: input });
  if (exec.isError) throw new BuildError(`the call of "${server}.${tool}" failed: ${exec.text}`);
  const found = search.text.includes(tool);
  return {
    server,
    tool,
    found,
    cost: menu + search.cost + look.cost + exec.cost,
  };
}

/** Arguments that pass: none, or those of the example that inspect gives after a call without any. Not counted. */
async function exampleOf(client, name) {
  const { isError } = await client.call('exec', { ...name, arguments: {} });
  if (!isError) return {};
  const { text } = await client.call('inspect', name);
  const [, example] = /^example: exec (\{.*\})$/m.exec(text) ?? [];
  return example === undefined ? {} : JSON.parse(example).arguments;
}

/** Talks to mcpx in front of the servers and measures everything. */
export async function measure({ program: [command, ...before], env, folder }, { mcpServers, catalogs, tasks }) {
  const file = join(folder, 'config.json');
  writeFileSync(file, JSON.stringify({ mcpServers, log: { level: 'error' } }));
  // The first menu does not wait for slow servers, so they are listed before.
  await promisify(execFile)(command, [...before, 'tools', '--json', '--config', file], {
    cwd: folder,
    env,
    maxBuffer: 2 ** 28,
  });
  const client = await openClient(command, [...before, 'serve', file], { cwd: folder, env });
  try {
    const menu = rawCost(client);
    const asked = [];
    for (const catalog of catalogs.filter(({ tools }) => tools.length > 0)) asked.push(await lookUp(client, catalog));
    const done = [];
    for (const task of tasks) done.push(await taskCost(client, menu, task));
    const tools = asked.flatMap(({ shares }) => shares);
    return { raw: sum(catalogs.map(rawCost)), menu, servers: asked, tools, tasks: done };
  } finally {
    await client.close();
  }
}

export function rawCost({ tools, instructions }) {
  return (tools.length > 0 ? countJson(tools.map(listed)) : 0) + count(instructions);
}

/** Measures the answers of `inspect` for a server and for each of its tools, next to the cost of the definitions. */
async function lookUp(client, { name, tools, instructions }) {
  const whole = await client.call('inspect', { server_name: name });
  const shares = [];
  for (const tool of tools) {
    const answer = await client.call('inspect', { server_name: name, tool_name: tool.name });
    if (answer.isError) throw new BuildError(`inspect of "${name}.${tool.name}" failed: ${answer.text}`);
    shares.push(count(answer.text) / countJson(defined(tool)));
  }
  const raw = countJson(tools.map(listed));
  return {
    name,
    count: tools.length,
    raw,
    definitions: countJson(tools.map(defined)) + count(instructions),
    inspected: count(whole.text),
    shares,
  };
}
