/** The aggregate front: every tool under its exposed name, nothing else changed. */
import { expect, test } from 'vitest';
import { locateUri } from '../../src/catalog/uris.ts';
import { createFront } from '../../src/front/front.ts';
import type { Params } from '../../src/wire/message.ts';
import { createWorld } from '../world.ts';

const TOOL = {
  name: 'search',
  title: 'Search',
  inputSchema: { type: 'object', required: ['q'] },
  annotations: { odd: 1 },
  _meta: { x: 1 },
};

function open() {
  const world = createWorld({
    github: { tools: [TOOL], answer: () => ({ content: [], custom: true }) },
    slack: { tools: [{ name: 'search' }] },
  });
  const front = createFront('aggregate', world.deps, { key: 'k', notify: () => undefined });
  const request = (method: string, params?: Params) =>
    front.request(
      { method, ...(params && { params }) },
      { signal: new AbortController().signal, progress: () => undefined },
    );
  return { ...world, request };
}

test('tools keep every field but the name, and say where they come from', async () => {
  const { tools } = (await open().request('tools/list')) as { tools: unknown[] };
  expect(tools).toEqual([
    { ...TOOL, name: 'github__search', _meta: { x: 1, 'dev.mcpx/server': 'github', 'dev.mcpx/name': 'search' } },
    { name: 'slack__search', _meta: { 'dev.mcpx/server': 'slack', 'dev.mcpx/name': 'search' } },
  ]);
});

test('a call reaches its server verbatim, unchecked, and the result is untouched', async () => {
  const { request, sent } = open();
  await request('tools/list');
  const result = await request('tools/call', { name: 'github__search', arguments: { wrong: 1 }, _meta: { trace: 1 } });
  expect(result).toEqual({ content: [], custom: true });
  expect(sent).toEqual([
    {
      server: 'github',
      method: 'tools/call',
      params: { name: 'search', arguments: { wrong: 1 }, _meta: { trace: 1 } },
    },
  ]);
});

test.each([
  ['MCP Apps', { ui: { resourceUri: 'ui://page', visibility: ['model'] } }, ({ ui }: any) => ui.resourceUri],
  ['older MCP Apps', { 'ui/resourceUri': 'ui://page' }, (meta: any) => meta['ui/resourceUri']],
  ['ChatGPT', { 'openai/outputTemplate': 'ui://page' }, (meta: any) => meta['openai/outputTemplate']],
])('a page of %s is named under a URI that can be read', async (_, _meta, pageOf) => {
  const { deps } = createWorld({ a: { tools: [{ name: 't', _meta }] } });
  const front = createFront('aggregate', deps, { key: 'k', notify: () => undefined });
  const { signal } = new AbortController();
  const { tools } = (await front.request({ method: 'tools/list' }, { signal })) as { tools: any[] };
  expect(locateUri(pageOf(tools[0]._meta))).toEqual({ server: 'a', uri: 'ui://page' });
  expect(tools[0]._meta.ui?.visibility).toEqual((_meta as any).ui?.visibility);
});

test('an unknown name is a protocol error', async () => {
  await expect(open().request('tools/call', { name: 'github.search' })).rejects.toMatchObject({ code: -32602 });
});

test('there are no instructions of ours', async () => {
  expect(await open().request('initialize', { protocolVersion: '2025-11-25' })).not.toHaveProperty('instructions');
});
