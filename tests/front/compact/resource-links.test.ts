/** `resource_link` blocks in results of the compact front, and the lines that tell a model how to read them. */
import { describe, expect, test } from 'vitest';
import { exposeUri } from '../../../src/catalog/exposed-uris.ts';
import { DEFAULTS, type Settings } from '../../../src/config/config.ts';
import type { Params } from '../../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../../world.ts';

const link = (uri: string, more: Params = {}) => ({ type: 'resource_link', uri, name: 'report', ...more });
const OFFERS = { capabilities: { tools: {}, resources: {} } };

interface Change {
  front?: Partial<Settings['front']>;
  naming?: Partial<Settings['naming']>;
  script?: Partial<Script>;
  /** URIs that the server lists (default: one). */
  listed?: string[];
}

function open(content: unknown[], { front: changed, naming, script, listed = ['x://known'] }: Change = {}) {
  const settings = {
    ...DEFAULTS,
    front: { ...DEFAULTS.front, ...changed },
    naming: { ...DEFAULTS.naming, ...naming },
  };
  const answer = (method: string, params: Params | undefined) => {
    if (method === 'resources/list') return { resources: listed.map((uri) => ({ uri, name: uri })) };
    if (method === 'resources/templates/list') return { resourceTemplates: [] };
    if (method === 'resources/read') return { contents: [{ uri: params?.uri, text: `the text of ${params?.uri}` }] };
    return { content };
  };
  const world = createWorld({ s: { tools: [{ name: 't' }], ...OFFERS, answer, ...script } }, { settings });
  const front = openFront('compact', world.deps, { key: 'k', notify: () => undefined });
  const request = (method: string, params: Params) =>
    front.request({ method, params }, { signal: new AbortController().signal }) as Promise<{ content: any[] }>;
  const call = (name: string, args: Params) => request('tools/call', { name, arguments: args });
  const exec = async (more: Params = { server_name: 's', tool_name: 't' }) => {
    await world.catalog.settle(1000, undefined, 'all');
    return (await call('exec', more)).content;
  };
  return { ...world, request, call, exec };
}

describe('a link to a resource in a result', () => {
  test('stays, and a line says how it is read, which works', async () => {
    const { exec, call } = open([link('x://known')]);
    const [kept, said, ...more] = await exec();
    expect(kept).toEqual(link(exposeUri({ server: 's', uri: 'x://known' }, DEFAULTS.naming.resources)));
    expect(said).toEqual({
      type: 'text',
      text: 'resource "report": read it with resources {"server_name":"s","uri":"x://known"}\n',
    });
    expect(more).toEqual([]);
    const read = await call('resources', JSON.parse(/\{.*\}/.exec(said.text)?.[0] ?? ''));
    expect(read.content[0].text).toBe('the text of x://known');
  });

  test('thousands of them are one text that is stored, so that the answer stays small', async () => {
    const { exec } = open(Array.from({ length: 5000 }, (_, index) => link(`x://known/${index}`)));
    const content = await exec();
    expect(content.map(({ type }) => type)).toEqual(['text', 'text']);
    expect(content[1].text).toContain('the whole is kept for 30 minutes');
    expect(JSON.stringify(content).length).toBeLessThan(5000);
  });

  test('is written in the other dialect as well', async () => {
    const { catalog, call } = open([link('x://known')], { front: { dialect: 'describe' } });
    await catalog.settle(1000, undefined, 'all');
    const { content } = await call('call', { method: 's.t' });
    expect(content[1].text).toContain('resources {"method":"s","uri":"x://known"}');
    const read = await call('resources', JSON.parse(/\{.*\}/.exec(content[1].text)?.[0] ?? ''));
    expect(read.content[0].text).toBe('the text of x://known');
  });

  test.each(['wrap', 'keep'] as const)(
    'is read natively where the tool for resources is not listed (%s)',
    async (resources) => {
      const { exec, request } = open([link('x://made')], { naming: { resources }, listed: [] });
      const [kept, said] = await exec();
      expect(said.text).toBe(`resource "report": read it with resources/read {"uri":"${kept.uri}"}\n`);
      if (resources === 'wrap') expect(await request('resources/read', { uri: kept.uri })).toHaveProperty('contents');
    },
  );

  test('that another mcpx has exposed is read at that one', async () => {
    const uri = exposeUri({ server: 'far', uri: 'x://far' }, 'wrap');
    const { exec, call, sent } = open([link(uri), link('mcpx://result/r1')]);
    const lines = (await exec()).at(-1).text.trim().split('\n');
    for (const line of lines) await call('resources', JSON.parse(/\{.*\}/.exec(line)?.[0] ?? ''));
    const read = sent.filter(({ method }) => method === 'resources/read').map(({ params }) => params?.uri);
    expect(read).toEqual([uri, 'mcpx://result/r1']);
  });

  test('to a page of the web is told as it is where its server has no resources', async () => {
    const { exec } = open([link('https://example.com/a')], { script: { capabilities: { tools: {} } } });
    expect((await exec()).at(-1).text).toBe('resource "report": https://example.com/a\n');
  });

  test('that may not be read, or has no URI, is not told', async () => {
    const { exec } = open(
      [link('x://secret'), { type: 'resource_link', name: 'x' }, { type: 'resource_link', uri: 5 }],
      {
        script: { spec: { resources: { deny: ['x://secret'] } } },
      },
    );
    expect(await exec()).toHaveLength(3);
  });

  test('begins a line of its own after an open text, and names are cleaned and cut', async () => {
    const { exec } = open([
      { type: 'text', text: 'open' },
      link('x://known', { name: `a\n"b"\u200b${'c'.repeat(500)}`, title: 7 }),
      link('x://known', { title: 'A title' }),
    ]);
    const said = (await exec()).at(-1).text;
    expect(said).toMatch(/^\nresource "a "b"c+…": read/);
    expect(said.split('\n')[1].length).toBeLessThan(250);
    expect(said).toContain('resource "A title": read it');
  });

  test('among very many is told as far as there is room, and the others are counted', async () => {
    const { exec } = open(Array.from({ length: 50 }, (_, n) => link(`x://${n}`)));
    const content = await exec();
    expect(content).toHaveLength(51);
    const lines = content.at(-1).text.trimEnd().split('\n');
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toBe('and 30 more resources');
    const long = open([link(`x://${'y'.repeat(100_000)}`), link('x://known')]);
    const said = (await long.exec()).at(-1).text;
    expect(said).toMatch(/^resource "report": read it with resources .*known"\}\nand 1 more resource\n$/);
  });

  test('in a batch is told with its call, and all together as many as one may have', async () => {
    const { exec } = open(Array.from({ length: 50 }, (_, n) => link(`x://${n}`)));
    const calls = Array.from({ length: 10 }, () => ({ server_name: 's', tool_name: 't' }));
    const texts = (await exec({ calls })).filter(({ type }) => type === 'text').map(({ text }) => text);
    const lines = texts.join('').trim().split('\n');
    expect(lines.filter((line) => line.startsWith('resource '))).toHaveLength(20);
    expect(lines.filter((line) => line === 'and 48 more resources')).toHaveLength(10);
  });

  test('is passed on as it is by the aggregate front', async () => {
    const { deps, catalog } = open([link('x://known')]);
    await catalog.settle(1000);
    const front = openFront('aggregate', deps, { key: 'k', notify: () => undefined });
    const params = { name: 's__t', arguments: {} };
    const result = (await front.request(
      { method: 'tools/call', params },
      { signal: new AbortController().signal },
    )) as any;
    expect(result.content).toHaveLength(1);
  });
});
