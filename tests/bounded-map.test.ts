/** The one map that forgets: the entry that was set least recently makes room. */
import { expect, test } from 'vitest';
import { BoundedMap } from '../src/bounded-map.ts';

test('a further entry replaces the one that was set least recently', () => {
  const map = new BoundedMap<string, number>(2);
  map.set('a', 1).set('b', 2).set('a', 3).set('c', 4);
  expect([...map]).toEqual([
    ['a', 3],
    ['c', 4],
  ]);
});

test('reading an entry does not make it newer, and a removed one leaves room', () => {
  const map = new BoundedMap<string, number>(2).set('a', 1).set('b', 2);
  map.get('a');
  map.set('c', 3);
  expect([...map.keys()]).toEqual(['b', 'c']);
  map.delete('b');
  expect([...map.set('d', 4).keys()]).toEqual(['c', 'd']);
});
