/** The median, the table and the comparisons of `npm run bench:start`; the measuring itself is not for every test run. */
import { describe, expect, it } from 'vitest';
import { comparisons, median, table } from '../../../scripts/bench/start.mjs';

describe('npm run bench:start', () => {
  it('takes the middle value', () => {
    expect(median([9, 1, 5])).toBe(5);
    expect(median([4, 1, 3, 2])).toBe(2.5);
  });

  it('says which bar is missed', () => {
    const rows = [
      { name: 'empty', wall: 30, cpu: 20 },
      { name: 'a', wall: 33, cpu: 30 },
      { name: 'b', wall: 90, cpu: Number.NaN },
    ];
    const [, , a, b] = table(rows, { a: 1.3, b: 2.5 }).split('\n');
    expect(a?.split(/\s{2,}/)).toEqual(['a', '33.0', '30.0', '1.10 x', '1.50 x', '1.3 x', 'ok']);
    expect(b?.split(/\s{2,}/)).toEqual(['b', '90.0', '-', '3.00 x', '-', '2.5 x', 'over']);
  });

  it('compares cases with each other, and leaves those without a bar alone', () => {
    const rows = [
      { name: 'empty', wall: 30, cpu: 20 },
      { name: 'one', wall: 60, cpu: 50 },
      { name: 'fifty', wall: 72, cpu: 60 },
    ];
    expect(
      table(rows, {})
        .split('\n')
        .at(-1)
        ?.split(/\s{2,}/),
    ).toEqual(['fifty', '72.0', '60.0', '2.40 x', '3.00 x']);
    const compared = comparisons(rows, [
      { name: 'fifty', base: 'one', times: 1.3 },
      { name: 'fifty', base: 'empty', times: 2 },
    ]);
    expect(compared.map(({ over, text }) => [over, ...text.split(/\s{2,}/)])).toEqual([
      [false, 'fifty / one', '1.20 x', '1.3 x', 'ok'],
      [true, 'fifty / empty', '2.40 x', '2.0 x', 'over'],
    ]);
  });
});
