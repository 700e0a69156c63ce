/** What clients cut, and which one gets how long a description. */
import { expect, test } from 'vitest';
import { DEFAULTS, type Settings } from '../../src/config/config.ts';
import { CLIENTS, DESCRIPTION_LIMIT, descriptionLimit, seenBy, settingsFor } from '../../src/front/clients.ts';

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
  for (const { title: _, names: __, ...facts } of CLIENTS) expect(Object.keys(facts)).not.toEqual([]);
});

const STRUCTURED: [client: string | undefined, written: Settings['front']['structured'], used: string][] = [
  ['claude-code', 'auto', 'never'],
  ['codex-mcp-client', 'auto', 'never'],
  ['qwen-cli-mcp-client-mcpx', 'auto', 'never'],
  ['@langchain/mcp-adapters', 'auto', 'never'],
  ['gemini-cli-mcp-client', 'auto', 'auto'],
  ['somebody-else', 'auto', 'auto'],
  [undefined, 'auto', 'auto'],
  ['claude-code', 'always', 'always'],
  ['somebody-else', 'never', 'never'],
];

test.each(STRUCTURED)('structuredContent for %s with front.structured "%s" is "%s"', (name, structured, used) => {
  const settings = { ...DEFAULTS, front: { ...DEFAULTS.front, structured } };
  expect(settingsFor(settings, name).front.structured).toBe(used);
});

test('a result is kept and cut before the client cuts it', () => {
  const limit = (name: string, resultChars: number) =>
    settingsFor({ ...DEFAULTS, limits: { ...DEFAULTS.limits, resultChars } }, name).limits.resultChars;
  expect(limit('@cline/core', 40_000)).toBe(8000);
  expect(limit('@cline/core', 5000)).toBe(5000);
  expect(limit('somebody-else', 40_000)).toBe(40_000);
});

test('exec_read is offered to clients that approve tools by annotation, unless the config says otherwise', () => {
  const offered = (name: string, execSplit: boolean | null) =>
    settingsFor({ ...DEFAULTS, front: { ...DEFAULTS.front, execSplit } }, name).front.execSplit;
  expect(offered('codex-mcp-client', null)).toBe(true);
  expect(offered('codex-mcp-client', false)).toBe(false);
  expect(offered('claude-code', null)).toBe(null);
  expect(offered('claude-code', true)).toBe(true);
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
