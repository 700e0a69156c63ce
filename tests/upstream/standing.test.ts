/** What keeps a conversation from being ended for want of calls. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { createStanding } from '../../src/upstream/standing.ts';
import { cleanup } from './world.ts';

beforeEach(() => {
  vi.useFakeTimers();
  cleanup(() => vi.useRealTimers());
});

const task = (status: string, more: object = {}) => ({ taskId: 't', status, ...more });

describe('a task', () => {
  test.each<[string, (standing: ReturnType<typeof createStanding>) => void]>([
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
    ['its server says that it is cancelled', (one) => one.hear('notifications/tasks/status', task('cancelled'))],
    ['another conversation begins', (one) => one.renew({ request: async () => undefined })],
  ])('is expected from its beginning until %s', (_, end) => {
    const standing = createStanding();
    expect(standing.expected).toBe(false);
    standing.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    standing.note('tools/call', { name: 'x' }, { content: [] });
    standing.note('tasks/get', { taskId: 't' }, task('input_required'));
    standing.hear('notifications/message', task('cancelled'));
    standing.hear('notifications/tasks/status', task('completed'));
    expect(standing.expected).toBe(true);
    end(standing);
    expect(standing.expected).toBe(false);
  });

  test.each([
    [{ ttl: 5000 }, 5000],
    [{ ttl: null }, 24 * 60 * 60_000],
    [{}, 24 * 60 * 60_000],
  ])('with %j is expected for %i ms at most', (more, most) => {
    const standing = createStanding();
    standing.note('tools/call', {}, { resultType: 'task', ...task('working', more) });
    vi.advanceTimersByTime(most - 1);
    expect(standing.expected).toBe(true);
    vi.advanceTimersByTime(1);
    expect(standing.expected).toBe(false);
  });

  test('that its server makes up keeps nothing', () => {
    const standing = createStanding();
    standing.hear('notifications/tasks/status', task('working'));
    expect(standing.expected).toBe(false);
  });

  test('whose result was got is over, whatever is said of its end', () => {
    const standing = createStanding();
    standing.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    standing.note('tasks/result', { taskId: 't' }, { content: [] });
    standing.hear('notifications/tasks/status', task('completed'));
    standing.note('tasks/get', { taskId: 't' }, task('completed'));
    expect(standing.expected).toBe(false);
  });

  test('that is done at once is expected until its result is got', () => {
    const standing = createStanding();
    standing.note('tools/call', { name: 'x', task: {} }, { task: task('completed') });
    expect(standing.expected).toBe(true);
    standing.note('tasks/result', { taskId: 't' }, { content: [] });
    expect(standing.expected).toBe(false);
  });

  test('of another run of mcpx is expected when somebody asks how it goes', () => {
    const standing = createStanding();
    standing.note('tasks/get', { taskId: 't' }, task('working'));
    expect(standing.expected).toBe(true);
  });

  test('is forgotten when a thousand have begun since', () => {
    const standing = createStanding();
    const over = (taskId: string) => standing.hear('notifications/tasks/status', { taskId, status: 'cancelled' });
    for (let n = 0; n <= 1000; n++)
      standing.note('tools/call', { task: {} }, { task: task('working', { taskId: `${n}` }) });
    for (let n = 1; n < 1000; n++) over(`${n}`);
    expect(standing.expected).toBe(true);
    over('1000');
    expect(standing.expected).toBe(false);
  });
});

test('only what lasts is looked at', () => {
  const { lasts } = createStanding();
  expect(lasts('tools/call', { name: 'x' })).toBe(false);
  expect(lasts('tools/call', { name: 'x', task: {} })).toBe(true);
  expect(['tasks/get', 'resources/subscribe', 'resources/read'].map((method) => lasts(method, {}))).toEqual([
    true,
    true,
    false,
  ]);
});
