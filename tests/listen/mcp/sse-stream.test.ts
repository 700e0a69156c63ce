/** Finished event streams that clients may resume: how long and how many of them are kept. */
import { afterEach, expect, test, vi } from 'vitest';
import { createParking, EventStream } from '../../../src/listen/mcp/sse-stream.ts';
import { stopClock } from '../../setup/clock.ts';

afterEach(() => {
  vi.useRealTimers();
});

/** Parks streams of `events` short events each, and returns how many of them are kept. */
function keptOf(count: number, events: number): number {
  const parking = createParking();
  let kept = count;
  for (let index = 0; index < count; index++) {
    const stream = new EventStream({ name: index.toString(36) });
    for (let event = 0; event < events; event++) stream.push('{}', { kept: true });
    stream.end();
    parking.park(stream, () => {
      kept -= 1;
    });
  }
  return kept;
}

test('streams are forgotten five minutes after they finished', () => {
  stopClock();
  const parking = createParking();
  const forget = vi.fn();
  const stream = new EventStream({ name: 'a' });
  parking.park(stream, forget);
  vi.advanceTimersByTime(5 * 60_000 - 1);
  parking.sweep();
  expect(forget).not.toHaveBeenCalled();
  vi.advanceTimersByTime(1);
  parking.sweep();
  expect(forget).toHaveBeenCalledOnce();
});

test('the bound on kept streams counts the memory around their text: many short events are not free', () => {
  // 64 MiB over 600 bytes for the stream and about 175 for each event with its id.
  const kept = keptOf(900, 500);
  expect(kept).toBeGreaterThan(700);
  expect(kept).toBeLessThan(800);
});
