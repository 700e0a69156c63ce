/** The aggregate front: every tool under its exposed name, nothing else changed. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createCatalogStore } from '../../src/catalog/catalog-store.ts';
import { locateUri } from '../../src/catalog/exposed-uris.ts';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import { McpxError } from '../../src/errors.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Params } from '../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../world.ts';

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
  const front = openFront('aggregate', world.deps, { key: 'k', notify: () => undefined });
  const request = (method: string, params?: Params) =>
    front.request(
      { method, ...(params && { params }) },
      { signal: new AbortController().signal, progress: () => undefined },
    );
  return { ...world, request };
}

/** Runs that share what is stored of their servers, which have these tools. */
function stored() {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-aggregate-'));
  return async (servers: Record<string, string[] | Promise<never>>, naming: Partial<Settings['naming']> = {}) => {
    const starts: string[] = [];
    const scripts = Object.entries(servers).map(([name, tools]): [string, Script] => [
      name,
      {
        answer: async (method) => {
          if (method !== 'tools/list') return { content: [] };
          starts.push(name);
          return { tools: (await tools).map((tool) => ({ name: tool })) };
        },
        ...(name === 'denied' && { spec: { tools: { deny: ['*'] } } }),
      },
    ]);
    const store = createCatalogStore({ folder, log: createLog({ write: () => undefined }) });
    const world = createWorld(Object.fromEntries(scripts), {
      settings: { ...DEFAULTS, naming: { ...DEFAULTS.naming, ...naming } },
      store,
    });
    const front = openFront('aggregate', world.deps, { key: 'k', notify: () => undefined });
    const request = (method: string, params: Params = {}) =>
      front.request({ method, params }, { signal: new AbortController().signal });
    await request('tools/list');
    store.flush();
    return { request, starts };
  };
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
  const front = openFront('aggregate', deps, { key: 'k', notify: () => undefined });
  const { signal } = new AbortController();
  const { tools } = (await front.request({ method: 'tools/list' }, { signal })) as { tools: any[] };
  expect(locateUri(pageOf(tools[0]._meta))).toEqual({ server: 'a', uri: 'ui://page' });
  expect(tools[0]._meta.ui?.visibility).toEqual((_meta as any).ui?.visibility);
});

test('an unknown name is a protocol error', async () => {
  await expect(open().request('tools/call', { name: 'github.search' })).rejects.toMatchObject({ code: -32602 });
});

test('what is newer than what was stored is looked for once, in the servers that may have it', async () => {
  const run = stored();
  await run({ one: ['old'], other: ['old'], denied: ['secret'] });
  const { request, starts } = await run({
    one: ['old', 'new'],
    other: ['old', 'new'],
    denied: ['secret', 'new'],
  });
  expect(await request('tools/call', { name: 'one__new' })).toMatchObject({ content: [] });
  expect(starts).toEqual(['one']);
  for (const name of ['nobody__new', 'denied__new', 'denied__none', 'other__none', 'other__nothing'])
    await expect(request('tools/call', { name })).rejects.toThrow(`Unknown tool: ${name}`);
  expect(starts).toEqual(['one', 'denied', 'other']);
});

test('what one server has does not wait for another that is slow to say', async () => {
  const run = stored();
  const naming = { style: 'plain' } as const;
  await run({ slow: ['old'], quick: ['old'] }, naming);
  const { request } = await run({ slow: new Promise(() => undefined), quick: ['old', 'new'] }, naming);
  expect(await request('tools/call', { name: 'new' })).toMatchObject({ content: [] });
});

test('there are no instructions where no server has any', async () => {
  expect(await open().request('initialize', { protocolVersion: '2025-11-25' })).not.toHaveProperty('instructions');
});

test('a call to a server that never came up is recorded and answered with its failure', async () => {
  const dead: Script = {
    connect: () => Promise.reject(new McpxError('unreachable', 'server "dead" could not be started')),
  };
  const world = createWorld({ dead, slack: { tools: [{ name: 'search' }] } });
  const front = openFront('aggregate', world.deps, { key: 'k', notify: () => undefined });
  const call = (name: string) =>
    front.request({ method: 'tools/call', params: { name, arguments: {} } }, { signal: new AbortController().signal });
  await expect(call('dead__search')).rejects.toThrow('server "dead" could not be started');
  await expect(call('gone__search')).rejects.toThrow('Unknown tool: gone__search');
  expect(world.stats.snapshot()).toEqual({ calls: 1, errors: 1 });
});

test.each(['plain', 'collision'] as const)('so is one by a name without a prefix (naming "%s")', async (style) => {
  const dead: Script = {
    connect: () => Promise.reject(new McpxError('unreachable', 'server "dead" could not be started')),
  };
  const world = createWorld(
    { dead, slack: { tools: [{ name: 'search' }] } },
    { settings: { ...DEFAULTS, naming: { ...DEFAULTS.naming, style } } },
  );
  const seen: string[] = [];
  world.observer.subscribe((happening) => {
    if (happening.type === 'call_ended')
      seen.push(`${happening.call.server} ${happening.call.name} ${happening.call.outcome}`);
  });
  const front = openFront('aggregate', world.deps, { key: 'k', notify: () => undefined });
  const call = (name: string) =>
    front.request({ method: 'tools/call', params: { name, arguments: {} } }, { signal: new AbortController().signal });
  await expect(call('fetch')).rejects.toThrow('server "dead" could not be started');
  await expect(call('dead__fetch')).rejects.toThrow('server "dead" could not be started');
  await call('search');
  expect(seen).toEqual(['dead fetch failed', 'dead fetch failed', 'slack search ok']);
});
