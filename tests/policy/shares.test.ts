/** Shares: what one holder may take, and what is left for the others. */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createShares, nameOfHolder, sessionHolder, tokenHolder } from '../../src/policy/shares.ts';

/** How much a holder gets until it is refused, one at a time. */
function exhaust(shares: ReturnType<typeof createShares>, holder: string | undefined): number {
  const before = shares.left;
  while (shares.take(holder) === undefined);
  return before - shares.left;
}

describe('shares', () => {
  test('one holder gets three quarters, and the next ones always find something', () => {
    const shares = createShares(2048);
    expect(exhaust(shares, 'a')).toBe(1536);
    expect(shares.take('a')).toBe('share');
    expect(exhaust(shares, 'b')).toBe(384);
    expect(exhaust(shares, 'c')).toBe(96);
    expect(shares.take('d')).toBeUndefined();
  });

  test('without a holder everything can be taken, and then nobody gets more', () => {
    const shares = createShares(10);
    expect(exhaust(shares, undefined)).toBe(10);
    expect([shares.take(undefined), shares.take('a')]).toEqual(['total', 'total']);
  });

  test.each([1, 2, 3])('of %i one holder may have all', (limit) => {
    expect(exhaust(createShares(limit), 'a')).toBe(limit);
  });

  test('are taken in parts of any size, and what is given back can be taken again', () => {
    const shares = createShares(100);
    expect([shares.take('a', 70), shares.take('a', 30), shares.take('b', 31)]).toEqual([undefined, 'share', 'total']);
    shares.give('a', 60);
    expect([shares.of('a'), shares.left, shares.take('b', 40)]).toEqual([10, 90, undefined]);
  });

  test('follow a limit that changes; nothing that is taken is taken away', () => {
    let limit = 4;
    const shares = createShares(() => limit);
    expect(exhaust(shares, 'a')).toBe(3);
    limit = 2;
    expect([shares.take('b'), shares.left]).toEqual(['total', -1]);
    shares.give('a', 3);
    expect([shares.take('b'), shares.limit]).toEqual([undefined, 2]);
  });

  test('are never more than there is, and come back whole', () => {
    const step = fc.record({
      holder: fc.constantFrom('a', 'b', 'c', '__proto__'),
      amount: fc.integer({ min: 1, max: 9 }),
    });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 50 }), fc.array(step), (limit, steps) => {
        const shares = createShares(limit);
        const taken = steps.filter(({ holder, amount }) => shares.take(holder, amount) === undefined);
        expect(shares.left).toBeGreaterThanOrEqual(0);
        for (const { holder, amount } of taken) shares.give(holder, amount);
        expect([shares.left, shares.of('a'), shares.of('__proto__')]).toEqual([limit, 0, 0]);
      }),
    );
  });
});

test('a message names a token by its name, and a session of its own client without its key', () => {
  expect([nameOfHolder(tokenHolder('ci')), nameOfHolder(sessionHolder('k'))]).toEqual(['token "ci"', 'this session']);
});
