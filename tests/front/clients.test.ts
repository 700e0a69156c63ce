/** Which client gets how long a description. */
import { expect, test } from 'vitest';
import { CLIENTS, DESCRIPTION_LIMIT, descriptionLimit } from '../../src/front/clients.ts';

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
