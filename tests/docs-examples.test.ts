/** Runs the examples in the pages for users: sessions in a terminal, calls of the two tools, configs, the module, snippets for clients. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { createApp } from '../src/app/app.ts';
import { demoConfig, loadConfig } from '../src/config/load.ts';
import { SILENT } from '../src/observe/log.ts';
import { readModule, runTool } from '../src/upstream/transports/module-tools.ts';
import { blocksOf, ENGLISH, sessionsOf, tableOf } from './setup/documents.ts';
import { typeLine } from './setup/terminal.ts';
import { PATIENCE } from './setup/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'mcpx-docs-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Returns the text that a model reads after it calls `inspect` or `exec` on the demo. */
async function askCompact(name: string, args: unknown): Promise<string> {
  const app = createApp(demoConfig(), { log: SILENT });
  try {
    const { front } = app.open({ profile: 'default', downstream: { key: 'docs', notify: () => undefined } });
    const params = { name, arguments: args };
    const result = (await front.request(
      { method: 'tools/call', params },
      { signal: AbortSignal.timeout(PATIENCE) },
    )) as {
      content: { text: string }[];
    };
    return result.content
      .map((block) => block.text)
      .join('')
      .replace(/\n$/, '');
  } finally {
    await app.stop();
  }
}

/** A config as it loads, with unknown keys as errors. */
function load(written: string) {
  const file = join(folder, 'config.json');
  writeFileSync(file, written);
  return loadConfig({ files: [file], strict: true }).config;
}

describe('an example', () => {
  const sessions = blocksOf(ENGLISH, 'console').flatMap((block) =>
    sessionsOf(block).map((session) => ({ ...session, file: block.file })),
  );
  const configs = blocksOf(ENGLISH, 'jsonc');

  test.each(sessions.filter(({ line }) => !line.startsWith('mcpx demo')))(
    '$file: $line prints what is shown',
    async (shown) => {
      expect((await typeLine(shown.line)).text).toBe(shown.output);
    },
  );

  test.each(sessions.filter(({ line }) => line.startsWith('mcpx demo')))(
    '$file: $line prints every line shown',
    async (shown) => {
      const { text: printed, code } = await typeLine(`${shown.line} --port 0`, 'Ctrl-C');
      const lines = printed.replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:3095').split('\n');
      expect(code).toBe(0);
      expect(lines).toEqual(expect.arrayContaining(shown.output.split('\n').filter((line) => line !== '…')));
    },
  );

  const calls = blocksOf(ENGLISH, 'text').filter((block) => /^(?:inspect|exec) \{.*\}\n\n/.test(block.text));

  test.each(calls)('$file: the call in line $line is answered as shown', async ({ text: shown }) => {
    const [, name = '', args = '', answer] = /^(\w+) (\{.*\})\n\n([\s\S]*)$/.exec(shown) ?? [];
    expect(await askCompact(name, JSON.parse(args))).toBe(answer);
  });

  test('exists of each kind', () => {
    expect([sessions.length > 2, calls.length > 0, configs.length > 2]).toEqual([true, true, true]);
  });

  test.each(configs)('$file: the config in line $line loads without a warning', ({ text: written }) => {
    const { profiles, warnings } = load(written);
    expect(warnings).toEqual([]);
    expect(profiles.flatMap(({ servers }) => servers).length).toBeGreaterThan(0);
  });

  test('the module of local tools loads, and its tools answer', async () => {
    const [example, ...others] = blocksOf(ENGLISH, 'js').filter(({ text: code }) => code.includes('export '));
    expect(others).toEqual([]);
    const file = join(folder, 'notes.mjs');
    writeFileSync(file, example?.text ?? '');
    const { tools } = readModule({ ...(await import(/* @vite-ignore */ pathToFileURL(file).href)) }, file);
    const tool = tools.get('add_note');
    if (tool === undefined) throw new Error('the example has no tool "add_note"');
    const context = { signal: AbortSignal.timeout(PATIENCE), progress: () => undefined };
    const answers = [await runTool(tool, { text: 'milk' }, context), await runTool(tool, { text: 'tea' }, context)];
    expect(answers).toEqual([
      { content: [{ type: 'text', text: 'note 1: milk' }] },
      { content: [{ type: 'text', text: 'note 2: tea' }] },
    ]);
  });

  test('the snippets for clients are JSON that starts mcpx', () => {
    const snippets = blocksOf(ENGLISH, 'json');
    expect(snippets.length).toBeGreaterThan(1);
    for (const { text: written } of snippets) {
      const { mcpServers, servers, mcp } = JSON.parse(written);
      const { command, args = [] } = (mcpServers ?? servers ?? mcp).mcpx;
      expect([command, args].flat()).toEqual([expect.stringMatching(/^\/.*mcpx$/), 'serve']);
    }
  });

  const shapes = tableOf(ENGLISH, '`mcpServers`');
  test.each(shapes.map(([key = '']) => key.replaceAll('`', '')))('servers under "%s" are found', (key) => {
    const servers = { one: { command: 'one' } };
    const { profiles, warnings } = load(
      JSON.stringify({ [key]: key === 'schemas' ? { a: { mcpServers: servers } } : servers }),
    );
    expect(warnings).toEqual([]);
    expect(profiles.flatMap((profile) => profile.servers).map(({ name }) => name)).toEqual(['one']);
  });
});
