/** Rates: how fast. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createRate, NO_RATE } from '../../src/policy/rate-limit.ts';

describe('a rate', () => {
  const at = (rate: number) => {
    let time = 0;
    const limit = createRate({ rate, now: () => time });
    const pass = (ms: number) => {
      time += ms;
    };
    return { ...limit, pass };
  };

  test('lets a second through in a burst, then says when to come back', () => {
    const { take, pass } = at(3);
    expect([take('a'), take('a'), take('a'), take('a')]).toEqual([undefined, undefined, undefined, 1]);
    pass(334);
    expect([take('a'), take('a')]).toEqual([undefined, 1]);
  });

  test('keeps an account per key', () => {
    const { take } = at(1);
    expect([take('a'), take('b'), take('a')]).toEqual([undefined, undefined, 1]);
    expect(take('__proto__')).toBeUndefined();
  });

  test('below one per second waits for whole seconds', () => {
    const { take, pass } = at(0.1);
    expect([take('a'), take('a')]).toEqual([undefined, 10]);
    pass(9000);
    expect(take('a')).toBe(1);
    pass(1000);
    expect(take('a')).toBeUndefined();
  });

  test('several at once count as several, and more than a burst is paid off', () => {
    const { take, pass } = at(10);
    expect(take('a', 30)).toBeUndefined();
    expect(take('a')).toBe(3);
    pass(2000);
    expect(take('a')).toBe(1);
    pass(100);
    expect(take('a')).toBeUndefined();
  });

  test('what is charged afterwards is paid off before the next', () => {
    const { take, charge, pass } = at(10);
    expect(take('a')).toBeUndefined();
    charge('a', 19);
    expect(take('a')).toBe(2);
    pass(1100);
    expect(take('a')).toBeUndefined();
    expect(take('b')).toBeUndefined();
  });

  test('over any time no more passes than a burst and what the time allows', () => {
    const step = fc.record({ ms: fc.integer({ min: 0, max: 2000 }), count: fc.integer({ min: 1, max: 5 }) });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step, { maxLength: 200 }), (rate, steps) => {
        const { take, pass } = at(rate);
        let taken = 0;
        let time = 0;
        for (const { ms, count } of steps) {
          pass(ms);
          time += ms;
          if (take('a', count) === undefined) taken += count;
        }
        // The last one may be on credit.
        expect(taken).toBeLessThanOrEqual(rate + (rate * time) / 1000 + 5 + 1e-6);
      }),
    );
  });

  test('none is no limit', () => {
    expect(NO_RATE.take('a', 1e9)).toBeUndefined();
  });
});
