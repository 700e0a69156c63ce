/** Running tasks keep a connection open although it has no calls. */
import { beforeEach, describe, expect, test, vi } from 'vitest';
import { concernsTask } from '../../../src/mcp/tasks.ts';
import { createRunningTasks } from '../../../src/upstream/lifecycle/running-tasks.ts';
import { cleanup } from '../world.ts';

beforeEach(() => {
  vi.useFakeTimers();
  cleanup(() => vi.useRealTimers());
});

const task = (status: string, more: object = {}) => ({ taskId: 't', status, ...more });

describe('a task', () => {
  test.each<[string, (tasks: ReturnType<typeof createRunningTasks>) => void]>([
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
    ['another conversation begins', (one) => one.clear()],
  ])('is expected from its beginning until %s', (_, end) => {
    const tasks = createRunningTasks();
    expect(tasks.isRunning).toBe(false);
    tasks.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    tasks.note('tools/call', { name: 'x' }, { content: [] });
    tasks.note('tasks/get', { taskId: 't' }, task('input_required'));
    tasks.onNotification('notifications/message', task('cancelled'));
    tasks.onNotification('notifications/tasks/status', task('completed'));
    expect(tasks.isRunning).toBe(true);
    end(tasks);
    expect(tasks.isRunning).toBe(false);
  });

  test.each([
    [{ ttl: 5000 }, 5000],
    [{ ttl: null }, 24 * 60 * 60_000],
    [{}, 24 * 60 * 60_000],
  ])('with %j is expected for %i ms at most', (more, most) => {
    const tasks = createRunningTasks();
    tasks.note('tools/call', {}, { resultType: 'task', ...task('working', more) });
    vi.advanceTimersByTime(most - 1);
    expect(tasks.isRunning).toBe(true);
    vi.advanceTimersByTime(1);
    expect(tasks.isRunning).toBe(false);
  });

  test('that its server makes up keeps nothing', () => {
    const tasks = createRunningTasks();
    tasks.onNotification('notifications/tasks/status', task('working'));
    expect(tasks.isRunning).toBe(false);
  });

  test('whose result was got is over, whatever is said of its end', () => {
    const tasks = createRunningTasks();
    tasks.note('tools/call', { name: 'x', task: {} }, { task: task('working') });
    tasks.note('tasks/result', { taskId: 't' }, { content: [] });
    tasks.onNotification('notifications/tasks/status', task('completed'));
    tasks.note('tasks/get', { taskId: 't' }, task('completed'));
    expect(tasks.isRunning).toBe(false);
  });

  test('that is done at once is expected until its result is got', () => {
    const tasks = createRunningTasks();
    tasks.note('tools/call', { name: 'x', task: {} }, { task: task('completed') });
    expect(tasks.isRunning).toBe(true);
    tasks.note('tasks/result', { taskId: 't' }, { content: [] });
    expect(tasks.isRunning).toBe(false);
  });

  test('of another run of mcpx is expected when somebody asks how it goes', () => {
    const tasks = createRunningTasks();
    tasks.note('tasks/get', { taskId: 't' }, task('working'));
    expect(tasks.isRunning).toBe(true);
  });

  test('is forgotten when a thousand have begun since', () => {
    const tasks = createRunningTasks();
    const over = (taskId: string) =>
      tasks.onNotification('notifications/tasks/status', { taskId, status: 'cancelled' });
    for (let n = 0; n <= 1000; n++)
      tasks.note('tools/call', { task: {} }, { task: task('working', { taskId: `${n}` }) });
    for (let n = 1; n < 1000; n++) over(`${n}`);
    expect(tasks.isRunning).toBe(true);
    over('1000');
    expect(tasks.isRunning).toBe(false);
  });
});

test('only requests that begin a task or are about one are followed', () => {
  expect(concernsTask('tools/call', { name: 'x' })).toBe(false);
  expect(concernsTask('tools/call', { name: 'x', task: {} })).toBe(true);
  expect(['tasks/get', 'resources/subscribe'].map((method) => concernsTask(method, {}))).toEqual([true, false]);
});
