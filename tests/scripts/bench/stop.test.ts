/** The report of `npm run bench:stop`; the measuring itself is not for every test run. */
import { describe, expect, it } from 'vitest';
import { report } from '../../../scripts/bench/stop.mjs';

describe('npm run bench:stop', () => {
  it('says which time is over what is promised', () => {
    const { text, over } = report([
      { name: 'quick', ms: 120, promised: 500 },
      { name: 'slow', ms: 1200.4, promised: 500 },
    ]);
    expect(text).toBe('quick     120 ms  of 500  ok\nslow     1200 ms  of 500  over');
    expect(over).toBe(true);
  });
});
