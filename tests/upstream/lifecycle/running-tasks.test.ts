/** Subscriptions keep a connection open although it has no calls. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createResubscriber } from '../../../src/upstream/lifecycle/resubscribe.ts';
import { cleanup } from '../world.ts';

beforeEach(() => {
  vi.useFakeTimers();
  cleanup(() => vi.useRealTimers());
});

const task = (status: string, more: object = {}) => ({ taskId: 't', status, ...more });

describe('a task', () => {
  test.each<[string, (resubscriber: ReturnType<typeof createResubscriber>) => void]>([
    [
      'its result comes with its status',
      (one) => one.note('tasks/get', { taskId: 't' }, task('completed', { result: {} })),
    ],
    [
      'its failure comes with its status',
      (one) => one.note('tasks/get', { taskId: 't' }, task('failed', { error: {} })),
    ],
    ['it is cancelled', (one) => one.note('tasks/cancel', { taskId: 't' }, task('cancelled'))],
    ['its result is got', (one) => one.note('tasks/result', { taskId: 't' }, { content: [] })],
    [
      'its server says that it is cancelled',
      (one) => one.onNotification('notifications/tasks/status', task('cancelled')),
    ],
    ['another conversation begins', (one) => one.resubscribe({ request: async () => undefined })],
  ])('is expected from its beginning until %s', (_, end) => {
    const resubscriber = createResubscriber();
    expect(resubscriber.hasSubscribers).toBe(false);
    resubscriber.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    resubscriber.note('tools/call', { name: 'x' }, { content: [] });
    resubscriber.note('tasks/get', { taskId: 't' }, task('input_required'));
    resubscriber.onNotification('notifications/message', task('cancelled'));
    resubscriber.onNotification('notifications/tasks/status', task('completed'));
    expect(resubscriber.hasSubscribers).toBe(true);
    end(resubscriber);
    expect(resubscriber.hasSubscribers).toBe(false);
  });

  test.each([
    [{ ttl: 5000 }, 5000],
    [{ ttl: null }, 24 * 60 * 60_000],
    [{}, 24 * 60 * 60_000],
  ])('with %j is expected for %i ms at most', (more, most) => {
    const resubscriber = createResubscriber();
    resubscriber.note('tools/call', {}, { resultType: 'task', ...task('working', more) });
    vi.advanceTimersByTime(most - 1);
    expect(resubscriber.hasSubscribers).toBe(true);
    vi.advanceTimersByTime(1);
    expect(resubscriber.hasSubscribers).toBe(false);
  });

  test('that its server makes up keeps nothing', () => {
    const resubscriber = createResubscriber();
    resubscriber.onNotification('notifications/tasks/status', task('working'));
    expect(resubscriber.hasSubscribers).toBe(false);
  });

  test('whose result was got is over, whatever is said of its end', () => {
    const resubscriber = createResubscriber();
    resubscriber.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    resubscriber.note('tasks/result', { taskId: 't' }, { content: [] });
    resubscriber.onNotification('notifications/tasks/status', task('completed'));
    resubscriber.note('tasks/get', { taskId: 't' }, task('completed'));
    expect(resubscriber.hasSubscribers).toBe(false);
  });

  test('that is done at once is expected until its result is got', () => {
    const resubscriber = createResubscriber();
    resubscriber.note('tools/call', { name: 'x', task: {} }, { task: task('completed') });
    expect(resubscriber.hasSubscribers).toBe(true);
    resubscriber.note('tasks/result', { taskId: 't' }, { content: [] });
    expect(resubscriber.hasSubscribers).toBe(false);
  });

  test('of another run of mcpx is expected when somebody asks how it goes', () => {
    const resubscriber = createResubscriber();
    resubscriber.note('tasks/get', { taskId: 't' }, task('working'));
    expect(resubscriber.hasSubscribers).toBe(true);
  });

  test('is forgotten when a thousand have begun since', () => {
    const resubscriber = createResubscriber();
    const over = (taskId: string) =>
      resubscriber.onNotification('notifications/tasks/status', { taskId, status: 'cancelled' });
    for (let n = 0; n <= 1000; n++)
      resubscriber.note('tools/call', { task: {} }, { task: task('working', { taskId: `${n}` }) });
    for (let n = 1; n < 1000; n++) over(`${n}`);
    expect(resubscriber.hasSubscribers).toBe(true);
    over('1000');
    expect(resubscriber.hasSubscribers).toBe(false);
  });
});

test('only what lasts is looked at', () => {
  const { isLasting } = createResubscriber();
  expect(isLasting('tools/call', { name: 'x' })).toBe(false);
  expect(isLasting('tools/call', { name: 'x', task: {} })).toBe(true);
  expect(['tasks/get', 'resources/subscribe', 'resources/read'].map((method) => isLasting(method, {}))).toEqual([
    true,
    true,
    false,
  ]);
});
