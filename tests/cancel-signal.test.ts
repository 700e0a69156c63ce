/** The genuine AbortSignal of a request: what Node and other people's code do with it. */
import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { toAbortSignal } from '../src/cancel-signal.ts';
import { IncomingCall } from '../src/wire/incoming-request.ts';

const call = () =>
  new IncomingCall({ jsonrpc: '2.0', id: 1, method: 'm' }, () => undefined, {
    origin: undefined,
    attribution: undefined,
  });

test('is aborted with the request, and AbortSignal.any accepts it', () => {
  const incoming = call();
  const signal = toAbortSignal(incoming.signal);
  const any = AbortSignal.any([signal, new AbortController().signal]);
  expect([signal instanceof AbortSignal, signal.aborted, any.aborted]).toEqual([true, false, false]);
  incoming.abort('no longer wanted');
  expect(signal.reason).toMatchObject({ name: 'AbortError', message: 'no longer wanted' });
  expect(any.reason).toBe(signal.reason);
});

test('of a request that was cancelled before is aborted from the start', () => {
  const incoming = call();
  incoming.abort('enough');
  expect(toAbortSignal(incoming.signal).aborted).toBe(true);
});

test('is the signal itself, if that is genuine', () => {
  const { signal } = new AbortController();
  expect(toAbortSignal(signal)).toBe(signal);
});

test('ends what waits in a function of Node', async () => {
  const incoming = call();
  const waiting = delay(60_000, undefined, { signal: toAbortSignal(incoming.signal) });
  incoming.abort('enough');
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});
