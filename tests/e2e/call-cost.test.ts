/** Guards the cost of a warm call and of a start by counts that do not depend on the machine, with some slack. */
import { expect, test } from 'vitest';
import { measureCallCost, measureStartWrites } from '../../scripts/shape/call.mjs';

/**
 * Functions of mcpx that run, and bytes that are allocated, per call. The functions of two runs differ by two, and the
 * bytes, which are sampled, are up to 8 % above their mean, on a busy machine most: the limits are 3 and 12 % above the
 * measured 357, 519, 15,850 and 24,200.
 */
const LIMITS = {
  aggregate: { functions: 368, bytes: 17_750 },
  compact: { functions: 535, bytes: 27_100 },
} as const;
/**
 * Bytes that a start writes to files: the catalogs and the records of the processes, and the next start only the records.
 * Measured are 1,936 and 300; process ids have different lengths.
 */
const WRITTEN = { first: 2200, second: 400 };
const SERVERS = 5;

for (const front of ['aggregate', 'compact'] as const) {
  test(`a warm call of the ${front} front runs few functions and allocates little`, async () => {
    const { functions, bytes } = await measureCallCost(front);
    // Less than half of the limit would mean that the measurement misses something.
    expect(functions).toBeGreaterThan(LIMITS[front].functions / 2);
    expect(functions).toBeLessThan(LIMITS[front].functions);
    expect(bytes).toBeGreaterThan(LIMITS[front].bytes / 2);
    expect(bytes).toBeLessThan(LIMITS[front].bytes);
  });
}

test('a start writes little to disk, and hardly anything with a known catalog', async () => {
  const { first, second } = await measureStartWrites(SERVERS);
  expect(first).toBeGreaterThan(0);
  expect(first).toBeLessThan(WRITTEN.first);
  expect(second).toBeLessThan(WRITTEN.second);
});
