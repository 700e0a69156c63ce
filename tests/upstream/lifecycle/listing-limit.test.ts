/** How many servers run only to be listed. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createListingLimit, MAX_LISTING_TIME } from '../../../src/upstream/lifecycle/listing-limit.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A world of servers that want to be listed. */
function start(limit: number, count: number) {
  const places = createListingLimit(limit);
  const running: number[] = [];
  const stopped: number[] = [];
  const interrupted: number[] = [];
  const idle = new Set<number>();
  const all = Array.from({ length: count }, (_, index) => ({
    isIdle: () => idle.has(index),
    stop: () => stopped.push(index),
    interrupt: () => interrupted.push(index),
  }));
  const at = (index: number) => all[index] as (typeof all)[number];
  const enter = (index: number) => void places.enter(at(index)).then(() => running.push(index));
  for (const index of all.keys()) enter(index);
  return { places, running, stopped, interrupted, idle, at, enter };
}

test('no more are started than there are places, and one that was listed stops for one that waits', async () => {
  const { places, running, stopped, idle, at } = start(2, 4);
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1]);
  idle.add(0);
  idle.add(1);
  places.look();
  places.look();
  expect(stopped).toEqual([0, 1]);
  // Its process has not ended yet.
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1]);
  places.leave(at(1));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2]);
});

test('one that was listed is kept while nobody waits', async () => {
  const { places, stopped, idle } = start(2, 2);
  idle.add(0);
  places.look();
  expect(stopped).toEqual([]);
});

test('one that somebody uses waits for nobody', async () => {
  const { places, running, at } = start(1, 3);
  places.leave(at(2));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 2]);
});

test('servers that hang are interrupted for others, once, and come after them', async () => {
  const { places, running, interrupted, at, enter } = start(2, 5);
  await vi.advanceTimersByTimeAsync(MAX_LISTING_TIME - 1);
  expect({ running, interrupted }).toEqual({ running: [0, 1], interrupted: [] });
  await vi.advanceTimersByTimeAsync(1);
  // Their processes have not ended yet.
  expect({ running, interrupted }).toEqual({ running: [0, 1], interrupted: [0, 1] });
  enter(0);
  enter(1);
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2, 3]);
  await vi.advanceTimersByTimeAsync(MAX_LISTING_TIME);
  // One place is enough for the last one that was never started.
  expect(interrupted).toEqual([0, 1, 2]);
  enter(2);
  places.leave(at(3));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2, 3, 4, 0]);
  await vi.advanceTimersByTimeAsync(20 * MAX_LISTING_TIME);
  expect(interrupted).toEqual([0, 1, 2]);
  places.leave(at(0));
  places.leave(at(4));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2, 3, 4, 0, 1, 2]);
});

test('one that hangs keeps its place while nobody waits, and is interrupted for the next one', async () => {
  const { places, running, interrupted, at, enter } = start(2, 3);
  places.leave(at(2));
  await vi.advanceTimersByTimeAsync(2 * MAX_LISTING_TIME);
  expect(interrupted).toEqual([]);
  enter(1);
  await vi.advanceTimersByTimeAsync(0);
  // It has its place already.
  expect({ running, interrupted }).toEqual({ running: [0, 1, 2, 1], interrupted: [] });
  enter(2);
  expect(interrupted).toEqual([0]);
});

test('a download keeps its place, and its time begins when it has ended', async () => {
  const { places, interrupted, at } = start(1, 2);
  places.downloads(at(0), true);
  await vi.advanceTimersByTimeAsync(20 * MAX_LISTING_TIME);
  expect(interrupted).toEqual([]);
  places.downloads(at(0), false);
  await vi.advanceTimersByTimeAsync(MAX_LISTING_TIME - 1);
  expect(interrupted).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(interrupted).toEqual([0]);
});

test('a further process is refused while all places are taken or somebody waits', async () => {
  const { places, at } = start(2, 1);
  const second = { isIdle: () => false, stop: () => undefined, interrupt: () => undefined };
  expect(places.tryEnter(second)).toBe(true);
  expect(places.tryEnter({ ...second })).toBe(false);
  places.release(second);
  expect(places.tryEnter({ ...second })).toBe(true);
  places.leave(at(0));
  expect(places.tryEnter({ ...second })).toBe(true);
});
