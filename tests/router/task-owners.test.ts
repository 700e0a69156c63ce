/** Whose task is whose. */
import { expect, test } from 'vitest';
import { createTaskOwners } from '../../src/router/task-owners.ts';
import type { Connection } from '../../src/upstream/connection-interface.ts';

const connectionTo = (name: string) => ({ name, state: { kind: 'ready', since: 0 } }) as Connection;
const [one, two] = [connectionTo('one'), connectionTo('two')];
const begun = (taskId: unknown) => ({ task: { taskId, status: 'working' } });

test('a task is known to who began it, in either era, and to nobody else', () => {
  const tasks = createTaskOwners();
  const mine = tasks.of({ holder: 'a', known: 'by session' });
  const other = tasks.of({ holder: 'b', known: 'by session' });
  mine.note(one, begun('t1'));
  mine.note(two, { resultType: 'task', taskId: 't2', status: 'working' });
  for (const odd of [undefined, 'x', {}, { taskId: 't3' }, begun(5), { task: 't3' }]) mine.note(one, odd);
  expect(['t1', 't2', 't3', '5'].map(mine.servers)).toEqual([['one'], ['two'], [], []]);
  expect(['t1', 't2'].map(other.servers)).toEqual([[], []]);
});

test('a task is where it was begun, as long as that is there', () => {
  const mine = createTaskOwners().of({ holder: 'a', known: 'by session' });
  const via = connectionTo('one');
  mine.note(via, begun('t'));
  mine.note(one, begun('other'));
  expect([mine.via('t', 'one'), mine.via('t', 'two'), mine.via('other', 'one')]).toEqual([via, undefined, one]);
  expect(mine.via('t', 'one')).toBe(via);
  Object.assign(via, { state: { kind: 'closed' } });
  expect(mine.via('t', 'one')).toBeUndefined();
  expect(mine.servers('t')).toEqual(['one']);
});

test('a task of a process per call is asked for where a call would go now', () => {
  const mine = createTaskOwners().of({ holder: 'a', known: 'by session' });
  const via = { ...connectionTo('one'), perCall: true } as Connection;
  mine.note(via, begun('t'));
  expect([mine.via('t', 'one'), mine.servers('t')]).toEqual([undefined, ['one']]);
});

test('ids that servers chose alike take nothing from each other', () => {
  const tasks = createTaskOwners();
  const [mine, other] = [
    tasks.of({ holder: 'a', known: 'by session' }),
    tasks.of({ holder: 'b', known: 'by session' }),
  ];
  mine.note(one, begun('t'));
  other.note(two, begun('t'));
  expect([mine.servers('t'), other.servers('t')]).toEqual([['one'], ['two']]);
  mine.note(two, begun('t'));
  expect([mine.servers('t'), other.servers('t')]).toEqual([['one', 'two'], ['two']]);
});

test('one from before may be anybody’s where there are no tokens, and is nobody’s where there are', () => {
  const tasks = createTaskOwners();
  const session = tasks.of({ holder: 'a', known: 'by session' });
  const token = tasks.of({ holder: 'token a', known: 'by token' });
  token.note(one, begun('known'));
  expect([session.mayOwn('old'), session.mayOwn('known'), token.mayOwn('old')]).toEqual([true, false, false]);
});

test('the oldest are forgotten', () => {
  const mine = createTaskOwners().of({ holder: 'a', known: 'by token' });
  for (let i = 0; i <= 10_000; i++) mine.note(one, begun(`t${i}`));
  expect([mine.servers('t0'), mine.servers('t1')]).toEqual([[], ['one']]);
});

test('a client that begins many tasks forgets its own, and others can still ask for theirs', () => {
  const tasks = createTaskOwners(3);
  const own = (holder: string) => tasks.of({ holder, known: 'by token' });
  own('quiet').note(one, begun('q1'));
  for (const id of ['b1', 'b2', 'b3', 'b4']) own('busy').note(one, begun(id));
  expect(own('quiet').servers('q1')).toEqual([one.name]);
  expect(['b1', 'b2', 'b3', 'b4'].map((id) => own('busy').servers(id).length)).toEqual([0, 0, 1, 1]);
  own('third').note(one, begun('t1'));
  expect([own('busy').servers('b3'), own('third').via('t1', one.name)]).toEqual([[], one]);
});
