import { describe, expect, test, vi } from 'vitest';
import { createSlots } from '../../../src/upstream/lifecycle/queue.ts';
import { retryDelay } from '../../../src/upstream/lifecycle/retry-delay.ts';

const failure = (promise: Promise<unknown> | undefined) =>
  promise?.then(
    () => undefined,
    (error) => error,
  );

describe('slots', () => {
  test('let in as many as there is room for, then in order', async () => {
    const slots = createSlots({ limit: 2, subject: 'x' });
    expect([slots.enter(), slots.enter()]).toEqual([undefined, undefined]);
    const order: number[] = [];
    const waiting = [1, 2, 3].map((n) => slots.enter()?.then(() => order.push(n)));
    expect([slots.active, slots.waiting]).toEqual([2, 3]);
    slots.leave();
    slots.leave();
    await Promise.all(waiting.slice(0, 2));
    expect(order).toEqual([1, 2]);
    slots.leave();
    await waiting[2];
    expect([slots.active, slots.waiting]).toEqual([2, 0]);
  });

  test('take turns between those who wait, so that one who waits often delays nobody', async () => {
    const slots = createSlots({ limit: 1, subject: 'x' });
    slots.enter();
    const order: string[] = [];
    const join = (key: string, n: number) => slots.enter({ key })?.then(() => order.push(`${key}${n}`));
    const waiting = [1, 2, 3, 4]
      .map((n) => join('hog', n))
      .concat(
        [1, 2].map((n) => join('b', n)),
        join('c', 1),
      );
    for (const _ of waiting) {
      slots.leave();
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(order).toEqual(['hog1', 'b1', 'c1', 'hog2', 'b2', 'hog3', 'hog4']);
    expect([slots.active, slots.waiting]).toEqual([1, 0]);
  });

  test('leave some to others: one holder gets three quarters at most, and what it waits for delays nobody', async () => {
    const slots = createSlots({ limit: 8, subject: 'x' });
    const enter = (holder: string) => slots.enter({ key: holder, holder });
    const order: string[] = [];
    const hog = Array.from({ length: 8 }, () => enter('hog'));
    expect(hog.map((turn) => turn === undefined)).toEqual([true, true, true, true, true, true, false, false]);
    expect([enter('b'), slots.active, slots.waiting]).toEqual([undefined, 7, 2]);
    const waiting = hog.slice(6).map((turn) => turn?.then(() => order.push('hog')));
    slots.leave('b');
    expect([slots.active, slots.waiting]).toEqual([6, 2]);
    slots.leave('hog');
    await waiting[0];
    expect([order, slots.active, slots.waiting]).toEqual([['hog'], 6, 1]);
    for (let n = 0; n < 6; n += 1) slots.leave('hog');
    await waiting[1];
    expect([slots.active, slots.waiting]).toEqual([1, 0]);
  });

  test('let in bypass of all what takes no turn, and nobody in its place', async () => {
    const slots = createSlots({ limit: 1, maxWaiting: 1, subject: 'x' });
    slots.enter();
    const waiting = slots.enter();
    expect(slots.enter({ bypass: true })).toBeUndefined();
    expect([slots.active, slots.waiting]).toEqual([2, 1]);
    slots.leave();
    expect([slots.active, slots.waiting]).toEqual([1, 1]);
    slots.leave();
    await waiting;
    expect([slots.active, slots.waiting]).toEqual([1, 0]);
  });

  test('refuse at once when the line is full', async () => {
    const slots = createSlots({ limit: 1, maxWaiting: 1, subject: 'server "x"' });
    slots.enter();
    void slots.enter();
    expect(await failure(slots.enter())).toMatchObject({
      code: 'overloaded',
      message: 'server "x" is overloaded: 1 calls wait already',
    });
  });

  test('forget who gave up', async () => {
    vi.useFakeTimers();
    const slots = createSlots({ limit: 1, subject: 'x' });
    slots.enter();
    const controller = new AbortController();
    const [late, gone] = [
      failure(slots.enter({ timeout: 50 })),
      failure(slots.enter({ signal: controller.signal, timeout: 500 })),
    ];
    vi.advanceTimersByTime(50);
    controller.abort();
    expect(await late).toMatchObject({ code: 'overloaded' });
    expect(await gone).toMatchObject({ code: 'cancelled' });
    expect(await failure(slots.enter({ signal: controller.signal }))).toMatchObject({ code: 'cancelled' });
    expect(slots.waiting).toBe(0);
    expect(vi.getTimerCount()).toBe(0);
    slots.leave();
    expect(slots.enter()).toBeUndefined();
    vi.useRealTimers();
  });
});

describe('the pause before the next try', () => {
  test.each([
    [1, 500],
    [2, 1000],
    [5, 8000],
    [7, 30_000],
    [1000, 30_000],
  ])('after %i failures is %i ms, give or take 20 %%', (failures, middle) => {
    expect(retryDelay(failures, 500, () => 0.5)).toBe(middle);
    expect(retryDelay(failures, 500, () => 0)).toBe(middle * 0.8);
    expect(retryDelay(failures, 500, () => 1)).toBe(middle * 1.2);
  });

  test('is never shorter than the interval that was asked for', () => {
    expect(retryDelay(3, 60_000, () => 0.5)).toBe(60_000);
  });
});
