/** Codex, the shipped program, with a scripted model: what the model is shown of mcpx, and what may run without approval. */
import { expect, test } from 'vitest';
import { converse, makeHome } from './conversation.ts';
import { describeClient } from './journey.ts';
import { type Client, codex } from './programs.ts';

/** Codex as it is set up by itself: what is not known to read only needs a person. */
const unattended: Client = { ...codex, ask: (question) => ['exec', '--skip-git-repo-check', question] };

describeClient(codex, () => {
  test('runs tools that only read without approval, by exec_read', async () => {
    const place = makeHome();
    try {
      const input = { server_name: 'desk', tool_name: 'list_guests', arguments: { count: 2 } };
      const steps = ['exec_read', 'exec'].map((tool) => () => ({ tool, input }));
      const { results } = await converse(unattended, place, steps, { kind: 'README' });
      expect(results.map(({ text }) => text)).toEqual([
        expect.stringContaining('guest 2'),
        expect.stringContaining('requires approval'),
      ]);
    } finally {
      place.remove();
    }
  });
});
