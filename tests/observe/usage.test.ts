/** Which tools are used, over runs and processes. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { createUsage } from '../../src/observe/usage.ts';
import { PATIENCE } from '../setup/until.ts';

const place = () => join(mkdtempSync(join(tmpdir(), 'mcpx-usage-')), 'home', 'usage.json');
const rowsIn = (file: string) => JSON.parse(readFileSync(file, 'utf8')).calls as [string, string, number][];

async function used(file: string, calls: [string, string][]): Promise<void> {
  const usage = createUsage({ file });
  for (const [server, tool] of calls) usage.record(server, tool);
  await usage.close();
}

describe('usage', () => {
  test('grows with every call, from 0 to 1', () => {
    const usage = createUsage();
    const shares = Array.from({ length: 100 }, () => {
      const share = usage.share('s', 't');
      usage.record('s', 't');
      return share;
    });
    expect(shares[0]).toBe(0);
    expect(shares.every((share, index) => index === 0 || share >= (shares[index - 1] ?? 0))).toBe(true);
    expect(shares.at(-1)).toBe(1);
    expect(usage.share('s', 'other')).toBe(0);
  });

  test('is added up over runs, and known to the next', async () => {
    const file = place();
    await used(file, [
      ['a', 'x'],
      ['a', 'x'],
      ['b', 'y'],
    ]);
    await used(file, [['a', 'x']]);
    expect(rowsIn(file)).toEqual([
      ['a', 'x', 3],
      ['b', 'y', 1],
    ]);
    expect(createUsage({ file }).share('a', 'x')).toBeGreaterThan(createUsage({ file }).share('b', 'y'));
  });

  test('of several processes at once loses nothing', async () => {
    const file = place();
    await Promise.all(
      Array.from({ length: 5 }, () =>
        used(file, [
          ['a', 'x'],
          ['a', 'y'],
        ]),
      ),
    );
    expect(rowsIn(file)).toEqual([
      ['a', 'y', 5],
      ['a', 'x', 5],
    ]);
    expect(readdirSync(dirname(file))).toEqual(['usage.json']);
  });

  test('is written after a while without being told', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const file = place();
      const usage = createUsage({ file });
      usage.record('a', 'x');
      await vi.advanceTimersByTimeAsync(10_000);
      await vi.waitFor(() => expect(rowsIn(file)).toEqual([['a', 'x', 1]]), { timeout: PATIENCE });
    } finally {
      vi.useRealTimers();
    }
  });

  test('belongs to its owner, and nothing is written where nothing was used', async () => {
    const file = place();
    await used(file, []);
    expect(() => statSync(file)).toThrow('ENOENT');
    await used(file, [['a', 'x']]);
    expect(statSync(file).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o600);
  });

  test('is bounded: two thousand tools, and counts that fade', async () => {
    const file = place();
    await used(
      file,
      Array.from({ length: 3000 }, (_, index) => ['a', `tool${index}`] as [string, string]),
    );
    await used(file, [
      ['a', 'late'],
      ['a', 'late'],
      ...Array.from({ length: 2000 }, () => ['a', 'often'] as [string, string]),
    ]);
    const rows = rowsIn(file);
    expect(rows).toHaveLength(2000);
    expect(rows.slice(0, 2).map(([, tool]) => tool)).toEqual(['often', 'late']);
    expect(rows[0]?.[2]).toBeLessThanOrEqual(1024);
    const usage = createUsage({ file });
    usage.record('a', 'x'.repeat(1000));
    expect(usage.share('a', 'x'.repeat(1000))).toBe(0);
  });

  const ODD: [what: string, text: string][] = [
    ['not JSON', '{'],
    ['another format', '{"format":99,"calls":[["a","x",5]]}'],
    ['no list', '{"format":1,"calls":{}}'],
    ['null', 'null'],
    ['rows that are none', '{"format":1,"calls":[["a","x",-1],["a"],5,["a","x","5"],[1,"x",5]]}'],
  ];
  test.each(ODD)('a file that holds %s is begun anew', async (_, text) => {
    const file = place();
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
    expect(createUsage({ file }).share('a', 'x')).toBe(0);
    await used(file, [['__proto__', 'constructor']]);
    expect(rowsIn(file)).toEqual([['__proto__', 'constructor', 1]]);
    expect(createUsage({ file }).share('__proto__', 'constructor')).toBeGreaterThan(0);
  });

  test('that cannot be written is told to the log and to nobody else', async () => {
    const file = place();
    mkdirSync(file, { recursive: true });
    const said: string[] = [];
    const usage = createUsage({ file, log: { warn: (text: string) => void said.push(text) } });
    usage.record('a', 'x');
    await usage.close();
    expect(said.join()).toContain('could not be written');
    expect(usage.share('a', 'x')).toBeGreaterThan(0);
  });
});
