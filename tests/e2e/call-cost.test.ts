/** Guards the cost of a warm call and of a start by counts that do not depend on the machine, with some slack. */
import { expect, test } from 'vitest';
import { measureCallCost, measureStartWrites } from '../../scripts/shape/call.mjs';

/** Functions of mcpx that run, and bytes that are allocated, per call: about a tenth more than measured. */
const LIMITS = {
  aggregate: { functions: 430, bytes: 20_000 },
  compact: { functions: 585, bytes: 27_000 },
} as const;
/** Bytes written to files per server: its catalog, the record of its process, and a part of what all servers share. */
const WRITTEN = { first: 2000, second: 400 };
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
  expect(first).toBeLessThan(WRITTEN.first * SERVERS);
  expect(second).toBeLessThan(WRITTEN.second * SERVERS);
});
