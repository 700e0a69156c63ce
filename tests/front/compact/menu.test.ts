/** The menu: budget, tiers, byte-stable text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { NO_STORE, type StoredCatalog } from '../../../src/catalog/catalog-store.ts';
import type { ServerSpec } from '../../../src/config/config.ts';
import { describeServer } from '../../../src/front/compact/inspect-tool.ts';
import { renderMenu } from '../../../src/front/compact/menu.ts';
import type { ServerView } from '../../../src/router/router.ts';
import { createWorld, type Script, specOf } from '../../world.ts';

const tool = (name: string, description = 'Does a thing. And more.') => ({
  name,
  description,
  inputSchema: {
    type: 'object',
    properties: { path: { type: 'string' }, tail: { type: 'number' } },
    required: ['path'],
  },
});

async function views(scripts: Record<string, Script>): Promise<ServerView[]> {
  const world = createWorld(scripts);
  await world.catalog.settle(1000);
  return world.router.servers();
}

const menu = async (scripts: Record<string, Script>, budget = 2000) =>
  renderMenu(await views(scripts), { budget, maxInstructions: 300 });

describe('tiers', () => {
  const scripts = { files: { tools: [tool('read'), tool('write')], instructions: 'Reads\nand writes.' } };

  test.each([
    [
      2000,
      'files — Reads and writes.\n  read({ path: string; tail?: number }) // Does a thing.\n  write({ path: string; tail?: number }) // Does a thing.',
    ],
    [70, 'files — Reads and writes.\n  read: Does a thing.\n  write: Does a thing.'],
    [69, 'files: read(path, tail?), write(path, tail?) — Reads and writes.'],
    [40, 'files: read, write — Reads and writes.'],
    [20, 'files: read, write'],
    [15, 'files (2 tools)'],
    [14, 'files'],
    [4, ''],
    [0, ''],
    [-100, ''],
  ])('in %i characters', async (budget, expected) => {
    expect(await menu(scripts, budget)).toBe(expected);
  });
});

test('every server has names before one has sentences', async () => {
  const text = await menu({ a: { tools: [tool('one')] }, b: { tools: [tool('two')] } }, 40);
  expect(text).toContain('one');
  expect(text).toContain('two');
});

describe('when not every server has room for its names', () => {
  const server = (size: number, prefix = 'do_something_with') => ({
    tools: Array.from({ length: size }, (_, index) => tool(`${prefix}_${index}`)),
  });
  const named = (text: string) =>
    text.split('\n').flatMap((line) => (/^\S/.test(line) && !/\(\d+ tools?\)/.test(line) ? [line.split(':')[0]] : []));

  test('small ones have more than large ones', async () => {
    const text = await menu({ huge: server(500), a: server(3), b: server(3) }, 600);
    expect(named(text)).toEqual(['a', 'b']);
    expect(text).toContain('huge (500 tools)');
  });

  test('most of them have theirs', async () => {
    const five = Object.fromEntries(['a', 'b', 'c', 'd', 'e'].map((name) => [name, server(20)]));
    expect(named(await menu(five, 1700))).toEqual(['a', 'b', 'c']);
  });

  test('no few are preferred by chance', async () => {
    const ten = Object.fromEntries(Array.from('abcdefghij', (name) => [name, server(20)]));
    expect(await menu(ten, 1700)).toBe(Array.from('abcdefghij', (name) => `${name} (20 tools)`).join('\n'));
  });
});

test('the text does not depend on the order of the servers', async () => {
  const all = await views({ b: { tools: [tool('x')] }, a: { tools: [tool('y')] }, c: { tools: [] } });
  const options = { budget: 2000, maxInstructions: 300 };
  expect(renderMenu([...all].reverse(), options)).toBe(renderMenu(all, options));
});

test('a description of the config is shown instead of the instructions', async () => {
  const text = await menu({ a: { tools: [tool('x')], instructions: 'theirs', spec: { description: 'mine' } } });
  expect(text).toContain('a — mine');
  expect(text).not.toContain('theirs');
});

test('instructions are cut at a code point', async () => {
  const text = await menu({ a: { tools: [], instructions: '😀'.repeat(400) } });
  expect(text).toMatch(/^a \(0 tools\) — 😀{299}…$/u);
});

test('a server that cannot be reached is named as such', async () => {
  const text = await menu({ dead: { connect: () => Promise.reject(new Error('no')) }, ok: { tools: [] } });
  expect(text).toContain('dead (not available now)');
});

test('two hundred servers are all named, where there is no room for more', async () => {
  const many = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`srv${i}`, { tools: [tool('t')] }]));
  const text = await menu(many, 1800);
  expect(text.length).toBeLessThanOrEqual(1800);
  expect(text.split('\n')).toEqual(Object.keys(many).sort());
});

test('thousands of servers stay within the budget and are counted', async () => {
  const many = Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`server-${i}`, { tools: [tool('t')] }]));
  const text = await menu(many, 1800);
  expect(text.length).toBeLessThanOrEqual(1800);
  expect(text.length).toBeGreaterThan(1700);
  const shown = text.split('\n').length - 1;
  expect(text).toContain(`… and ${5000 - shown} more servers`);
});

test('what nobody has listed yet comes from the disk, with the same bytes', async () => {
  const files = { tools: [tool('read')], instructions: 'Reads.' };
  const spec = specOf('files');
  const stored = new Map<string, StoredCatalog>();
  const store = {
    ...NO_STORE,
    load: ({ name }: ServerSpec) => stored.get(name),
    write: ({ name }: ServerSpec, catalog: StoredCatalog) => void stored.set(name, catalog),
  };
  const before = createWorld({ files }, { store });
  await before.catalog.settle(1000);
  const after = createWorld({ files: { spec, connect: () => new Promise<never>(() => undefined) } }, { store });
  await after.catalog.settle(0);
  const options = { budget: 2000, maxInstructions: 300 };
  expect(renderMenu(after.router.servers(), options)).toBe(
    'files — Reads.\n  read({ path: string; tail?: number }) // Does a thing.',
  );
  expect(renderMenu(after.router.servers(), options)).toBe(renderMenu(before.router.servers(), options));
});

test('a server that was never listed is said to be so', async () => {
  const { router } = createWorld({ new: { tools: [tool('t')] } });
  expect(renderMenu(router.servers(), { budget: 100, maxInstructions: 300 })).toBe('new (not listed yet)');
});

const arbitraryServer = fc.record({
  tools: fc.array(
    fc.record({ name: fc.string({ minLength: 1, maxLength: 30 }), description: fc.string({ maxLength: 120 }) }),
    { maxLength: 20 },
  ),
  instructions: fc.string({ maxLength: 400, unit: 'grapheme' }),
});

test('the menu never exceeds its budget, whatever the order of the servers', async () => {
  const names = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}$/);
  const servers = fc.dictionary(names, arbitraryServer, { maxKeys: 30, noNullPrototype: true });
  await fc.assert(
    fc.asyncProperty(servers, fc.integer({ min: -10, max: 3000 }), async (scripts, budget) => {
      const all = await views(scripts);
      const options = { budget, maxInstructions: 300 };
      const text = renderMenu(all, options);
      expect(text.length).toBeLessThanOrEqual(Math.max(0, budget));
      expect(renderMenu([...all].reverse(), options)).toBe(text);
    }),
    { numRuns: 100 },
  );
});

test('of thousands of tools only those are read that could fit', async () => {
  let read = 0;
  const [server] = await views({ large: { tools: [tool('one')] } });
  const tools = Array.from({ length: 5000 }, (_, index) => ({
    ...tool(`tool_number_${index}`),
    get inputSchema() {
      read += 1;
      return { type: 'object' };
    },
  }));
  const text = renderMenu([{ ...(server as ServerView), tools }], { budget: 60_000, maxInstructions: 300 });
  expect(text).toContain('large (5000 tools)');
  expect(read).toBe(0);
  const { settings } = createWorld({}).deps;
  const described = describeServer({ ...(server as ServerView), tools }, settings);
  const lines = described.split('\n');
  expect(lines[1]).toContain('to find one: inspect {"server_name":"large","query":"…"}');
  expect(lines.at(-1)).toBe(`… and ${5000 - (lines.length - 3)} more`);
  expect(described.length).toBeLessThan(9_000);
  expect(read).toBeLessThan(5000);
});
