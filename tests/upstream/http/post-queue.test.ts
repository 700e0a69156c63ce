/** Answers and notifications that wait for an upstream over HTTP. */
import { expect, test } from 'vitest';
import { createPostQueue } from '../../../src/upstream/http/post-queue.ts';

/** A queue whose POSTs end when the test says so. */
function stage(options: { most?: number; waiting?: number } = {}) {
  const queue = createPostQueue({ name: 'x', ...options });
  const begun: string[] = [];
  const ends = new Map<string, () => void>();
  const add = (name: string, size = 1) =>
    queue.add(size, () => {
      begun.push(name);
      return new Promise((resolve) => ends.set(name, resolve));
    });
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { queue, begun, add, end };
}

test('so many are sent at a time, and the others follow in order', async () => {
  const { begun, add, end } = stage({ most: 2 });
  for (const name of ['a', 'b', 'c', 'd']) add(name);
  expect(begun).toEqual(['a', 'b']);
  await end('b');
  expect(begun).toEqual(['a', 'b', 'c']);
  await end('a');
  await end('c');
  await end('d');
  add('e');
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
});

test('more than may wait is refused, by number and by size', async () => {
  const few = stage({ most: 1, waiting: 2 });
  for (const name of ['a', 'b', 'c']) few.add(name);
  expect(() => few.add('d')).toThrow('server "x" does not take answers: 2 wait already');
  await few.end('a');
  few.add('d');
  const large = stage({ most: 1 });
  large.add('a');
  large.add('b', 16 * 1024 * 1024);
  expect(() => large.add('c')).toThrow('server "x" does not take answers: 1 wait already');
  await large.end('a');
  large.add('c');
});

test('what waits at the end is never sent', async () => {
  const { queue, begun, add, end } = stage({ most: 1 });
  add('a');
  add('b');
  queue.clear();
  await end('a');
  expect(begun).toEqual(['a']);
});
