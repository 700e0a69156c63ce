/** When changed lists are announced. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createChanges } from '../../src/front/list-changed.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('changes met while servers are listed for the first time are announced together: every 10 s, and at the end', () => {
  const told: string[] = [];
  let isListing = true;
  const changes = createChanges(
    (kind) => told.push(kind),
    () => isListing,
  );
  for (let second = 0; second < 25; second++) {
    changes.add(['tools']);
    vi.advanceTimersByTime(1000);
  }
  expect(told).toEqual(['tools', 'tools']);
  isListing = false;
  changes.add([]);
  vi.advanceTimersByTime(100);
  expect(told).toEqual(['tools', 'tools', 'tools']);
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(3);
});

test('a client that has listed meanwhile is told nothing at the end, and the next change is told at once', () => {
  const told: string[] = [];
  let isListing = true;
  const changes = createChanges(
    (kind) => told.push(kind),
    () => isListing,
  );
  changes.add(['tools']);
  changes.answered('tools/list', {});
  isListing = false;
  changes.add([]);
  vi.advanceTimersByTime(60_000);
  expect(told).toEqual([]);
  changes.add(['tools']);
  changes.add(['prompts']);
  vi.advanceTimersByTime(100);
  expect(told).toEqual(['tools', 'prompts']);
  changes.close();
});
