/** The line about a long wait, on a terminal. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { whileWaiting } from '../../src/cli/progress.ts';
import { captureOutput } from '../setup/output.ts';

const shown = captureOutput();
const wasTerminal = process.stderr.isTTY;

beforeEach(() => {
  process.stderr.isTTY = true;
  vi.useFakeTimers();
  vi.stubEnv('NO_COLOR', '1');
});
afterEach(() => {
  process.stderr.isTTY = wasTerminal;
  vi.useRealTimers();
  vi.unstubAllEnvs();
});

const never = () => new AbortController().signal;

function held<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

test('comes once, when it takes a while', async () => {
  const { promise, resolve } = held<number>();
  const waiting = whileWaiting('running it', promise, never());
  await vi.advanceTimersByTimeAsync(499);
  expect(shown.stderr).toBe('');
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown.stderr).toBe('running it …\n');
  resolve(1);
  expect(await waiting).toBe(1);
});

test('waits for the answer to a question, and then for as long as ever', async () => {
  const question = held<string>();
  const work = held<number>();
  const waiting = whileWaiting('running it', (aside) => aside(question.promise).then(() => work.promise), never());
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown.stderr).toBe('');
  question.resolve('yes');
  await vi.advanceTimersByTimeAsync(500);
  expect(shown.stderr).toBe('running it …\n');
  work.resolve(1);
  expect(await waiting).toBe(1);
});

test('does not come after the end, where a question was left open', async () => {
  const stop = new AbortController();
  const question = held<string>();
  const waiting = whileWaiting('running it', (aside) => aside(question.promise), stop.signal);
  stop.abort();
  await expect(waiting).rejects.toMatchObject({ code: 'cancelled' });
  question.resolve('too late');
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown.stderr).toBe('');
});
