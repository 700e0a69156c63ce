/** Codex, the shipped program, with a scripted model: what the model is shown of mcpx, and what may run without approval. */
import { expect, test } from 'vitest';
import { converse, makeHome } from './conversation.ts';
import { describeClient } from './journey.ts';
import type { Step } from './model.ts';
import { type Client, codex } from './programs.ts';

/** Codex as it is set up by itself: what is not known to read only needs a person. */
const unattended: Client = { ...codex, ask: (question) => ['exec', '--skip-git-repo-check', question] };

/** Codex counts bytes: a character of Chinese has three. */
const chinese = { lines: 200, title: '红楼梦'.repeat(10) };
const pages = (tool: string, count: number) => ({
  tool: 'exec',
  input: { calls: Array.from({ length: count }, () => ({ method: `desk.${tool}`, arguments: { lines: 200 } })) },
});

describeClient(codex, () => {
  test('cuts nothing in the middle: not in Chinese, nor in a batch of twenty', async () => {
    const place = makeHome();
    try {
      const steps: Step[] = [
        () => ({ tool: 'exec', input: { method: 'desk.read_book', arguments: chinese } }),
        ({ results: [first] }) => {
          const result = /"result":"([^"]+)"/.exec(first?.text ?? '')?.[1];
          return { tool: 'inspect', input: { result, offset: 0, limit: 20_000 } };
        },
        () => pages('read_book', 20),
      ];
      const { results } = await converse(codex, place, steps, { kind: 'documented' });
      for (const { text } of results) expect(text).not.toMatch(/truncated|\ufffd/);
      expect(results[0]?.text).toContain('read on: inspect {');
      expect(results[1]?.text).toContain('read on: inspect {');
      expect(results[2]?.text).toContain('[19] desk.read_book');
    } finally {
      place.remove();
    }
  });

  test('runs tools that only read without approval, by exec_read', async () => {
    const place = makeHome();
    try {
      const input = { server_name: 'desk', tool_name: 'list_guests', arguments: { count: 2 } };
      const steps = ['exec_read', 'exec'].map((tool) => () => ({ tool, input }));
      const { results } = await converse(unattended, place, steps, { kind: 'documented' });
      expect(results.map(({ text }) => text)).toEqual([
        expect.stringContaining('guest 2'),
        expect.stringContaining('requires approval'),
      ]);
    } finally {
      place.remove();
    }
  });
});
