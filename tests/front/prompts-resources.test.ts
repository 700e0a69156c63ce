/** Prompts, resources, templates and completion through a front: exposed outside, true inside. */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type CatalogStore, createCatalogStore } from '../../src/catalog/catalog-store.ts';
import { exposeUri } from '../../src/catalog/exposed-uris.ts';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import { RpcError } from '../../src/errors.ts';
import type { Downstream } from '../../src/front/front-interface.ts';
import { createLog } from '../../src/observe/log.ts';
import type { Params } from '../../src/wire/message.ts';
import { createWorld, openFront, type Script } from '../world.ts';

const LISTS: Record<string, unknown> = {
  'prompts/list': { prompts: [{ name: 'greet', arguments: [{ name: 'who' }], odd: 1 }] },
  'resources/list': { resources: [{ uri: 'file:///a', name: 'a', odd: 1 }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'file:///{path}', name: 't' }] },
  'tools/list': { tools: [] },
};

const full = (more: Script = {}): Script => ({
  capabilities: { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} },
  answer: (method, params) =>
    LISTS[method] ??
    (method === 'resources/read'
      ? { contents: [{ uri: params?.uri, text: 'hi' }, { uri: 'file:///other' }] }
      : { said: method }),
  ...more,
});

function open(scripts: Record<string, Script>, naming: Partial<Settings['naming']> = {}, store?: CatalogStore) {
  const settings = { ...DEFAULTS, naming: { ...DEFAULTS.naming, ...naming } };
  const world = createWorld(scripts, { settings, ...(store && { store }) });
  const told: unknown[] = [];
  const front = openFront('aggregate', world.deps, { key: 'k', notify: (...said) => told.push(said) });
  const request = (method: string, params: Params = {}) =>
    front.request({ method, params }, { signal: new AbortController().signal }) as Promise<any>;
  const sent = () => world.sent.filter(({ method }) => LISTS[method] === undefined);
  return { ...world, front, request, told, sent };
}

test.each<[Settings['naming']['resources'], string]>([
  ['wrap', 'resources/read'],
  ['keep', 'resources/read'],
  ['wrap', 'resources/subscribe'],
  ['keep', 'resources/unsubscribe'],
])('with "%s" %s does not wait for a server that is being started', async (resources, method) => {
  const { catalog, deps, sent } = open({ a: full(), slow: full() }, { resources });
  await catalog.ensure('a');
  const waiting = { ...deps, listed: () => new Promise<void>(() => undefined) };
  const front = openFront('aggregate', waiting, { key: 'k', notify: () => undefined });
  const uri = exposeUri({ server: 'a', uri: 'file:///a' }, resources);
  const { signal } = new AbortController();
  await front.request({ method: 'resources/subscribe', params: { uri } }, { signal });
  await front.request({ method, params: { uri } }, { signal });
  expect(sent().at(-1)).toMatchObject({ server: 'a', method, params: { uri: 'file:///a' } });
});

test('a prompt and a resource that are newer than what was stored are found in their server', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcpx-natives-'));
  const store = createCatalogStore({ folder, log: createLog({ write: () => undefined }) });
  const listing = (names: string[]) =>
    full({
      answer: (method, params) => {
        if (method === 'prompts/list') return { prompts: names.map((name) => ({ name })) };
        if (method === 'resources/list') return { resources: names.map((name) => ({ uri: `x://${name}`, name })) };
        return method === 'resources/templates/list' ? {} : full().answer?.(method, params, {});
      },
    });
  const naming = { resources: 'keep' } as const;
  await open({ a: listing([]), b: listing([]) }, naming, store).request('prompts/list');
  store.flush();
  store.write = () => undefined;
  for (const [method, params] of [
    ['prompts/get', { name: 'b__new' }],
    ['resources/read', { uri: 'x://new' }],
  ] as const) {
    const { request, sent } = open({ a: listing([]), b: listing(['new']) }, naming, store);
    await request(method, params);
    expect(sent()).toMatchObject([{ server: 'b', method }]);
    await expect(request('prompts/get', { name: 'b__none' })).rejects.toMatchObject({ code: -32602 });
    await expect(request('resources/read', { uri: 'x://none' })).rejects.toMatchObject({ code: -32002 });
  }
});

