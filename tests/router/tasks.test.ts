/** Whose task is whose. */
import { expect, test } from 'vitest';
import { createTasks } from '../../src/router/tasks.ts';

const begun = (taskId: unknown) => ({ task: { taskId, status: 'working' } });

test('a task is known to who began it, in either era, and to nobody else', () => {
  const tasks = createTasks();
  const mine = tasks.of({ holder: 'a', known: 'by session' });
  const other = tasks.of({ holder: 'b', known: 'by session' });
  mine.note('one', begun('t1'));
  mine.note('two', { resultType: 'task', taskId: 't2', status: 'working' });
  for (const odd of [undefined, 'x', {}, { taskId: 't3' }, begun(5), { task: 't3' }]) mine.note('one', odd);
  expect(['t1', 't2', 't3', '5'].map(mine.server)).toEqual(['one', 'two', undefined, undefined]);
  expect(['t1', 't2'].map(other.server)).toEqual([undefined, undefined]);
});

test('one from before may be anybody’s where there are no tokens, and is nobody’s where there are', () => {
  const tasks = createTasks();
  const session = tasks.of({ holder: 'a', known: 'by session' });
  const token = tasks.of({ holder: 'token a', known: 'by token' });
  token.note('one', begun('known'));
  expect([session.mayOwn('old'), session.mayOwn('known'), token.mayOwn('old')]).toEqual([true, false, false]);
});

test('the oldest are forgotten', () => {
  const mine = createTasks().of({ holder: 'a', known: 'by token' });
  for (let i = 0; i <= 10_000; i++) mine.note('one', begun(`t${i}`));
  expect([mine.server('t0'), mine.server('t1')]).toEqual([undefined, 'one']);
});
