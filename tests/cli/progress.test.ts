/** The spinner or the line about a long wait, on a terminal. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { note } from '../../src/cli/output.ts';
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

const ERASE = '\r\u001B[K';
/** The frame at that place, as it is drawn. */
const frame = (index: number, text: string) =>
  `${ERASE}${(process.platform === 'win32' ? '-\\|/' : '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏')[index]} ${text}`;

test('a spinner comes after 200 ms, turns, and leaves nothing', async () => {
  const { promise, resolve } = held<number>();
  const waiting = whileWaiting('running it', promise, never());
  await vi.advanceTimersByTimeAsync(199);
  expect(shown.stderr).toBe('');
  await vi.advanceTimersByTimeAsync(1);
  expect(shown.stderr).toBe(frame(0, 'running it …'));
  await vi.advanceTimersByTimeAsync(80);
  expect(shown.stderr).toBe(frame(0, 'running it …') + frame(1, 'running it …'));
  resolve(1);
  expect(await waiting).toBe(1);
  expect(shown.stderr.endsWith(`running it …${ERASE}`)).toBe(true);
  const length = shown.stderr.length;
  await vi.advanceTimersByTimeAsync(1000);
  expect(shown.stderr).toHaveLength(length);
});

test('another line erases the spinner first, and the next frame draws it again', async () => {
  const work = held<number>();
  const waiting = whileWaiting('running it', work.promise, never());
  await vi.advanceTimersByTimeAsync(200);
  note('a note');
  await vi.advanceTimersByTimeAsync(80);
  expect(shown.stderr).toBe(`${frame(0, 'running it …')}${ERASE}a note\n${frame(1, 'running it …')}`);
  work.resolve(1);
  await waiting;
});

test.each([
  ['CI', '1'],
  ['TERM', 'dumb'],
])('with %s=%s it is one line', async (name, value) => {
  vi.stubEnv(name, value);
  const work = held<number>();
  const waiting = whileWaiting('running it', work.promise, never());
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown.stderr).toBe('running it …\n');
  work.resolve(1);
  await waiting;
});

test('without a terminal nothing is shown', async () => {
  process.stderr.isTTY = false;
  const work = held<number>();
  const waiting = whileWaiting('running it', work.promise, never());
  await vi.advanceTimersByTimeAsync(5000);
  work.resolve(1);
  await waiting;
  expect(shown.stderr).toBe('');
});

test('waits for the answer to a question, and then for as long as ever', async () => {
  const question = held<string>();
  const work = held<number>();
  const waiting = whileWaiting('running it', (aside) => aside(question.promise).then(() => work.promise), never());
  await vi.advanceTimersByTimeAsync(5000);
  expect(shown.stderr).toBe('');
  question.resolve('yes');
  await vi.advanceTimersByTimeAsync(200);
  expect(shown.stderr).toBe(frame(0, 'running it …'));
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