describe('prompts', () => {
  test('are listed under exposed names and got under their own', async () => {
    const { request, sent } = open({ a: full(), b: full() });
    const { prompts } = await request('prompts/list');
    expect(prompts.map(({ name }: { name: string }) => name)).toEqual(['a__greet', 'b__greet']);
    expect(prompts[1]).toMatchObject({ odd: 1, _meta: { 'dev.mcpx/server': 'b', 'dev.mcpx/name': 'greet' } });
    await request('prompts/get', { name: 'b__greet', arguments: { who: 'you' } });
    expect(sent()).toEqual([
      { server: 'b', method: 'prompts/get', params: { name: 'greet', arguments: { who: 'you' } } },
    ]);
    await expect(request('prompts/get', { name: 'greet' })).rejects.toMatchObject({ code: -32602 });
  });

  test('resources in their messages can be read under the URIs that they have there', async () => {
    const text = { role: 'user', content: { type: 'text', text: 'x' } };
    const link = { role: 'user', content: { type: 'resource_link', uri: 'file:///a', name: 'a' } };
    const embedded = { role: 'user', content: { type: 'resource', resource: { uri: 'file:///a', text: 'hi' } } };
    const several = { role: 'user', content: [text.content, link.content] };
    const messages = [text, link, embedded, several, 'odd'];
    const answer: Script['answer'] = (method, params) =>
      method === 'prompts/get' ? { messages, odd: 1 } : full().answer?.(method, params, {});
    const wrapped = open({ a: full({ answer }) });
    const got = await wrapped.request('prompts/get', { name: 'a__greet' });
    const { resources } = await wrapped.request('resources/list');
    const { uri } = resources[0];
    expect(got).toEqual({
      odd: 1,
      messages: [
        text,
        { role: 'user', content: { ...link.content, uri } },
        { role: 'user', content: { type: 'resource', resource: { uri, text: 'hi' } } },
        { role: 'user', content: [text.content, { ...link.content, uri }] },
        'odd',
      ],
    });
    const kept = open({ a: full({ answer }) }, { resources: 'keep' });
    expect(await kept.request('prompts/get', { name: 'a__greet' })).toEqual({ messages, odd: 1 });
  });
});

