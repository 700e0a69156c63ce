/** Extensions of servers: what is announced is answered by the server that has it. */
import { describe, expect, test } from 'vitest';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import type { ServerSpec } from '../../src/config/config.ts';
import { createWorld, openFront, type Script } from '../world.ts';

const SKILLS = 'io.modelcontextprotocol/skills';

function server(name: string, ids: string[], spec: Partial<ServerSpec> = {}): Script {
  return {
    spec,
    tools: [{ name: 'work' }],
    capabilities: { tools: {}, extensions: Object.fromEntries(ids.map((id) => [id, { of: name }])) },
    answer: (method, params) => ({ from: name, method, params }),
  };
}

function open(scripts: Record<string, Script>, kind: 'aggregate' | 'compact' = 'aggregate') {
  const world = createWorld(scripts);
  const front = openFront(kind, world.deps, { key: 'k', notify: () => undefined });
  const { signal } = new AbortController();
  const ask = (method: string, params: object = {}) => front.request({ method, params: { ...params } }, { signal });
  const announced = async () => ((await ask('initialize', { capabilities: {} })) as any).capabilities.extensions;
  return { ...world, ask, announced };
}

const missing = { code: -32601 };

describe('an extension of one server', () => {
  test('is announced, and its methods are relayed as they are', async () => {
    const { ask, announced, sent } = open({ a: server('a', [SKILLS]), b: server('b', []) });
    expect(await announced()).toEqual({ [SKILLS]: { of: 'a' } });
    expect(await ask('skills/list', { cursor: 'x', _meta: { 'com.example/y': 1 } })).toMatchObject({
      from: 'a',
      params: { cursor: 'x', _meta: { 'com.example/y': 1 } },
    });
    expect(await ask('acme/unheard-of')).toMatchObject({ from: 'a' });
    expect(sent.map(({ server }) => server)).toEqual(['a', 'a']);
  });

  test('is told apart from another by the first word of the method', async () => {
    const { ask, announced } = open({ a: server('a', [SKILLS]), b: server('b', ['com.example/notes']) });
    expect(Object.keys(await announced())).toEqual([SKILLS, 'com.example/notes']);
    expect(await ask('skills/list')).toMatchObject({ from: 'a' });
    expect(await ask('notes/list')).toMatchObject({ from: 'b' });
    await expect(ask('acme/unheard-of')).rejects.toMatchObject(missing);
  });

  test.each(['server/discover', 'resources/unheard-of', 'sampling/createMessage', 'nothing'])(
    'does not get %s',
    async (method) => {
      const { ask, sent } = open({ a: server('a', [SKILLS]) });
      await expect(ask(method)).rejects.toMatchObject(missing);
      expect(sent).toEqual([]);
    },
  );

  test('is unknown in the compact front, which announces none, and where no server has one', async () => {
    const compact = open({ a: server('a', [SKILLS]) }, 'compact');
    expect(await compact.announced()).toBeUndefined();
    await expect(compact.ask('skills/list')).rejects.toMatchObject(missing);
    await expect(open({ a: server('a', []) }).ask('skills/list')).rejects.toMatchObject(missing);
  });

  test('is as good as missing where a filter keeps something of its server back', async () => {
    const { ask, announced, sent } = open({ a: server('a', [SKILLS], { tools: { deny: ['work'] } }) });
    expect(await announced()).toBeUndefined();
    await expect(ask('skills/list')).rejects.toMatchObject(missing);
    expect(sent).toEqual([]);
  });
});

describe('an extension of several servers', () => {
  const both = () => open({ a: server('a', [SKILLS]), b: server('b', [SKILLS]) });

  test('is not announced, unless mcpx knows its methods', async () => {
    expect(await both().announced()).toBeUndefined();
    const ui = 'io.modelcontextprotocol/ui';
    expect(await open({ a: server('a', [ui]), b: server('b', [ui]) }).announced()).toEqual({ [ui]: { of: 'a' } });
    await expect(both().ask('skills/list')).rejects.toMatchObject(missing);
  });

  test('is reached where the params name a thing of one of them', async () => {
    const { ask } = both();
    const uri = exposeUri({ server: 'b', uri: 'skill://x' }, 'wrap');
    expect(await ask('skills/read', { uri })).toMatchObject({ from: 'b', params: { uri: 'skill://x' } });
    expect(await ask('skills/of', { name: 'b__work' })).toMatchObject({ from: 'b', params: { name: 'work' } });
    await expect(ask('skills/read', { uri: 'skill://x' })).rejects.toMatchObject(missing);
    await expect(ask('skills/of', { name: 'nothing' })).rejects.toMatchObject(missing);
  });
});
