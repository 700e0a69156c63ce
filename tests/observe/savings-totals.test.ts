/** Totals of the savings, over runs and processes. */
import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { createLedger, describeSavings, readTotals } from '../../src/observe/savings-totals.ts';
import { PATIENCE } from '../setup/until.ts';

const place = () => join(mkdtempSync(join(tmpdir(), 'mcpx-ledger-')), 'home', 'stats.json');

afterEach(() => void vi.useRealTimers());

test('counts are added up over runs, and the first day stays', async () => {
  const file = place();
  vi.useFakeTimers({ now: 1_000_000, toFake: ['Date'] });
  const first = createLedger({ file });
  first.add({ calls: 2, lookups: 1, lookedUp: 40 });
  await first.close();
  vi.setSystemTime(9_000_000);
  const second = createLedger({ file });
  second.add({ calls: 3 });
  expect(second.totals()).toMatchObject({ calls: 5, lookups: 1, lookedUp: 40, since: 1_000_000 });
  await second.close();
  expect(readTotals(file)).toMatchObject({ calls: 5, since: 1_000_000 });
});

test('processes that count at the same time lose nothing', async () => {
  const file = place();
  const ledgers = Array.from({ length: 5 }, () => createLedger({ file }));
  for (const [index, ledger] of ledgers.entries()) ledger.add({ calls: index + 1, menus: 1 });
  await Promise.all(ledgers.map((ledger) => ledger.close()));
  expect(readTotals(file)).toMatchObject({ calls: 15, menus: 5 });
  expect(readdirSync(dirname(file))).toEqual(['stats.json']);
});

test('the file is the owner’s, and holds numbers only', async () => {
  const file = place();
  const ledger = createLedger({ file });
  ledger.add({ calls: 1 });
  await ledger.close();
  expect(statSync(file).mode & 0o777).toBe(process.platform === 'win32' ? 0o666 : 0o600);
  expect(Object.values(JSON.parse(readFileSync(file, 'utf8'))).every((value) => typeof value === 'number')).toBe(true);
});

test('what was counted is written by itself after a while', async () => {
  const file = place();
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const ledger = createLedger({ file });
  ledger.add({ calls: 1 });
  ledger.add({ calls: 1 });
  await vi.advanceTimersByTimeAsync(10_000);
  vi.useRealTimers();
  await vi.waitFor(() => expect(readTotals(file)).toMatchObject({ calls: 2 }), { timeout: PATIENCE });
});

test.each([
  ['half a line', '{"format":1,"since":'],
  ['another format', '{"format":99,"calls":3}'],
  ['no numbers', '{"format":1,"since":"x"}'],
  ['a list', '[]'],
])('a file with %s is begun anew', async (_title, text) => {
  const file = join(mkdtempSync(join(tmpdir(), 'mcpx-ledger-')), 'stats.json');
  writeFileSync(file, text);
  expect(readTotals(file)).toBeUndefined();
  const ledger = createLedger({ file });
  ledger.add({ calls: 4 });
  await ledger.close();
  expect(readTotals(file)).toMatchObject({ calls: 4 });
});

test('a file that cannot be read at the moment is not taken for an empty one', () => {
  // A folder cannot be read as a file, on any system and by any user.
  expect(() => readTotals(mkdtempSync(join(tmpdir(), 'mcpx-ledger-')))).toThrow(/EISDIR|EPERM|EACCES/);
});

test('a place that cannot be written to costs the counts and nothing else', async () => {
  const blocker = join(mkdtempSync(join(tmpdir(), 'mcpx-ledger-')), 'file');
  writeFileSync(blocker, '');
  const said: string[] = [];
  const ledger = createLedger({ file: join(blocker, 'stats.json'), log: { warn: (text) => void said.push(text) } });
  ledger.add({ calls: 1 });
  await ledger.close();
  expect(ledger.totals()).toMatchObject({ calls: 1 });
  expect(said).toEqual([expect.stringContaining('could not be written')]);
});

test('nothing is written where nothing happened, and nowhere without a file', async () => {
  const file = place();
  await createLedger({ file }).close();
  expect(readTotals(file)).toBeUndefined();
  const ledger = createLedger();
  ledger.add({ calls: 1 });
  await ledger.close();
  expect(ledger.totals().calls).toBe(1);
});

test('what inspect answered is taken off the savings', () => {
  const counts = { menus: 1, listedWithout: 40_000, listedWith: 4000, calls: 2, lookups: 3, lookedUp: 2000 };
  const totals = { ...counts, reencoded: 1, resultsBefore: 1000, resultsAfter: 600, since: 0 };
  expect(describeSavings(totals)).toMatchObject({
    since: '1970-01-01T00:00:00.000Z',
    tokens: { menus: 9000, results: 100, lookups: -500, net: 8600 },
    ...{ menus: 1, calls: 2, reencoded: 1, lookups: 3 },
  });
});