describe('resources', () => {
  test.each(['wrap', 'keep'] as const)('with "%s" a URI that is no text reaches no server', async (resources) => {
    const { request, sent } = open({ a: full() }, { resources });
    for (const uri of [undefined, null, 5, { file: 1 }])
      await expect(request('resources/read', { uri })).rejects.toMatchObject({ code: -32602 });
    expect(sent()).toEqual([]);
  });

  test('wrapped: listed, read, and their contents lead back', async () => {
    const { request, sent } = open({ a: full(), b: full() });
    const { resources } = await request('resources/list');
    expect(resources).toHaveLength(2);
    expect(resources[1]._meta).toMatchObject({ 'dev.mcpx/server': 'b', 'dev.mcpx/uri': 'file:///a' });
    const { contents } = await request('resources/read', { uri: resources[1].uri });
    expect(sent()).toEqual([{ server: 'b', method: 'resources/read', params: { uri: 'file:///a' } }]);
    expect(contents[0].uri).toBe(resources[1].uri);
    await request('resources/read', { uri: contents[1].uri });
    expect(sent()[1]).toMatchObject({ server: 'b', params: { uri: 'file:///other' } });
  });

  test('templates expand to something readable', async () => {
    const { request, sent } = open({ a: full() });
    const { resourceTemplates } = await request('resources/templates/list');
    await request('resources/read', { uri: resourceTemplates[0].uriTemplate.replace('{path}', 'x/y') });
    expect(sent()[0]?.params).toEqual({ uri: 'file:///x/y' });
  });

  test('kept: the first that lists one has it, then templates, then the only server with resources', async () => {
    const naming = { resources: 'keep' } as const;
    const two = open({ a: full(), b: full() }, naming);
    expect((await two.request('resources/list')).resources).toHaveLength(1);
    await two.request('resources/read', { uri: 'file:///a' });
    await two.request('resources/read', { uri: 'file:///new' });
    expect(two.sent().map(({ server }) => server)).toEqual(['a', 'a']);
    await expect(two.request('resources/read', { uri: 'other://x' })).rejects.toMatchObject({ code: -32002 });
    const one = open({ a: full(), b: {} }, naming);
    await one.request('resources/read', { uri: 'other://x' });
    expect(one.sent()).toMatchObject([{ server: 'a', params: { uri: 'other://x' } }]);
  });

  describe('kept, with templates of several servers', () => {
    const having = (...templates: string[]) =>
      full({
        answer: (method, params) => {
          if (method === 'resources/list') return {};
          if (method === 'resources/templates/list')
            return { resourceTemplates: templates.map((uriTemplate) => ({ uriTemplate })) };
          return full().answer?.(method, params, {});
        },
      });
    const two = () =>
      open(
        {
          a: having('file:///{name}', 'x://{+rest}', 'dup://{x}'),
          b: having('file:///logs/{id}', 'x://logs/{id}', 'dup://{x}', 'own://{x}'),
        },
        { resources: 'keep' },
      );

    test('each is listed once, as the first has it', async () => {
      const { resourceTemplates } = await two().request('resources/templates/list');
      expect(resourceTemplates.map((one: any) => [one._meta['dev.mcpx/server'], one.uriTemplate])).toEqual([
        ['a', 'file:///{name}'],
        ['a', 'x://{+rest}'],
        ['a', 'dup://{x}'],
        ['b', 'file:///logs/{id}'],
        ['b', 'x://logs/{id}'],
        ['b', 'own://{x}'],
      ]);
    });

    test.each([
      ['file:///x', 'a'],
      ['file:///logs/5', 'b'],
      ['x://logs/5', 'b'],
      ['x://logs/5/6', 'a'],
      ['dup://1', 'a'],
      // By a client that leaves slashes as they are.
      ['file:///any/thing', 'a'],
      ['own://a/b', 'b'],
    ])('%s is read of "%s"', async (uri, server) => {
      const { request, sent } = two();
      await request('resources/read', { uri });
      expect(sent()).toMatchObject([{ server, params: { uri } }]);
    });

    test.each([
      ['file:///logs/{id}', 'b'],
      ['file:///{name}', 'a'],
      ['dup://{x}', 'a'],
    ])('%s is completed by "%s"', async (uri, server) => {
      const { request, sent } = two();
      await request('completion/complete', { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: '' } });
      expect(sent()).toMatchObject([{ server, params: { ref: { uri } } }]);
    });
  });

  test.each([
    ['that several list', 'file:///a', 'slow'],
    ['that an earlier one may list', 'file:///b', 'slow'],
    ['that a later one may list, and not only have a template for', 'file:///c', 'late'],
  ])('kept: one %s is read of the same server while servers start as later', async (_, uri, holder) => {
    const started: (() => void)[] = [];
    const starting = new Promise<void>((resolve) => started.push(resolve));
    const listing = (uris: string[], more: Script = {}): Script => ({
      ...full(more),
      answer: (method, params) =>
        method === 'resources/list' ? { resources: uris.map((uri) => ({ uri })) } : full().answer?.(method, params, {}),
    });
    const { catalog, request, sent } = open(
      {
        slow: listing(['file:///a', 'file:///b'], { connect: () => starting }),
        quick: listing(['file:///a']),
        late: listing(['file:///c'], { connect: () => starting }),
      },
      { resources: 'keep' },
    );
    await catalog.ensure('quick');
    const early = request('resources/read', { uri });
    for (const start of started) start();
    await early;
    await request('resources/read', { uri });
    expect(sent().map(({ server }) => server)).toEqual([holder, holder]);
  });

  test.each([
    'file:///a',
    'proxy://resource/zzz',
    `proxy://resource/${Buffer.from('{"server":"nobody","uri":"x"}').toString('base64url')}`,
    5,
  ])('a forged URI %j is -32602 and nothing is sent', async (uri) => {
    const { request, sent } = open({ a: full() });
    await expect(request('resources/read', { uri })).rejects.toMatchObject({ code: -32602 });
    expect(sent()).toEqual([]);
  });

  test('what a filter denies is as good as missing', async () => {
    const { request, sent } = open({
      a: full({ spec: { resources: { deny: ['file:///a'] }, prompts: { deny: ['*'] } } }),
    });
    expect((await request('resources/list')).resources).toEqual([]);
    expect((await request('prompts/list')).prompts).toEqual([]);
    const uri = `proxy://resource/${Buffer.from('{"server":"a","uri":"file:///a"}').toString('base64url')}`;
    await expect(request('resources/read', { uri })).rejects.toMatchObject({
      code: -32002,
      message: 'Resource not found',
    });
    await expect(request('prompts/get', { name: 'a__greet' })).rejects.toMatchObject({ code: -32602 });
    expect(sent()).toEqual([]);
  });
});

