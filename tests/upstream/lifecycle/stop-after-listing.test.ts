/** When a server that was started only to be listed gives its place to the next one. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createListingLimit } from '../../../src/upstream/lifecycle/listing-limit.ts';
import { createPurpose } from '../../../src/upstream/lifecycle/stop-after-listing.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A server that is ready and has one place of `limit`; another server waits for a place. */
async function start({ busy = false } = {}) {
  const places = createListingLimit(1);
  const events: string[] = [];
  const connect = { mode: 'lazy', concurrency: 1, firstListWait: 0, idleStop: 600_000, inheritEnv: 'safe' } as const;
  const purpose = createPurpose({
    ...{ spec: { type: 'stdio' }, connect, places },
    busy: () => busy,
    async stopIdle() {
      events.push('stops');
    },
    interrupt: () => undefined,
  });
  await purpose.admitted();
  purpose.entered({ kind: 'ready', since: 0 });
  const next = { isIdle: () => false, stop: () => undefined, interrupt: () => undefined };
  void places.enter(next).then(() => events.push('next'));
  purpose.over();
  return { purpose, events };
}

test('a server whose lists are read stops at once for one that waits', async () => {
  const { purpose, events } = await start();
  expect(events).toEqual([]);
  purpose.listed();
  expect(events).toEqual(['stops']);
  purpose.entered({ kind: 'idle' });
  await vi.advanceTimersByTimeAsync(0);
  expect(events).toEqual(['stops', 'stops', 'next']);
});

test('a server that nobody says is listed stops after a pause', async () => {
  const { events } = await start();
  await vi.advanceTimersByTimeAsync(49);
  expect(events).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(events).toEqual(['stops']);
});

test('a server that answers something else, or that a client uses, keeps running', async () => {
  const { purpose, events } = await start({ busy: true });
  purpose.listed();
  expect(events).toEqual([]);
  const used = await start();
  used.purpose.claim();
  used.purpose.listed();
  await vi.advanceTimersByTimeAsync(0);
  // Its place is free, because it does not run only to be listed any more.
  expect(used.events).toEqual(['next']);
});
