/** A server that asks for the folders of its client as soon as it is connected, and again when they change. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ListRootsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { serverScript } from '../e2e/program.ts';
import { type Gateway, startGateway, TRANSPARENT } from './gateway.ts';

let root: string;
let gateway: Gateway;

beforeAll(async () => {
  root = realpathSync(mkdtempSync(join(tmpdir(), 'mcpx-roots-')));
  for (const name of ['start', 'first', 'second', 'other']) mkdirSync(join(root, name));
  const filesystem = { command: process.execPath, args: [serverScript('server-filesystem'), join(root, 'start')] };
  gateway = await startGateway({ ...TRANSPARENT, mcpServers: { filesystem } });
});
afterAll(async () => {
  await gateway?.stop();
  rmSync(root, { recursive: true, force: true, maxRetries: 5 });
});

const CARRIERS = {
  stdio: () => new StdioClientTransport({ ...gateway.command, stderr: 'ignore' }),
  HTTP: () => new StreamableHTTPClientTransport(new URL(gateway.url)),
};

async function clientWith(carrier: () => any, folder: string) {
  const client = new Client({ name: folder, version: '1' }, { capabilities: { roots: { listChanged: true } } });
  const own = { folder };
  client.setRequestHandler(ListRootsRequestSchema, () => ({
    roots: [{ uri: pathToFileURL(join(root, own.folder)).href, name: own.folder }],
  }));
  await client.connect(carrier());
  onTestFinished(() => client.close());
  const folders = async () =>
    JSON.stringify((await client.callTool({ name: 'list_allowed_directories', arguments: {} })).content);
  return { client, own, folders };
}

describe.each(Object.entries(CARRIERS))('over %s', (_, carrier) => {
  test('works in the folders of its client, and moves with them', async () => {
    const { client, own, folders } = await clientWith(carrier, 'first');
    await expect.poll(folders).toContain(join(root, 'first'));
    own.folder = 'second';
    await client.sendRootsListChanged();
    await expect.poll(folders).toContain(join(root, 'second'));
    expect(await folders()).not.toContain(join(root, 'first'));
  });
});

test('two clients at once have their own folders each', async () => {
  const [one, two] = await Promise.all([clientWith(CARRIERS.HTTP, 'first'), clientWith(CARRIERS.HTTP, 'other')]);
  await expect.poll(one.folders).toContain(join(root, 'first'));
  await expect.poll(two.folders).toContain(join(root, 'other'));
  two.own.folder = 'second';
  await two.client.sendRootsListChanged();
  await expect.poll(two.folders).toContain(join(root, 'second'));
  expect(await one.folders()).toContain(join(root, 'first'));
});
