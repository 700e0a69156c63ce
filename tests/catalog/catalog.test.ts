/** The catalog: listing, paging, bounds, changes. */
import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { McpxError, RpcError } from '../../src/errors.ts';
import type { Handshake } from '../../src/upstream/handshake.ts';
import { PATIENCE } from '../setup/until.ts';
import { createWorld, type Script, specOf } from '../world.ts';

async function listed(script: Script) {
  const world = createWorld({ one: script });
  await world.catalog.settle(PATIENCE);
  const entry = world.catalog.server('one');
  if (entry === undefined) throw new Error('the server is missing');
  return { ...world, entry };
}

/** Pages by cursor, `tools/list` only. */
function paged(pages: Record<string, unknown>[]): NonNullable<Script['answer']> {
  return (method, params) => (method === 'tools/list' ? pages[Number(params?.cursor ?? 0)] : {});
}

describe('listing', () => {
  test('all pages are read, an empty cursor included', async () => {
    const cursors: unknown[] = [];
    const { entry } = await listed({
      answer: (method, params) => {
        if (method !== 'tools/list') return {};
        cursors.push(params?.cursor);
        if (cursors.length === 1) return { tools: [{ name: 'a' }], nextCursor: '' };
        return { tools: [{ name: 'b' }] };
      },
    });
    expect(entry.offer.tools.map(({ tool }) => tool.name)).toEqual(['a', 'b']);
    expect(cursors).toEqual([undefined, '']);
  });

  test('a list is waited for a minute at most, however long a call may take', async () => {
    const timeouts: unknown[] = [];
    const answer: Script['answer'] = (_, __, { timeout }) => {
      timeouts.push(timeout);
      return { tools: [] };
    };
    await listed({ answer, spec: { timeout: 600_000 } });
    await listed({ answer, spec: { timeout: 5000 } });
    expect(timeouts).toEqual([60_000, 5000]);
  });

  test('a cursor that never ends stops at a hundred pages', async () => {
    let pages = 0;
    const { entry } = await listed({
      answer: () => ({ tools: [{ name: `t${pages++}` }], nextCursor: 'again' }),
    });
    expect(pages).toBe(100);
    expect(entry.offer.tools).toHaveLength(100);
  });

  test('more than 20,000 tools are cut', async () => {
    const many = Array.from({ length: 12_000 }, (_, i) => ({ name: `t${i}` }));
    const more = Array.from({ length: 12_000 }, (_, i) => ({ name: `u${i}` }));
    const { entry } = await listed({
      answer: paged([
        { tools: many, nextCursor: '1' },
        { tools: more, nextCursor: '0' },
      ]),
    });
    expect(entry.offer.tools).toHaveLength(20_000);
  });

  test('one bad tool never hides the others, and is said', async () => {
    let deep: unknown = {};
    for (let i = 0; i < 200; i++) deep = { items: deep };
    const { entry, logged } = await listed({
      tools: [
        { name: 'good' },
        {},
        { name: '\u0007\u001b[31m' },
        { name: 'huge', inputSchema: { description: 'x'.repeat(300_000) } },
        { name: 'deep', inputSchema: deep },
        { name: 'deep_meta', _meta: { deep } },
        { name: 'good', description: 'a second one of that name' },
        { name: 'also' },
      ],
    });
    expect(entry.offer.tools.map(({ tool }) => tool.name)).toEqual(['good', 'also']);
    expect(logged.filter((line) => line.includes('left out'))).toHaveLength(5);
  });

  test('names and descriptions are cleaned, and the upstream is still called by its own name', async () => {
    const { entry, router, sent } = await listed({ tools: [{ name: 'run\u202eme', description: 'x\u001b[2Jy' }] });
    expect(entry.offer.tools[0]).toMatchObject({
      tool: { name: 'runme', description: 'xy' },
      upstreamName: 'run\u202eme',
    });
    await router.call({ server: 'one', tool: 'runme', caller: { key: 'k', capabilities: {} } });
    expect(sent.at(-1)?.params?.name).toBe('run\u202eme');
  });

  test('a name with characters that nobody sees is shown without them, and its twin is left out and said', async () => {
    const { entry, router, sent, logged } = await listed({
      tools: [{ name: 'read\u200b_fi\ufe0fle', description: 'Reads\u2060 a\u{e0041} file.' }, { name: 'read_file' }],
    });
    expect(entry.offer.tools).toMatchObject([
      { tool: { name: 'read_file', description: 'Reads a file.' }, upstreamName: 'read\u200b_fi\ufe0fle' },
    ]);
    await router.call({ server: 'one', tool: 'read_file', caller: { key: 'k', capabilities: {} } });
    expect(sent.at(-1)?.params?.name).toBe('read\u200b_fi\ufe0fle');
    expect(logged.filter((line) => line.includes('its name looks like that of another, "read_file"'))).toHaveLength(1);
  });

  test('titles, prompts and resources are cleaned as well; a prompt with a name that cannot be shown is left out', async () => {
    const { entry, logged } = await listed({
      capabilities: { tools: {}, prompts: {}, resources: {} },
      tools: [
        { name: 'a', title: 'A\u202eB', annotations: { title: 'C\u001b[2JD', custom: 1 } },
        { name: 'n'.repeat(300) },
      ],
      answer: (method) => ({
        prompts: [
          { name: 'p', description: 'x\u0007y', arguments: [{ name: 'a', description: 'b\u001b[2Jc' }, {}, 'odd'] },
          { name: 'p\u202eq' },
          { name: 7 },
          { name: 'q', arguments: [{ name: 'a\u202eb' }] },
        ],
        resources: [{ uri: 'x://\u202ey', name: 'r\u001b[2Js', title: 't\u0000', description: 'z'.repeat(20_000) }],
        resourceTemplates:
          method === 'resources/templates/list' ? [{ uriTemplate: 'x://{y}', name: 'v\u202e', title: 'u\u202e' }] : [],
      }),
    });
    expect(entry.offer.tools.map(({ tool }) => tool)).toEqual([
      { name: 'a', title: 'AB', annotations: { title: 'CD', custom: 1 } },
    ]);
    const args = [{ name: 'a', description: 'bc' }, {}, 'odd'];
    expect(entry.offer.prompts).toEqual([{ name: 'p', description: 'xy', arguments: args }]);
    expect(entry.offer.resources).toMatchObject([{ uri: 'x://\u202ey', name: 'rs', title: 't' }]);
    expect(String(entry.offer.resources[0]?.description).length).toBeLessThanOrEqual(16 * 1024);
    expect(entry.offer.templates).toEqual([{ uriTemplate: 'x://{y}', name: 'v', title: 'u' }]);
    expect(logged.filter((line) => line.includes('left out'))).toHaveLength(4);
  });

  test('what is listed twice under one name is listed once, and what cannot be asked for not at all', async () => {
    const { entry } = await listed({
      capabilities: { tools: {}, prompts: {}, resources: {} },
      tools: [{ name: 'a', title: 'first' }, { name: 'a' }],
      answer: () => ({
        prompts: [{ name: 'p', title: 'first' }, { name: 'p' }],
        resources: [{ name: 'without a URI' }, { uri: 'x://y' }],
        resourceTemplates: [{ uriTemplate: 5 }, { uriTemplate: 'x://{y}' }],
      }),
    });
    expect(entry.offer.tools.map(({ tool }) => tool.title)).toEqual(['first']);
    expect(entry.offer.prompts).toEqual([{ name: 'p', title: 'first' }]);
    expect(entry.offer.resources).toEqual([{ uri: 'x://y' }]);
    expect(entry.offer.templates).toEqual([{ uriTemplate: 'x://{y}' }]);
  });

  test('unknown fields survive', async () => {
    const tool = { name: 'a', _meta: { x: 1 }, annotations: { custom: true }, icons: [{ src: 'i' }] };
    const { entry } = await listed({ tools: [tool] });
    expect(entry.offer.tools[0]?.tool).toEqual(tool);
  });

  test('only what the server says it has is asked for', async () => {
    const asked: string[] = [];
    const { entry } = await listed({
      capabilities: { prompts: {}, resources: {} },
      answer: (method) => {
        asked.push(method);
        if (method === 'resources/templates/list') throw new RpcError(-32601, 'no templates here');
        if (method === 'prompts/list') return { prompts: [{ name: 'p' }, 'garbage'] };
        return { resources: [{ uri: 'x://y' }] };
      },
    });
    expect(asked.sort()).toEqual(['prompts/list', 'resources/list', 'resources/templates/list']);
    expect(entry.offer).toMatchObject({
      tools: [],
      prompts: [{ name: 'p' }],
      resources: [{ uri: 'x://y' }],
      templates: [],
    });
  });

  test('an answer that is no object is a failure', async () => {
    const { entry } = await listed({ answer: () => 'nonsense' });
    expect(entry.listing).toMatchObject({
      kind: 'failed',
      error: { message: expect.stringContaining('answered "tools/list" with something that is no list') },
    });
  });
});