describe('news', () => {
  test('a subscription reaches the server, and its updates the client, under the exposed URI', async () => {
    const { request, front, told, sent } = open({ a: full() });
    const { uri } = (await request('resources/list')).resources[0];
    await request('resources/subscribe', { uri });
    expect(sent()).toEqual([{ server: 'a', method: 'resources/subscribe', params: { uri: 'file:///a' } }]);
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///a' });
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///other' });
    front.onNotification('b', 'notifications/resources/updated', { uri: 'file:///a' });
    const _meta = { 'dev.mcpx/server': 'a', 'dev.mcpx/uri': 'file:///a' };
    expect(told).toEqual([['notifications/resources/updated', { uri, _meta }]]);
    await request('resources/unsubscribe', { uri });
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///a' });
    expect(told).toHaveLength(1);
    expect(sent().at(-1)).toMatchObject({ method: 'resources/unsubscribe', params: { uri: 'file:///a' } });
  });

  test.each(['wrap', 'keep'] as const)(
    'with "%s" a part of what was subscribed to has a URI of its own',
    async (style) => {
      const { request, front, told } = open({ a: full() }, { resources: style });
      await request('resources/list');
      await request('resources/subscribe', { uri: exposeUri({ server: 'a', uri: 'file:///dir' }, style) });
      for (const uri of ['file:///dir/child', 'file:///directory'])
        front.onNotification('a', 'notifications/resources/updated', { uri });
      const uri = exposeUri({ server: 'a', uri: 'file:///dir/child' }, style);
      const _meta = { 'dev.mcpx/server': 'a', 'dev.mcpx/uri': 'file:///dir/child' };
      expect(told).toEqual([['notifications/resources/updated', { uri, _meta }]]);
    },
  );

  test('of what a template makes come under the URI that the client made of it', async () => {
    const { request, front, told } = open({ a: full() });
    const { resourceTemplates } = await request('resources/templates/list');
    const uri = resourceTemplates[0].uriTemplate.replace('{path}', 'b');
    await request('resources/subscribe', { uri });
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///b' });
    expect(told).toMatchObject([['notifications/resources/updated', { uri, _meta: { 'dev.mcpx/uri': 'file:///b' } }]]);
  });

  test('of a resource may come in one piece with the answer to its subscription, unless that is a refusal', async () => {
    const answer: Script['answer'] = (method, params) => {
      if (method !== 'resources/subscribe') return full().answer?.(method, params, {});
      front.onNotification('a', 'notifications/resources/updated', { uri: params?.uri });
      if (params?.uri === 'file:///refused') throw new RpcError(-32602, 'no');
      return {};
    };
    const { request, front, told } = open({ a: full({ answer }) }, { resources: 'keep' });
    await request('resources/subscribe', { uri: 'file:///a' });
    expect(told).toHaveLength(1);
    await expect(request('resources/subscribe', { uri: 'file:///refused' })).rejects.toMatchObject({ code: -32602 });
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///refused' });
    expect(told).toHaveLength(2);
  });

  test('of a resource that another server has by now are called off where they were asked for', async () => {
    const lists = { first: ['file:///other'], second: ['file:///a'] };
    const of = (server: keyof typeof lists) =>
      full({
        answer: (method, params) => {
          if (method === 'resources/list') return { resources: lists[server].map((uri) => ({ uri })) };
          return method === 'resources/templates/list' ? {} : full().answer?.(method, params, {});
        },
      });
    const { request, catalog, sent } = open({ first: of('first'), second: of('second') }, { resources: 'keep' });
    await request('resources/subscribe', { uri: 'file:///a' });
    lists.first = ['file:///a'];
    catalog.connected('first');
    await expect.poll(() => catalog.server('first')?.offer.resources).toEqual([{ uri: 'file:///a' }]);
    await request('resources/unsubscribe', { uri: 'file:///a' });
    expect(sent().map(({ server, method }) => [server, method])).toEqual([
      ['second', 'resources/subscribe'],
      ['second', 'resources/unsubscribe'],
    ]);
  });

  test('log messages are filtered by the level of the client', async () => {
    const { request, front, told } = open({ a: full() });
    await request('logging/setLevel', { level: 'warning' });
    front.onNotification('a', 'notifications/message', { level: 'info', data: 1 });
    front.onNotification('a', 'notifications/message', { level: 'error', data: 2 });
    expect(told).toEqual([['notifications/message', { level: 'error', data: 2, _meta: { 'dev.mcpx/server': 'a' } }]]);
    await expect(request('logging/setLevel', { level: 'loud' })).rejects.toMatchObject({ code: -32602 });
  });

  test('what mcpx does not know is passed on, and what is for mcpx is not', () => {
    const { front, told } = open({ a: full() });
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    for (const method of ['notifications/roots/list_changed', 'notifications/initialized', 'notifications/cancelled'])
      front.onNotification('a', method, {});
    front.onNotification('a', 'notifications/unheard-of', { x: 1 });
    front.onNotification('unknown', 'notifications/unheard-of', {});
    expect(told).toEqual([['notifications/unheard-of', { x: 1, _meta: { 'dev.mcpx/server': 'a' } }]]);
  });

  test.each<[string, Pick<Downstream, 'stateless'>, string]>([
    ['counts as one that wants everything, as long as it sets no level', {}, 'debug'],
    ['counts for nothing where it lasts as long as its request', { stateless: true }, 'alert'],
  ])('a client %s', async (_, lasting, level) => {
    const { deps, request, sent } = open({ a: full() });
    await deps.listed();
    const other = openFront(
      'aggregate',
      { ...deps, identity: { key: 'other', capabilities: {} } },
      { key: 'other', notify: () => undefined, ...lasting },
    );
    await request('logging/setLevel', { level: 'alert' });
    other.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    const told = () => sent().at(-1)?.params;
    await expect.poll(told).toEqual({ level });
    other.close();
    await expect.poll(told).toEqual({ level: 'alert' });
  });

  test('a server that a client may not use says nothing to it', async () => {
    const settings = { ...DEFAULTS, policy: { ...DEFAULTS.policy, deny: ['b.*'] } };
    const { deps } = createWorld({ a: full(), b: full() }, { settings });
    const told: string[] = [];
    const front = openFront('aggregate', deps, { key: 'k', notify: (method) => told.push(method) });
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    front.onNotification('b', 'notifications/message', { level: 'error', data: 'secret' });
    front.changed(['prompts'], 'b');
    front.changed(['tools'], 'a');
    await expect.poll(() => told).toEqual(['notifications/tools/list_changed']);
  });

  test('what is denied after it was subscribed to says nothing any more', async () => {
    const deny: string[] = [];
    const settings = { ...DEFAULTS, policy: { ...DEFAULTS.policy, deny } };
    const { deps } = createWorld({ a: full() }, { settings });
    const told: string[] = [];
    const front = openFront('aggregate', deps, { key: 'k', notify: (method) => told.push(method) });
    const request = (method: string, params: any = {}): Promise<any> =>
      front.request({ method, params }, { signal: new AbortController().signal });
    const { uri } = (await request('resources/list')).resources[0];
    await request('resources/subscribe', { uri });
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///a' });
    expect(told.splice(0)).toEqual(['notifications/resources/updated']);
    deny.push('file:///a');
    front.onNotification('a', 'notifications/resources/updated', { uri: 'file:///a' });
    expect(told).toEqual([]);
  });

  test('one client is subscribed to a bounded number of resources, and may take others instead', async () => {
    const { request, sent } = open({ a: full() });
    const wrapped = (path: number) =>
      `proxy://resource/${Buffer.from(JSON.stringify({ server: 'a', uri: `file:///${path}` })).toString('base64url')}`;
    for (let path = 0; path < 1000; path += 1) await request('resources/subscribe', { uri: wrapped(path) });
    const before = sent().length;
    await expect(request('resources/subscribe', { uri: wrapped(1000) })).rejects.toThrow('too many resources');
    expect(sent()).toHaveLength(before);
    await request('resources/unsubscribe', { uri: wrapped(0) });
    await request('resources/subscribe', { uri: wrapped(1000) });
  });

  test('wait until the client has said hello; what it will list by then is none', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { front, told } = open({ a: full() });
    front.changed(['tools'], 'a');
    for (let data = 0; data < 1000; data++)
      front.onNotification('a', 'notifications/message', { level: 'error', data });
    vi.advanceTimersByTime(1000);
    expect(told).toEqual([]);
    front.notification({ jsonrpc: '2.0', method: 'notifications/initialized' });
    front.changed(['prompts'], 'a');
    vi.advanceTimersByTime(1000);
    expect(told).toHaveLength(101);
    expect(told[0]).toMatchObject(['notifications/message', { data: 0 }]);
    expect(told.at(-1)).toEqual(['notifications/prompts/list_changed']);
  });

  const end = Buffer.from('{"offset":1,"of":2}').toString('base64url');
  test.each<[title: string, listed: [method: string, params?: Params][], told: number]>([
    ['is none to who has listed both lists since', [['resources/list'], ['resources/templates/list']], 0],
    ['is one to who has listed only one of them', [['resources/list']], 1],
    ['is one to who was on a later page', [['resources/list', { cursor: end }], ['resources/templates/list']], 1],
  ])('of resources and templates %s', async (_, listed, times) => {
    const { front, request, told } = open({ a: full() });
    await request('resources/list');
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    front.changed(['resources'], 'a');
    for (const [method, params] of listed) await request(method, params);
    vi.advanceTimersByTime(1000);
    expect(told).toEqual(Array(times).fill(['notifications/resources/list_changed']));
  });

  test('a client that has gone wants nothing any more', async () => {
    const { request, front, sent } = open({ a: full() });
    const { uri } = (await request('resources/list')).resources[0];
    await request('resources/subscribe', { uri });
    front.close();
    await expect.poll(() => sent().at(-1)).toMatchObject({ method: 'resources/unsubscribe' });
  });
});

