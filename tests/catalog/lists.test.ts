/** Each list of a server stands alone: one that fails or hangs hides nothing else, is named, and is asked for again. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { NO_STORE, type StoredCatalog } from '../../src/catalog/catalog-store.ts';
import { RpcError } from '../../src/errors.ts';
import { createWorld, type Script, specOf } from '../world.ts';

const EVERYTHING = { tools: {}, prompts: {}, resources: {} };
const ANSWERS: Record<string, unknown> = {
  'tools/list': { tools: [{ name: 'a' }] },
  'prompts/list': { prompts: [{ name: 'p' }] },
  'resources/list': { resources: [{ uri: 'x://r' }] },
  'resources/templates/list': { resourceTemplates: [{ uriTemplate: 'x://{t}' }] },
};

/** A server with every list, one of which does what `fate` does. */
function server(bad: string, fate: () => unknown): Script {
  return { capabilities: EVERYTHING, answer: (method) => (method === bad ? fate() : ANSWERS[method]) };
}

const refuse = () => {
  throw new RpcError(-32603, 'the table is locked');
};
const hang = () => new Promise(() => undefined);

const LISTS = [
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'templates'],
] as const;

describe.each(LISTS)('%s', (method, list) => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('an error of it hides no other list, and is named', async () => {
    const { catalog, logged } = createWorld({ one: server(method, refuse) });
    await catalog.settle(1000);
    const entry = catalog.server('one');
    expect(entry?.listing.kind).toBe('listed');
    const counts = { tools: 1, prompts: 1, resources: 1, templates: 1, [list]: 0 };
    for (const [name, count] of Object.entries(counts)) expect(entry?.offer).toHaveProperty(`${name}.length`, count);
    expect(entry?.offer.unanswered).toEqual({ [list]: 'the table is locked' });
    const told = logged.filter((line) => line.includes(`${method}: the table is locked`));
    expect(told).toHaveLength(1);
    expect(told[0]).toContain('"one"');
    catalog.close();
  });

  test('an answer that is no list is an error of it', async () => {
    const key = list === 'templates' ? 'resourceTemplates' : list;
    for (const answer of [{ [key]: { one: 1 } }, { [key]: 'none' }, ['x'], 'none']) {
      const { catalog } = createWorld({ one: server(method, () => answer) });
      await catalog.settle(1000);
      const entry = catalog.server('one');
      expect(entry?.offer.unanswered?.[list]).toContain(`answered "${method}" with something that is no list`);
      expect(entry?.offer.tools).toHaveLength(1);
      catalog.close();
    }
  });

  test('an empty list may be left out or null', async () => {
    const key = list === 'templates' ? 'resourceTemplates' : list;
    for (const answer of [{}, { [key]: null }, { [key]: [] }]) {
      const { catalog } = createWorld({ one: server(method, () => answer) });
      await catalog.settle(1000);
      expect(catalog.server('one')?.offer.unanswered).toBeUndefined();
      catalog.close();
    }
  });

  test('tools are there while it hangs, and it is served when it comes', async () => {
    let answer: (value: unknown) => void = () => undefined;
    const late = new Promise((resolve) => {
      answer = resolve;
    });
    const listed = vi.fn();
    const { catalog, changes } = createWorld({ one: { ...server(method, () => late), listed } });
    const settled = catalog.settle(60_000);
    await vi.advanceTimersByTimeAsync(200);
    await settled;
    // A server that was started only to be listed has to keep running.
    expect(listed).not.toHaveBeenCalled();
    expect(catalog.find('one', 'a')).toBeDefined();
    expect(catalog.server('one')?.offer.unanswered).toEqual({ [list]: 'not answered yet' });
    // Nothing waits for it any longer than for anything else.
    const all = catalog.settle(1000, undefined, 'all');
    await vi.advanceTimersByTimeAsync(1000);
    await all;
    answer(ANSWERS[method]);
    await vi.advanceTimersByTimeAsync(0);
    expect(catalog.server('one')?.offer[list]).toHaveLength(1);
    expect(catalog.server('one')?.offer.unanswered).toBeUndefined();
    expect(changes).toEqual(['one', 'one']);
    expect(listed).toHaveBeenCalledOnce();
    catalog.close();
  });

  test('it is asked for again after a pause that grows, and told once', async () => {
    let [asked, up] = [0, false];
    const { catalog, logged } = createWorld({
      one: server(method, () => {
        asked++;
        return up ? ANSWERS[method] : refuse();
      }),
    });
    await catalog.settle(1000);
    expect(asked).toBe(1);
    await vi.advanceTimersByTimeAsync(5000);
    expect(asked).toBe(2);
    await vi.advanceTimersByTimeAsync(9000);
    expect(asked).toBe(2);
    up = true;
    await vi.advanceTimersByTimeAsync(1000);
    expect(asked).toBe(3);
    expect(catalog.server('one')?.offer[list]).toHaveLength(1);
    expect(logged.filter((line) => line.includes('the table is locked'))).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(600_000);
    expect(asked).toBe(3);
    catalog.close();
  });
});

