/** What `npm run bench:memory` makes of its numbers; the measuring itself is not for every test run. */
import { describe, expect, it } from 'vitest';
import { rowsOf, table } from '../../scripts/bench-memory.mjs';

const bars = { memory: { first: 100, growth: 10 }, files: { growth: 0 } };

describe('npm run bench:memory', () => {
  const check = (memory: number[], files: number[]) =>
    rowsOf(
      memory.map((value, moment) => ({ memory: value, files: files[moment] ?? 0 })),
      bars,
    ).map(({ over }) => over);

  it('compares the first moment with its bar, and every later one with the end of the warm-up', () => {
    expect(check([99, 150, 155, 160], [5, 7, 7, 7])).toEqual([false, false]);
    expect(check([101, 101, 101, 101], [5, 5, 5, 5])).toEqual([true, false]);
    expect(check([50, 60, 71, 60], [5, 5, 5, 5])).toEqual([true, false]);
    expect(check([50, 60, 60, 60], [5, 5, 5, 6])).toEqual([false, true]);
  });

  it('prints one line for each number', () => {
    const moments = [50, 60.25, 60, 75].map((memory) => ({ memory, files: 5 }));
    const lines = table('outside', rowsOf(moments, bars)).split('\n');
    expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
      ['outside', 'idle', 'warm', 'calls', 'restarts', 'bar', 'growth'],
      ['memory', '50', '60.3', '60', '75', '100', '+10', 'over'],
      ['files', '5', '5', '5', '5', '+0', 'ok'],
    ]);
  });
});
