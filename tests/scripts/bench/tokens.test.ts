/** `npm run bench:tokens` evaluates its numbers and generates servers; the measuring itself is not for every test run. */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { madeUpCatalogs, readCatalogs, serveCatalogs } from '../../../scripts/bench/token-catalogs.mjs';
import { invalidTypes } from '../../../scripts/bench/token-types.mjs';
import { judge, quantile, summaryOf, tableOf, tasksOf } from '../../../scripts/bench/tokens.mjs';

describe('npm run bench:tokens', () => {
  const summary = summaryOf({
    raw: 1000,
    menu: 20,
    servers: [
      { inspected: 100, definitions: 400 },
      { inspected: 50, definitions: 100 },
    ],
    tools: [0.5, 0.9, 0.7],
    tasks: [
      { cost: 900, found: true },
      { cost: 1200, found: false },
    ],
  });

  it('adds servers up, and takes the median of tools and tasks', () => {
    expect(summary).toMatchObject({ 'menu of raw': 0.02, 'server, all': 0.3, 'server, largest': 0.5 });
    expect(summary).toMatchObject({
      'tool, median': 0.7,
      'tool, largest': 0.9,
      'task, median': 900,
      'tasks found': 0.5,
    });
    expect(quantile([5, 1, 4, 2, 3], 0.9)).toBe(4);
    expect(quantile([], 0.5)).toBe(0);
  });

  it('compares each number with its bar', () => {
    const rows = judge(summary, { 'menu of raw': { most: 0.03 }, 'task, median': { most: 800 } });
    expect(rows.filter(({ over }) => over).map(({ name }) => name)).toEqual(['task, median']);
    const lines = tableOf('world', rows).split('\n');
    expect(lines[0]?.split(/\s{2,}/)).toEqual(['world', 'at most']);
    expect(lines.find((line) => line.startsWith('menu of raw'))?.split(/\s{2,}/)).toEqual([
      ...['menu of raw', '2.0 %', '3.0 %', 'ok'],
    ]);
    expect(lines.find((line) => line.startsWith('task, median'))).toMatch(/900 +800 +over$/);
  });

  it('searches for the middle tool of every server by the words of its name', () => {
    const tools = ['a', 'getMockServer_by-id', 'c'].map((name) => ({ name }));
    expect(
      tasksOf([
        { name: 's', tools },
        { name: 'empty', tools: [] },
      ]),
    ).toEqual([{ server: 's', tool: 'getMockServer_by-id', query: 'get mock server by id' }]);
  });

  it('makes up ten servers of twenty tools, whose signatures are valid TypeScript', async () => {
    const catalogs = madeUpCatalogs();
    expect(catalogs.map(({ tools }) => tools.length)).toEqual(Array(10).fill(20));
    expect(await invalidTypes(catalogs[0]?.tools ?? [])).toEqual({ checked: 40, said: '' });
  });

  it('plays the catalogs of a folder', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcpx-catalogs-'));
    expect(() => readCatalogs(folder)).toThrow('there is no catalog');
    const tool = { name: 't', inputSchema: { type: 'object' } };
    writeFileSync(join(folder, 'one.json'), JSON.stringify({ tools: [tool], initialize: { instructions: 'hello' } }));
    const { url, close } = await serveCatalogs(readCatalogs(folder));
    const ask = async (method: string, params: unknown) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
      return (await fetch(`${url}/one`, { method: 'POST', body })).json();
    };
    expect(await ask('initialize', { protocolVersion: '2025-11-25' })).toMatchObject({
      result: { instructions: 'hello' },
    });
    expect(await ask('tools/list', {})).toMatchObject({ result: { tools: [tool] } });
    expect(await ask('nonsense', {})).toMatchObject({ error: { code: -32601 } });
    await close();
  });
});
