/** How long the word of a client about its roots holds, and for whom. */
import { beforeEach, expect, test, vi } from 'vitest';
import type { ClientIdentity } from '../../../src/upstream/client-identity.ts';
import { createRootsMemory, rootsKey } from '../../../src/upstream/sharing/client-roots.ts';
import { passTime, stopClock } from '../../setup/clock.ts';

beforeEach(() => {
  stopClock();
  return () => vi.useRealTimers();
});

const session: ClientIdentity = { key: 'a', capabilities: { roots: { listChanged: true } } };
const request: ClientIdentity = {
  key: 'r1',
  stateless: true,
  principal: 'me',
  capabilities: { roots: { listChanged: true } },
};

function stage() {
  const memory = createRootsMemory();
  const asked = vi.fn(async (): Promise<unknown> => ({ roots: [{ uri: 'file:///w' }, 'odd'] }));
  const learn = (caller: ClientIdentity, signal?: AbortSignal) =>
    memory.learn(caller, { onServerRequest: asked, signal });
  return { memory, asked, learn };
}

const MINE = [{ uri: 'file:///w' }];

test('a session that tells of changes is asked once, also by several calls, and again when it told of one', async () => {
  const { memory, asked, learn } = stage();
  expect(await Promise.all([learn(session), learn(session)])).toEqual([MINE, MINE]);
  vi.advanceTimersByTime(24 * 60 * 60_000);
  expect([await learn(session), memory.known(session), asked.mock.calls.length]).toEqual([MINE, MINE, 1]);
  memory.changed('a');
  expect(memory.known(session)).toBeUndefined();
  await learn(session);
  expect(asked).toHaveBeenCalledTimes(2);
  memory.forget('a');
  expect(memory.known(session)).toBeUndefined();
});

test('a session that does not tell of changes is asked again after a minute', async () => {
  const caller: ClientIdentity = { key: 'b', capabilities: { roots: {} } };
  const { memory, learn } = stage();
  await learn(caller);
  vi.advanceTimersByTime(59_000);
  expect(memory.known({ ...caller })).toEqual(MINE);
  vi.advanceTimersByTime(2000);
  expect(memory.known(caller)).toBeUndefined();
});

test('a client without a session is asked once per request, because another one may look the same', async () => {
  const { memory, asked, learn } = stage();
  expect(await Promise.all([learn(request), learn(request)])).toEqual([MINE, MINE]);
  expect([await learn(request), asked.mock.calls.length]).toEqual([MINE, 1]);
  expect(memory.known({ ...request, key: 'r2' })).toBeUndefined();
  await learn({ ...request, key: 'r2' });
  expect(asked).toHaveBeenCalledTimes(2);
});

test('a client that refuses, says nonsense or says nothing has refused, for a while', async () => {
  for (const answer of [
    () => Promise.reject(new Error('no')),
    async () => ({ roots: 5 }),
    () => new Promise(() => {}),
  ]) {
    const { memory, asked, learn } = stage();
    asked.mockImplementation(answer);
    const learned = learn(session);
    await passTime(learned);
    expect(await learned).toBe('refused');
    expect(memory.known(session)).toBe('refused');
    vi.advanceTimersByTime(61_000);
    expect(memory.known(session)).toBeUndefined();
  }
});

test('a call that is given up leaves the question to the next', async () => {
  const { asked, learn } = stage();
  asked.mockImplementationOnce(() => new Promise(() => {}));
  const given = new AbortController();
  const first = learn(session, given.signal);
  const second = learn(session);
  given.abort();
  await expect(first).rejects.toMatchObject({ code: 'cancelled' });
  expect(await second).toEqual(MINE);
  expect(asked).toHaveBeenCalledTimes(2);
});

test('roots are equal in any order of their fields', () => {
  expect(rootsKey([{ uri: 'a', name: 'b' }])).toBe(rootsKey([{ name: 'b', uri: 'a' }]));
  expect(rootsKey([{ uri: 'a' }])).not.toBe(rootsKey([{ uri: 'b' }]));
  expect(rootsKey([])).not.toBe(rootsKey('refused'));
});
