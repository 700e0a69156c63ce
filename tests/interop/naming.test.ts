/** Names and URIs of several servers behind one mcpx: under every setting each leads to the thing that it stands for. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { fixture } from '../e2e/program.ts';
import { startGateway } from './gateway.ts';
import { talkSession } from './raw.ts';

const LONG = 'a_tool_with_a_name_that_is_as_long_as_the_longest_that_a_client_takes_and_more';
const folder = mkdtempSync(join(tmpdir(), 'mcpx-naming-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Two servers with a tool, a prompt, a resource and a template in common. */
function catalog(name: string, ...own: string[]) {
  const file = join(folder, `${name}.json`);
  const named = (names: string[]) => names.map((one) => ({ name: one, inputSchema: { type: 'object' } }));
  const content = {
    initialize: {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {}, prompts: {}, resources: {} },
      serverInfo: { name, version: '1' },
    },
    tools: named(['search', ...own]),
    prompts: named(['explain']),
    resources: ['note:///both', `note:///${name}`].map((uri) => ({ uri, name: uri })),
    resourceTemplates: [{ uriTemplate: `note:///${name}/{id}`, name: 'by id' }],
  };
  writeFileSync(file, JSON.stringify(content));
  return { command: process.execPath, args: [fixture('replay.mjs'), file] };
}

const mcpServers = { first: catalog('first', 'open', LONG), second: catalog('second', 'close', `${LONG}_2`) };

async function open(naming: Record<string, unknown>) {
  const gateway = await startGateway({ front: { kind: 'aggregate' }, mcpServers, naming });
  onTestFinished(() => gateway.stop());
  return talkSession(gateway);
}

const SETTINGS: [naming: Record<string, unknown>, tools: string[], searchIs: Record<string, string>][] = [
  [{}, ['first__search', 'first__open', 'second__search', 'second__close'], { second__search: 'second' }],
  [{ separator: '-' }, ['first-search', 'first-open', 'second-search', 'second-close'], { 'first-search': 'first' }],
  [{ separator: '::' }, ['first::search', 'first::open', 'second::search'], { 'second::search': 'second' }],
  [{ style: 'collision' }, ['first__search', 'open', 'second__search', 'close'], { first__search: 'first' }],
  [{ style: 'plain' }, ['search', 'open', 'close'], { search: 'first' }],
  [{ style: 'plain', onConflict: 'last-wins' }, ['open', 'search', 'close'], { search: 'second' }],
  [{ style: 'plain', onConflict: 'error' }, ['open', 'close'], {}],
];

test.each(SETTINGS)('tools with %j', async (naming, expected, searchIs) => {
  const client = await open(naming);
  const { tools } = await client.request('tools/list');
  const names: string[] = tools.map(({ name }: { name: string }) => name);
  expect(names).toEqual(expect.arrayContaining(expected));
  expect(names.filter((name) => name.includes('search'))).toEqual(expected.filter((name) => name.includes('search')));
  expect(new Set(names).size).toBe(names.length);
  expect(names.filter((name) => name.length > 53)).toEqual([]);
  expect(names.filter((name) => name.includes('a_tool_with_a_name'))).toHaveLength(2);
  for (const { name, _meta } of tools) {
    const result = await client.request('tools/call', { name });
    expect(result.content[0].text).toBe(`${_meta['dev.mcpx/server']} ran ${_meta['dev.mcpx/name']}`);
  }
  for (const [name, server] of Object.entries(searchIs))
    expect((await client.request('tools/call', { name })).content[0].text).toBe(`${server} ran search`);
  // The names are looked up: what merely looks like one is none.
  await expect(client.request('tools/call', { name: 'first__close' })).rejects.toThrow('Unknown tool: first__close');
});

describe('resources', () => {
  test.each(['wrap', 'keep'])('with "%s" every URI finds its server, also one that a template makes', async (style) => {
    const client = await open({ resources: style });
    const { resources } = await client.request('resources/list');
    expect(resources).toHaveLength(style === 'wrap' ? 4 : 3);
    for (const { uri, _meta } of resources) {
      const { contents } = await client.request('resources/read', { uri });
      expect(contents).toEqual([{ uri, text: `${_meta['dev.mcpx/server']} read ${_meta['dev.mcpx/uri']}` }]);
    }
    const { resourceTemplates } = await client.request('resources/templates/list');
    expect(resourceTemplates).toHaveLength(2);
    for (const { uriTemplate, _meta } of resourceTemplates) {
      const uri = uriTemplate.replace('{id}', '7');
      const { contents } = await client.request('resources/read', { uri });
      const server = _meta['dev.mcpx/server'];
      expect(contents).toEqual([{ uri, text: `${server} read note:///${server}/7` }]);
    }
    await expect(client.request('resources/read', { uri: 'nowhere://x' })).rejects.toThrow('Resource not found');
  });
});
