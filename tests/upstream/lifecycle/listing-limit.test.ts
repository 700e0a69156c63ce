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
  const idle = new Set<number>();
  const all = Array.from({ length: count }, (_, index) => ({
    isIdle: () => idle.has(index),
    stop: () => stopped.push(index),
  }));
  for (const [index, one] of all.entries()) void places.enter(one).then(() => running.push(index));
  const at = (index: number) => all[index] as (typeof all)[number];
  return { places, running, stopped, idle, at };
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

test('servers that hang do not hold up the others for ever', async () => {
  const { running } = start(2, 4);
  await vi.advanceTimersByTimeAsync(MAX_LISTING_TIME - 1);
  expect(running).toEqual([0, 1]);
  await vi.advanceTimersByTimeAsync(1);
  expect(running).toEqual([0, 1, 2, 3]);
});

test('no more hang at a time than there are places, however many do', async () => {
  const { places, running, at } = start(2, 8);
  await vi.advanceTimersByTimeAsync(6 * MAX_LISTING_TIME);
  expect(running).toEqual([0, 1, 2, 3]);
  places.leave(at(0));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2, 3, 4]);
  places.leave(at(3));
  await vi.advanceTimersByTimeAsync(0);
  expect(running).toEqual([0, 1, 2, 3, 4, 5]);
});

test('a download keeps its place, and its time begins when it has ended', async () => {
  const { places, running, at } = start(1, 2);
  places.downloads(at(0), true);
  await vi.advanceTimersByTimeAsync(20 * MAX_LISTING_TIME);
  expect(running).toEqual([0]);
  places.downloads(at(0), false);
  await vi.advanceTimersByTimeAsync(MAX_LISTING_TIME - 1);
  expect(running).toEqual([0]);
  await vi.advanceTimersByTimeAsync(1);
  expect(running).toEqual([0, 1]);
});