describe('a server that fails', () => {
  test('is named, and the others are listed', async () => {
    const world = createWorld({
      dead: { connect: () => Promise.reject(new McpxError('unreachable', 'server "dead" is gone')) },
      alive: { tools: [{ name: 'a' }] },
    });
    await world.catalog.settle(1000);
    expect(world.catalog.server('dead')?.listing.kind).toBe('failed');
    expect(world.catalog.server('alive')?.offer.tools).toHaveLength(1);
    expect(world.logged.join('')).toContain('server "dead" is gone');
  });

  test('is tried again when it is asked for', async () => {
    let up = false;
    const world = createWorld({
      late: { tools: [{ name: 'a' }], connect: async () => (up ? undefined : Promise.reject(new Error('not yet'))) },
    });
    await world.catalog.settle(1000);
    expect(world.catalog.server('late')?.listing.kind).toBe('failed');
    up = true;
    await world.catalog.ensure('late');
    expect(world.catalog.find('late', 'a')?.tool.name).toBe('a');
  });

  test('does not keep the others waiting', async () => {
    const world = createWorld({
      slow: { connect: () => new Promise(() => undefined) },
      quick: { tools: [{ name: 'a' }] },
    });
    await world.catalog.settle(30);
    expect(world.catalog.server('slow')?.listing.kind).toBe('unlisted');
    expect(world.catalog.find('quick', 'a')).toBeDefined();
    world.catalog.close();
  });

  test('is waited for once when it hangs, and by nobody after that until it has answered', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    let finish: () => void = () => undefined;
    const connected = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const { catalog } = createWorld({ slow: { connect: () => connected, tools: [{ name: 'a' }] } });
    const done: string[] = [];
    const settle = (title: string, wait: number) => catalog.settle(wait).then(() => done.push(title));
    const waits = [settle('first', 1000), settle('menu', 500)];
    await vi.advanceTimersByTimeAsync(499);
    expect(done).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(done).toEqual(['menu']);
    await vi.advanceTimersByTimeAsync(500);
    await Promise.all(waits);
    await settle('second', 1000);
    expect(done).toEqual(['menu', 'first', 'second']);
    expect(vi.getTimerCount()).toBe(0);
    finish();
    await catalog.ensure('slow');
    expect(catalog.find('slow', 'a')).toBeDefined();
  });
});

