/** `npm run bench:memory` evaluates its numbers; the measuring itself is not for every test run. */
import { describe, expect, it } from 'vitest';
import { rowsOf, table } from '../../../scripts/bench/memory.mjs';

const bars = { memory: { first: 100, growth: 10 }, files: { growth: 0 } };

describe('npm run bench:memory', () => {
  const rows = (memory: number[], files: number[]) => {
    const at = (moment: number) => ({ memory: memory[moment] ?? 0, files: files[moment] ?? 0 });
    return rowsOf({ idle: at(0), warm: at(1), calls: at(2) }, { warm: at(3), restarts: at(4) }, bars);
  };
  const check = (memory: number[], files: number[]) => rows(memory, files).map(({ over }) => over);

  it('compares the first moment with its bar, and the end of each scene with the end of its warm-up', () => {
    expect(check([99, 150, 160, 60, 70], [5, 7, 7, 1, 1])).toEqual([false, false]);
    expect(check([101, 101, 101, 1, 1], [5, 5, 5, 5, 5])).toEqual([true, false]);
    expect(check([50, 60, 71, 60, 60], [5, 5, 5, 1, 2])).toEqual([true, true]);
    expect(check([50, 60, 60, 60, 71], [5, 5, 6, 1, 1])).toEqual([true, true]);
  });

  it('prints one line for each number', () => {
    const lines = table('outside', rows([50, 60.25, 60, 50, 75], [5, 5, 5, 1, 1])).split('\n');
    expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
      ['outside', 'idle', 'warm', 'calls', 'warm', 'restarts', 'bar', 'growth'],
      ['memory', '50', '60.3', '60', '50', '75', '100', '+10', 'over'],
      ['files', '5', '5', '5', '1', '1', '+0', 'ok'],
    ]);
  });
});
