/** Work that a real server goes on with after its answer, and the question that it asks on the way: as if the server itself were asked. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { serverScript } from '../e2e/program.ts';
import { type Gateway, startGateway, TRANSPARENT } from './gateway.ts';

const SERVER = { command: process.execPath, args: [serverScript('server-everything')] };
const RESEARCH = { name: 'simulate-research-query', arguments: { topic: 'python', ambiguous: true } };

let gateway: Gateway;
beforeAll(async () => {
  gateway = await startGateway({ ...TRANSPARENT, mcpServers: { everything: SERVER } });
});
afterAll(() => gateway?.stop());

async function open(carrier: any) {
  const capabilities = { elicitation: {}, tasks: { requests: { elicitation: { create: {} } } } };
  const client = new Client({ name: 'patient', version: '1' }, { capabilities });
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept',
    content: { interpretation: 'programming' },
  }));
  await client.connect(carrier);
  onTestFinished(() => client.close());
  return client;
}

test.each<[string, () => unknown]>([
  ['stdio', () => new StdioClientTransport({ ...gateway.command, stderr: 'ignore' })],
  ['HTTP', () => new StreamableHTTPClientTransport(new URL(gateway.url))],
])('a task over %s asks, ends with its result, and is listed for who began it', async (_, carrier) => {
  const [client, other] = await Promise.all([open(carrier()), open(carrier())]);
  await client.listTools();
  const told: unknown[] = [];
  const steps = client.experimental.tasks.callToolStream(RESEARCH, CallToolResultSchema, { task: { ttl: 60_000 } });
  for await (const step of steps) told.push(step.type === 'taskStatus' ? step.task.status : step);
  expect(told[0]).toMatchObject({ type: 'taskCreated' });
  expect(told).toContain('input_required');
  expect(told.at(-1)).toMatchObject({
    type: 'result',
    result: { content: [{ text: expect.stringContaining('python (programming)') }] },
  });
  expect((await client.experimental.tasks.listTasks()).tasks).toMatchObject([{ status: 'completed' }]);
  expect((await other.experimental.tasks.listTasks()).tasks).toEqual([]);
});