describe('changes', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a storm of announcements is one new list, and only a real change is told', async () => {
    let tools = [{ name: 'a' }];
    let lists = 0;
    const world = createWorld({
      one: {
        answer: () => {
          lists++;
          return { tools };
        },
      },
    });
    await world.catalog.settle(1000);
    expect(world.changes).toEqual(['one']);
    const before = world.catalog.revision;

    for (let i = 0; i < 50; i++) world.catalog.noticed('one', 'notifications/tools/list_changed');
    await vi.advanceTimersByTimeAsync(400);
    expect(lists).toBe(2);
    expect(world.changes).toEqual(['one']);
    expect(world.catalog.revision).toBe(before);

    tools = [{ name: 'b' }];
    world.catalog.noticed('one', 'notifications/tools/list_changed');
    await vi.advanceTimersByTimeAsync(400);
    expect(world.changes).toEqual(['one', 'one']);
    expect(world.catalog.find('one', 'b')).toBeDefined();
    expect(world.catalog.find('one', 'a')).toBeUndefined();
    expect(world.catalog.revision).toBeGreaterThan(before);
  });

  test('a change is asked of the connection that told it, unless that has ended meanwhile', async () => {
    const world = createWorld({ one: { tools: [{ name: 'a' }] } });
    await world.catalog.settle(1000);
    const kinds = ['ready', 'closed'] as const;
    for (const kind of kinds) {
      const asked: string[] = [];
      const handshake = { era: 'legacy', protocolVersion: 'x', capabilities: { tools: {} } } as const;
      const teller = {
        name: 'one',
        spec: specOf('one'),
        offered: 'other',
        state: { kind, since: 0 },
        connect: async () => ({ ...handshake, serverInfo: { name: 'o', version: '1' } }),
        request: async (method: string) => {
          asked.push(method);
          return { tools: [{ name: `told by ${kind}` }] };
        },
      };
      world.catalog.noticed('one', 'notifications/tools/list_changed', teller);
      await vi.advanceTimersByTimeAsync(400);
      expect(asked).toEqual(kind === 'ready' ? ['tools/list'] : []);
    }
    expect(world.catalog.server('one')?.listing.kind).toBe('listed');
    expect(world.catalog.find('one', 'a')).toBeDefined();
  });

  test('other notifications, and those of strangers, are ignored', async () => {
    const world = createWorld({ one: { tools: [] } });
    world.catalog.noticed('one', 'notifications/message');
    world.catalog.noticed('stranger', 'notifications/tools/list_changed');
    expect(vi.getTimerCount()).toBe(0);
  });

  test('nothing runs after close', async () => {
    const world = createWorld({ one: { tools: [{ name: 'a' }] } });
    await world.catalog.settle(1000);
    world.catalog.noticed('one', 'notifications/tools/list_changed');
    world.catalog.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('clients with other capabilities may be offered other tools', async () => {
  const world = createWorld({ one: { tools: [{ name: 'plain' }] } });
  await world.catalog.settle(1000);
  const connection = {
    name: 'one',
    spec: specOf('one'),
    offered: 'sampling',
    state: { kind: 'ready', since: 0 } as const,
    connect: async () => world.catalog.server('one')!.handshake!,
    request: async () => ({ tools: [{ name: 'plain' }, { name: 'samples' }] }),
  };
  world.catalog.connected('one', connection);
  await expect.poll(() => world.catalog.find('one', 'samples', 'sampling')).toBeDefined();
  expect(world.catalog.find('one', 'samples', '')).toBeUndefined();
  expect(world.catalog.server('one', '')?.offer.tools).toHaveLength(1);
  expect(world.catalog.servers('sampling')[0]?.offer.tools).toHaveLength(2);
  // A set that nobody has listed with yet is shown what was seen last.
  expect(world.catalog.find('one', 'samples', 'elicitation')).toBeDefined();
});

test('a client with little time takes what was listed for other capabilities, and its own is asked for', async () => {
  const world = createWorld({ one: { tools: [{ name: 'plain' }] } });
  await world.catalog.settle(1000);
  let finish: (page: unknown) => void = () => undefined;
  const connection = {
    name: 'one',
    spec: specOf('one'),
    offered: 'roots',
    state: { kind: 'ready', since: 0 } as const,
    connect: async () => world.catalog.server('one')!.handshake!,
    request: () => new Promise((resolve) => (finish = resolve)),
  };
  const client = { offered: 'roots', connectionTo: () => connection, takesOthers: true };
  await world.catalog.settle(Number.POSITIVE_INFINITY, client);
  expect(world.catalog.find('one', 'plain', 'roots')).toBeDefined();
  await expect
    .poll(() => {
      finish({ tools: [{ name: 'plain' }, { name: 'rooted' }] });
      return world.catalog.find('one', 'rooted', 'roots');
    })
    .toBeDefined();
});

test('a client whose connection is shared knows what was listed without its roots', async () => {
  const world = createWorld({ one: { tools: [{ name: 'plain' }] } });
  let connects = 0;
  const shared = {
    name: 'one',
    spec: specOf('one'),
    offered: '',
    state: { kind: 'ready', since: 0 } as const,
    connect: async () => {
      connects++;
      return world.catalog.server('one')!.handshake!;
    },
    request: async () => ({ tools: [{ name: 'plain' }] }),
  };
  await world.catalog.settle(1000);
  await world.catalog.settle(1000, { offered: 'roots', connectionTo: () => shared });
  expect(connects).toBe(0);
  expect(world.catalog.find('one', 'plain', 'roots')).toBeDefined();
  // Of its own, it would be asked.
  await world.catalog.settle(1000, { offered: 'roots', connectionTo: () => ({ ...shared, offered: 'roots' }) });
  expect(connects).toBe(1);
});

test('a client whose connection offers less than before no longer knows what it was shown for more', async () => {
  const world = createWorld({ one: { tools: [{ name: 'plain' }] } });
  await world.catalog.settle(1000);
  const connection = {
    name: 'one',
    spec: specOf('one'),
    offered: 'roots',
    state: { kind: 'ready', since: 0 } as const,
    connect: async () => world.catalog.server('one')!.handshake!,
    request: async () => ({ tools: [{ name: 'of_roots' }] }),
  };
  await world.catalog.settle(1000, { offered: 'roots', connectionTo: () => connection });
  expect(world.catalog.server('one', 'roots')?.offer.tools.map(({ tool }) => tool.name)).toEqual(['of_roots']);
  // Its connection is another one's too by now.
  await world.catalog.settle(1000, { offered: 'roots', connectionTo: () => ({ ...connection, offered: '' }) });
  expect(world.catalog.server('one', 'roots')?.offer.tools.map(({ tool }) => tool.name)).toEqual(['plain']);
});

test('a connection that becomes ready while another is being listed is listed after it', async () => {
  let finish: () => void = () => undefined;
  const slow = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const world = createWorld({ one: { tools: [{ name: 'a' }], connect: () => slow } });
  const settled = world.catalog.settle(5000);
  let asked = 0;
  const handshake = {
    era: 'legacy',
    protocolVersion: 'x',
    capabilities: { tools: {} },
    serverInfo: { name: 'o', version: '1' },
  } as const;
  const other = {
    name: 'one',
    spec: specOf('one'),
    offered: 'sampling',
    state: { kind: 'ready', since: 0 } as const,
    connect: async () => handshake,
    request: async () => {
      asked++;
      return { tools: [{ name: 'b' }] };
    },
  };
  world.catalog.connected('one', other);
  expect(asked).toBe(0);
  finish();
  await settled;
  await expect.poll(() => world.catalog.find('one', 'b', 'sampling')).toBeDefined();
  expect(world.catalog.find('one', 'a', '')).toBeDefined();
});

describe('the tools of a conversation', () => {
  /** A connection whose lists of tools are answered by hand. */
  function asked(offered: string, handshake: Handshake) {
    const open: ((tools: string[]) => void)[] = [];
    const connection = {
      ...{ name: 'one', spec: specOf('one'), offered, handshake, state: { kind: 'ready', since: 0 } as const },
      connect: async () => connection.handshake,
      request: () =>
        new Promise((resolve) => open.push((tools) => resolve({ tools: tools.map((name) => ({ name })) }))),
    };
    return { connection, open };
  }
  const helloOf = (): Handshake => ({
    conversation: randomUUID(),
    ...{ era: 'modern', protocolVersion: 'x', capabilities: { tools: {} }, serverInfo: { name: 'o', version: '1' } },
  });
  const soon = () => new Promise((resolve) => setImmediate(resolve));

  test('are listed for each set of capabilities', async () => {
    const { catalog } = createWorld({ one: {} });
    const handshake = helloOf();
    const [plain, roots] = [asked('', handshake), asked('roots', handshake)];
    const renewed = catalog.renew(plain.connection, handshake);
    plain.open.pop()?.(['a']);
    expect(await renewed).toBe(true);
    expect(catalog.isCurrent(plain.connection, handshake)).toBe(true);
    expect(catalog.isCurrent(roots.connection, handshake)).toBe(false);
    expect(catalog.isCurrent(plain.connection, helloOf())).toBe(false);
  });

  test('are listed once for all who want them at the same time, whoever comes first', async () => {
    const { catalog } = createWorld({ one: {} });
    const handshake = helloOf();
    const { connection, open } = asked('', handshake);
    catalog.connected('one', connection);
    const calls = [catalog.renew(connection, handshake), catalog.renew(connection, handshake)];
    await soon();
    expect(open).toHaveLength(1);
    open.pop()?.(['a']);
    expect(await Promise.all(calls)).toEqual([true, true]);
    await expect.poll(() => catalog.find('one', 'a')).toBeDefined();
    expect(open).toEqual([]);
  });

  test('that change while they are listed are listed again, and not at the same time', async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { catalog } = createWorld({ one: {} });
    const handshake = helloOf();
    const { connection, open } = asked('', handshake);
    const renewed = catalog.renew(connection, handshake);
    catalog.noticed('one', 'notifications/tools/list_changed', connection);
    await vi.advanceTimersByTimeAsync(400);
    expect(open).toHaveLength(1);
    open.pop()?.(['old']);
    expect(await renewed).toBe(true);
    await vi.advanceTimersByTimeAsync(0);
    expect(open).toHaveLength(1);
    open.pop()?.(['new']);
    await vi.advanceTimersByTimeAsync(0);
    expect(catalog.find('one', 'new')).toBeDefined();
  });

  test('are not those of the next one', async () => {
    const { catalog } = createWorld({ one: {} });
    const handshake = helloOf();
    const { connection, open } = asked('', handshake);
    const renewed = catalog.renew(connection, handshake);
    connection.handshake = helloOf();
    open.pop()?.(['a']);
    expect(await renewed).toBe(false);
    expect(catalog.find('one', 'a')).toBeUndefined();
    expect(await catalog.renew({ ...connection, name: 'stranger' }, handshake)).toBe(false);
  });
});

test('local modules come before servers', () => {
  const module = { type: 'module', module: './x.mjs' } as never;
  const world = createWorld({ a: {}, m: { spec: module }, b: {}, n: { spec: module } });
  expect(world.catalog.servers().map(({ name }) => name)).toEqual(['m', 'n', 'a', 'b']);
});

test('a disabled server is not there', () => {
  const world = createWorld({ off: { spec: { disabled: true } } });
  expect(world.catalog.servers()).toEqual([]);
});
