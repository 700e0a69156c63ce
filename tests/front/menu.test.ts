/** The menu: budget, tiers, byte-stable text. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderMenu } from '../../src/front/menu.ts';
import type { ServerView } from '../../src/router/router.ts';
import { createWorld, type Script } from '../world.ts';

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
    [2000, 'files — Reads and writes.\n  read: Does a thing.\n  write: Does a thing.'],
    [70, 'files: read(path, tail?), write(path, tail?) — Reads and writes.'],
    [40, 'files: read, write — Reads and writes.'],
    [20, 'files: read, write'],
    [16, 'files (2 tools)'],
  ])('in %i characters', async (budget, expected) => {
    expect(await menu(scripts, budget)).toBe(expected);
  });
});

test('every server has names before one has sentences', async () => {
  const text = await menu({ a: { tools: [tool('one')] }, b: { tools: [tool('two')] } }, 40);
  expect(text).toContain('one');
  expect(text).toContain('two');
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

test('hundreds of servers stay within the budget and are counted', async () => {
  const many = Object.fromEntries(Array.from({ length: 400 }, (_, i) => [`server-${i}`, { tools: [tool('t')] }]));
  const text = await menu(many, 1800);
  expect(text.length).toBeLessThanOrEqual(1800);
  const shown = text.split('\n').length - 1;
  expect(text).toContain(`… and ${400 - shown} more servers`);
});

test('the menu never exceeds its budget', async () => {
  const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,12}$/), { maxLength: 12 });
  const offer = fc.array(
    fc.record({ name: fc.stringMatching(/^[a-z_]{1,30}$/), description: fc.string({ maxLength: 120 }) }),
    { maxLength: 20 },
  );
  await fc.assert(
    fc.asyncProperty(names, offer, fc.integer({ min: 40, max: 3000 }), async (servers, tools, budget) => {
      const text = await menu(
        Object.fromEntries(servers.map((name) => [name, { tools, instructions: 'about' }])),
        budget,
      );
      expect(text.length).toBeLessThanOrEqual(budget);
    }),
    { numRuns: 60 },
  );
});
