/** Long work in steps: other events are handled between them. */
import { expect, test, vi } from 'vitest';
import { beginSteps } from '../src/event-loop.ts';
import { stopClock } from './setup/clock.ts';

test('a step is over after some milliseconds, and the next one begins after other events', async () => {
  stopClock();
  const steps = beginSteps();
  expect(steps.isOver()).toBe(false);
  vi.advanceTimersByTime(5);
  expect(steps.isOver()).toBe(true);
  const events: string[] = [];
  setImmediate(() => events.push('another event'));
  await steps.next();
  expect(events).toEqual(['another event']);
  expect(steps.isOver()).toBe(false);
  vi.useRealTimers();
});
