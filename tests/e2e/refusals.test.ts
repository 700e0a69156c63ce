/** A refused call, through the executable: it says what is wrong in few tokens, and the server does not see it. */
import { encode } from 'gpt-tokenizer/encoding/o200k_base';
import { expect, test } from 'vitest';
import { emptyPlace, fixture, openSession } from './program.ts';

/** Parameters of a search, each with a description. */
const PARAMETERS = {
  project: { type: 'string', description: 'Key of the project whose tickets are searched, such as "OPS"' },
  maxResults: { type: 'integer', minimum: 1, maximum: 100, description: 'Largest number of tickets in the answer' },
  ...Object.fromEntries(
    Array.from({ length: 28 }, (_, index) => [
      `filter_${index + 1}`,
      { type: 'string', description: `Only tickets whose field ${index + 1} has this value; empty means every value` },
    ]),
  ),
};

const search = {
  name: 'search_tickets',
  description: 'Finds tickets.',
  inputSchema: {
    type: 'object',
    properties: PARAMETERS,
    required: ['project', 'maxResults'],
    additionalProperties: false,
  },
};

async function open() {
  expect(Object.keys(PARAMETERS)).toHaveLength(30);
  const place = emptyPlace();
  const tools = place.file('tools.json', [search]);
  const session = await openSession(place, {
    mcpServers: { tickets: { command: process.execPath, args: [fixture('listed.mjs'), tools] } },
  });
  return async (args: object) => {
    const call = { tool: 'tickets.search_tickets', arguments: args };
    return (await session.request('tools/call', { name: 'exec', arguments: call })).result;
  };
}

test('costs less than 150 tokens for a tool with 30 parameters, and is enough for a call that is run', async () => {
  const exec = await open();
  for (const args of [
    {},
    { maxResults: 500 },
    { project: { key: 'OPS' }, maxResults: 'many' },
    { project: 'OPS', maxResults: 5, filter_9: ['a'], filters: {}, status: 'open' },
  ]) {
    const refused = await exec(args);
    expect(refused.isError).toBe(true);
    expect(refused.content[0].text).toMatch(/^error: /);
    expect(refused.content).toHaveLength(1);
    expect(encode(refused.content[0].text).length, refused.content[0].text).toBeLessThan(150);
  }
  const { content } = await exec({});
  expect(content[0].text).toMatch(/project: missing\n.*maxResults: missing/);
  expect(content[0].text).toContain('project: string // Key of the project');
  expect(content[0].text).toMatch(/maxResults: number \/\/ .*1.*100/);
  expect(content[0].text).not.toContain('whose field');
  const run = await exec({ project: 'OPS', maxResults: 5 });
  expect([run.isError, run.content[0].text.trim()]).toEqual([undefined, 'search_tickets ran']);
});
