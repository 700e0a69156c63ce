/** How much of what a process pours out is read. */
import { PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchFlood } from '../../../src/upstream/process/flood-guard.ts';
import { stopClock } from '../../setup/clock.ts';

beforeEach(stopClock);
afterEach(() => void vi.useRealTimers());

/** Lines of noise, as long as it is read, for so many ms; how many were read. */
async function pour(ms: number): Promise<number> {
  const input = new PassThrough();
  const floodGuard = watchFlood(input, { maxSilence: 1e9, exceeded: () => undefined });
  let lines = 0;
  const read = () => {
    while (!input.isPaused()) {
      lines += 1;
      floodGuard.noise();
    }
  };
  input.on('resume', read);
  input.resume();
  await vi.advanceTimersByTimeAsync(ms);
  input.destroy();
  return lines;
}

test('20,000 lines are read at once, and 25 per ms in the long run', async () => {
  expect(await pour(1)).toBe(20_000);
  const [short, long] = [await pour(2000), await pour(12_000)];
  expect((long - short) / 10_000).toBeGreaterThan(24);
  expect((long - short) / 10_000).toBeLessThan(26);
});
