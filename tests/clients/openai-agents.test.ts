/** OpenAI Agents, the library in a minimal agent, with a scripted model: what the model is shown of mcpx, also by strict schemas. */
import { expect, test } from 'vitest';
import { openAiAgents } from './agents.ts';
import { converse, makeHome } from './conversation.ts';
import { describeClient } from './journey.ts';
import type { Client } from './programs.ts';

/** The library with its conversion of schemas to those that OpenAI enforces. */
const strict: Client = {
  ...openAiAgents,
  prepare: (home, modelUrl) => ({ ...openAiAgents.prepare(home, modelUrl), AGENT_STRICT: '1' }),
};

/** A model that follows a strict schema sends every member, with null for those that it does not use. */
const unused = { select: null, calls: null, parallel: null, onError: null };

describeClient(openAiAgents, () => {
  test('leaves room for arguments in strict schemas, and takes null for a member that is not used', async () => {
    const place = makeHome();
    try {
      const greeting = { tool: 'desk.greet', arguments: { name: 'Ada' } };
      const batch = { ...unused, tool: null, arguments: null, calls: [greeting] };
      const steps = [{ ...greeting, ...unused }, batch].map((input) => () => ({ tool: 'exec', input }));
      const { tools, results } = await converse(strict, place, steps, { kind: 'documented' });
      const inspect = tools.find(({ name }) => name === 'inspect')!;
      expect(inspect.schema).toMatchObject({
        additionalProperties: false,
        required: expect.arrayContaining(['query']),
      });
      const exec = JSON.stringify(tools.find(({ name }) => name === 'exec')!.schema.properties);
      expect(exec).toContain('{"type":"object","additionalProperties":true}');
      expect(exec).toMatch(/"calls":.*"tool":.*"arguments":/);
      for (const { text } of results) expect(text).toContain('Good morning, Ada!');
    } finally {
      place.remove();
    }
  });
});