describe('other faults of lists', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('a server that does not list its tools offers its prompts, is named, and is asked again by itself', async () => {
    let up = false;
    const { catalog, router, logged } = createWorld({
      one: server('tools/list', () => (up ? ANSWERS['tools/list'] : refuse())),
    });
    await catalog.settle(1000);
    expect(catalog.server('one')?.listing).toMatchObject({
      kind: 'failed',
      error: { message: 'server "one" did not list its tools: the table is locked' },
    });
    expect(router.servers()[0]?.prompts).toHaveLength(1);
    expect(logged.some((line) => line.includes('tools/list: server "one" did not list its tools'))).toBe(true);
    up = true;
    await vi.advanceTimersByTimeAsync(5000);
    expect(catalog.find('one', 'a')).toBeDefined();
    catalog.close();
  });

  test('a server whose tools are no list is named', async () => {
    const { catalog, logged } = createWorld({ one: server('tools/list', () => ({ tools: { a: {} } })) });
    await catalog.settle(1000);
    expect(catalog.server('one')?.listing.kind).toBe('failed');
    expect(logged.some((line) => line.includes('answered "tools/list" with something that is no list'))).toBe(true);
    catalog.close();
  });

  test('a list that fails keeps what it held before', async () => {
    let up = true;
    const { catalog } = createWorld({ one: server('prompts/list', () => (up ? ANSWERS['prompts/list'] : refuse())) });
    await catalog.settle(1000);
    up = false;
    catalog.noticed('one', 'notifications/prompts/list_changed');
    await vi.advanceTimersByTimeAsync(400);
    expect(catalog.server('one')?.offer).toMatchObject({
      prompts: [{ name: 'p' }],
      unanswered: { prompts: 'the table is locked' },
    });
    catalog.close();
  });

  test('a change of tools waits for no prompts, and a list that hangs is not asked for twice', async () => {
    let [tools, prompts] = [[{ name: 'a' }], 0];
    const { catalog } = createWorld({ one: { tools: [] } });
    const handshake = { era: 'legacy', protocolVersion: 'x', capabilities: EVERYTHING } as const;
    const began = { ...handshake, serverInfo: { name: 'o', version: '1' } };
    const connection = {
      ...{ name: 'one', spec: specOf('one'), offered: '', state: { kind: 'ready', since: 0 } as const },
      connect: async () => began,
      async request(method: string) {
        if (method === 'prompts/list') prompts++;
        return method === 'prompts/list' ? hang() : method === 'tools/list' ? { tools } : ANSWERS[method];
      },
    };
    catalog.connected('one', connection);
    await vi.advanceTimersByTimeAsync(200);
    expect(catalog.find('one', 'a')).toBeDefined();
    tools = [{ name: 'a' }, { name: 'b' }];
    catalog.noticed('one', 'notifications/tools/list_changed', connection);
    await vi.advanceTimersByTimeAsync(500);
    expect(catalog.find('one', 'b')).toBeDefined();
    expect(prompts).toBe(1);
    catalog.close();
  });

  test('what is stored says which lists are missing, and a client that wants them has them asked for', async () => {
    let up = false;
    let stored: StoredCatalog | undefined;
    const store = {
      ...NO_STORE,
      load: () => stored,
      write(_: unknown, catalog: StoredCatalog) {
        stored = catalog;
      },
    };
    const script = server('prompts/list', () => (up ? ANSWERS['prompts/list'] : refuse()));
    const first = createWorld({ one: script }, { store });
    await first.catalog.settle(1000);
    first.catalog.close();
    up = true;
    const { catalog } = createWorld({ one: script }, { store });
    await catalog.settle(1000);
    expect(catalog.server('one')).toMatchObject({ listing: { from: 'store' }, offer: { prompts: [] } });
    await catalog.settle(1000, undefined, 'all');
    expect(catalog.server('one')?.offer.prompts).toEqual([{ name: 'p' }]);
    catalog.close();
  });
});
