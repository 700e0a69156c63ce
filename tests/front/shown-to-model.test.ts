/** The parts of definitions and results that each client shows to its model. */
import { expect, test } from 'vitest';
import { CLIENTS, type KnownClient } from '../../src/front/known-clients.ts';
import { seenBy, shownLength } from '../../src/front/shown-to-model.ts';

const tool = (name: string, description?: string) => ({
  name,
  ...(description && { description }),
  inputSchema: { type: 'object' },
});
const offered = [
  {
    server: 'a',
    tools: [tool('one', 'x'.repeat(30)), tool('two', 'short'), tool('three')],
    instructions: 'y'.repeat(50),
  },
  { server: 'b', tools: [tool('four')] },
];

test('descriptions and instructions are cut at the limits of a client', () => {
  const { offered: seen, ...cut } = seenBy({ description: 10, instructions: 20 }, offered);
  expect(cut).toEqual({ cutTools: ['a.one'], cutInstructions: ['a'], lostCharacters: 50, leftOut: 0 });
  expect(seen[0]?.tools.map(({ description }) => description)).toEqual(['x'.repeat(10), 'short', undefined]);
  expect(seen[0]?.instructions).toBe('y'.repeat(20));
});

test('tools beyond the number that a client takes are left out', () => {
  const { offered: seen, leftOut } = seenBy({ tools: 2 }, offered);
  expect(seen.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['one', 'two'], []]);
  expect(leftOut).toBe(2);
});

test('a client without limits sees everything', () => {
  expect(seenBy({}, offered)).toMatchObject({
    offered,
    cutTools: [],
    cutInstructions: [],
    lostCharacters: 0,
    leftOut: 0,
  });
});

test('a client with a search of its own shows names, and whole tools that are marked', () => {
  const marked = { ...tool('marked', 'whole'), _meta: { 'anthropic/alwaysLoad': true } };
  const client = CLIENTS.find(({ title }) => title === 'Claude Code');
  const { offered: seen } = seenBy(client ?? {}, [{ server: 'a', tools: [tool('one', 'words'), marked] }]);
  expect(seen[0]?.tools).toEqual([{ name: 'mcp__a__one' }, marked]);
});

test('one that shows the beginning of a description beside the name keeps that', () => {
  const { offered: seen } = seenBy({ defers: { description: 3 } }, [{ server: 'a', tools: [tool('one', 'words')] }]);
  expect(seen[0]?.tools).toEqual([{ name: 'mcp__a__one', description: 'wor' }]);
});

const both = { content: [{ type: 'text', text: 'x'.repeat(100) }], structuredContent: { a: 1 } };
const LENGTHS: [client: Partial<KnownClient>, length: number][] = [
  [{}, 100],
  [{ reads: 'text' }, 100],
  [{ reads: 'structured' }, 7],
  [{ reads: 'both' }, 107],
  [{ reads: 'both', resultChars: 50 }, 50],
  [{ aside: { above: 99, shown: 20 } }, 20],
  [{ aside: { above: 100, shown: 20 } }, 100],
];

test.each(LENGTHS)('a result in a client that is %j has %i characters', (client, length) => {
  expect(shownLength(both, client)).toBe(length);
});
