/** A server that asks for the folders of its client as soon as it is connected, and again when they change. */
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernHttp } from '@modelcontextprotocol/client';
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
  for (const name of ['start', 'first', 'second', 'other', 'shared', 'modern']) mkdirSync(join(root, name));
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
    const first = await Promise.all([folders(), folders()]);
    for (const seen of first) expect(seen).toContain(join(root, 'first'));
    for (const seen of first) expect(seen).not.toContain(join(root, 'start'));
    own.folder = 'second';
    await client.sendRootsListChanged();
    expect(await folders()).toContain(join(root, 'second'));
    expect(await folders()).not.toContain(join(root, 'first'));
  });
});

test('two clients at once have their own folders each', async () => {
  const [one, two] = await Promise.all([clientWith(CARRIERS.HTTP, 'first'), clientWith(CARRIERS.HTTP, 'other')]);
  expect(await one.folders()).toContain(join(root, 'first'));
  expect(await two.folders()).toContain(join(root, 'other'));
  two.own.folder = 'second';
  await two.client.sendRootsListChanged();
  expect(await two.folders()).toContain(join(root, 'second'));
  expect(await one.folders()).toContain(join(root, 'first'));
});

/** How many processes the gateway has started that still run. */
const started = () => children(gateway.pid).length;

test.runIf(process.platform === 'linux')('sessions with the same folders share one process', async () => {
  const first = await clientWith(CARRIERS.HTTP, 'shared');
  expect(await first.folders()).toContain(join(root, 'shared'));
  const before = started();
  const clients = await Promise.all([1, 2, 3, 4, 5].map(() => clientWith(CARRIERS.HTTP, 'shared')));
  const seen = await Promise.all(clients.map(({ folders }) => folders()));
  for (const one of seen) expect(one).toContain(join(root, 'shared'));
  expect(started()).toBe(before);
});

/** A client without a session, whose folder may change without a word. */
async function modernClient(folder: string) {
  const client = new ModernClient(
    { name: 'modern', version: '1' },
    { capabilities: { roots: {} }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  );
  const own = { folder };
  client.setRequestHandler('roots/list', () => ({ roots: [{ uri: pathToFileURL(join(root, own.folder)).href }] }));
  await client.connect(new ModernHttp(new URL(gateway.url)));
  onTestFinished(() => client.close());
  const folders = async () =>
    JSON.stringify((await client.callTool({ name: 'list_allowed_directories', arguments: {} })).content);
  return { own, folders };
}

test.runIf(process.platform === 'linux')('a client without sessions keeps its process', async () => {
  const { folders } = await modernClient('modern');
  expect(await folders()).toContain(join(root, 'modern'));
  const before = started();
  expect(await folders()).toContain(join(root, 'modern'));
  expect(await folders()).toContain(join(root, 'modern'));
  expect(started()).toBe(before);
});

test('two windows of one program without sessions have their own folders, also after a move', async () => {
  const [one, two] = [await modernClient('first'), await modernClient('other')];
  const expectFolders = async (window: typeof one) => {
    expect(await window.folders()).toContain(join(root, window.own.folder));
  };
  for (const window of [one, two, one]) await expectFolders(window);
  one.own.folder = 'second';
  for (const window of [one, two]) await expectFolders(window);
});

/** The pids of the processes that a process has started and that still run. */
function children(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ');
}
