/** What clients cut, and which one gets how long a description. */
import { expect, test } from 'vitest';
import { CLIENTS, DESCRIPTION_LIMIT, descriptionLimit, seenBy } from '../../src/front/clients.ts';

const LIMITS: [string, string | undefined, number][] = [
  ['a client that cuts', 'claude-code', 2048],
  ['one that nobody knows', 'somebody-else', DESCRIPTION_LIMIT],
  ['one whose descriptions have no known limit', 'cursor-vscode', DESCRIPTION_LIMIT],
  ['one that has not introduced itself', undefined, DESCRIPTION_LIMIT],
  ['one with a name of every object', 'constructor', DESCRIPTION_LIMIT],
];

test.each(LIMITS)('the limit of %s', (_title, name, expected) => {
  expect(descriptionLimit(name)).toBe(expected);
});

test('no client is listed twice, and each for a reason', () => {
  const names = CLIENTS.flatMap((client) => client.names);
  expect(new Set(names).size).toBe(names.length);
  for (const { description, instructions, tools } of CLIENTS) {
    expect([description, instructions, tools].some((limit) => limit !== undefined)).toBe(true);
  }
});

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