describe('completion', () => {
  test('refers to what the server knows', async () => {
    const { request, sent } = open({ a: full() });
    const argument = { name: 'who', value: 'y' };
    await request('completion/complete', { ref: { type: 'ref/prompt', name: 'a__greet' }, argument });
    const { resourceTemplates } = await request('resources/templates/list');
    await request('completion/complete', {
      ref: { type: 'ref/resource', uri: resourceTemplates[0].uriTemplate },
      argument,
    });
    expect(sent().map(({ params }) => params)).toEqual([
      { ref: { type: 'ref/prompt', name: 'greet' }, argument },
      { ref: { type: 'ref/resource', uri: 'file:///{path}' }, argument },
    ]);
    await expect(request('completion/complete', {})).rejects.toMatchObject({ code: -32602 });
  });
});

describe('initialize', () => {
  const handshake = { protocolVersion: '2025-11-25', capabilities: {} };

  test('has the union of what the servers can do', async () => {
    const { request } = open({ a: full(), b: {} });
    expect((await request('initialize', handshake)).capabilities).toEqual({
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
    });
    const of = async (scripts: Record<string, Script>) =>
      (await open(scripts).request('initialize', handshake)).capabilities;
    expect(await of({ b: { tools: [] } })).toEqual({ tools: { listChanged: true } });
    expect(await of({ b: { capabilities: { prompts: {} } } })).toEqual({ prompts: { listChanged: true } });
    expect(await of({})).toEqual({ tools: { listChanged: true } });
  });

  test('rules nothing out that a server may have which has not been met', async () => {
    const connect = () => Promise.reject(new Error('not yet'));
    const { capabilities } = await open({ a: { tools: [], connect } }).request('initialize', handshake);
    expect(Object.keys(capabilities).sort()).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
  });

  test('one server with plain names and kept URIs introduces itself', async () => {
    const transparent = { style: 'plain', resources: 'keep' } as const;
    const one = await open({ a: full({ instructions: 'Mine.' }) }, transparent).request('initialize', handshake);
    expect(one).toMatchObject({ serverInfo: { name: 'a' }, instructions: 'Mine.' });
    const two = await open({ a: full(), b: full() }, transparent).request('initialize', handshake);
    expect(two.serverInfo.name).toBe('mcpx');
  });
});
