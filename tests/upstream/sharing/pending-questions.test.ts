/** Where calls go while clients have questions to answer. */
import { expect, test } from 'vitest';
import type { Connection } from '../../../src/upstream/connection-interface.ts';
import { createPendingQuestions } from '../../../src/upstream/sharing/pending-questions.ts';

function stage() {
  const rested: number[] = [];
  const connections = new Map<number, Connection>();
  const at = (place: number): Connection => {
    const made = { hasSubscribers: false, stopIdle: async () => void rested.push(place) } as unknown as Connection;
    const found = connections.get(place) ?? made;
    connections.set(place, found);
    return found;
  };
  const questions = createPendingQuestions();
  return { rested, at, questions, placeFor: (key: string, holder?: string) => questions.placeFor({ key, holder }, at) };
}

test('without a question everybody goes to the first', () => {
  const { placeFor } = stage();
  expect(['a', 'b'].map((key) => placeFor(key))).toEqual([0, 0]);
});

test('a client with a question stays, others go where nobody has one, until all are answered', () => {
  const { at, questions, placeFor, rested } = stage();
  const first = questions.begin(at(0), { key: 'a' });
  const second = questions.begin(at(0), { key: 'a' });
  expect(['a', 'b', 'c'].map((key) => placeFor(key))).toEqual([0, 1, 1]);
  const third = questions.begin(at(1), { key: 'b' });
  expect(['a', 'b', 'c'].map((key) => placeFor(key))).toEqual([0, 1, 2]);
  first();
  expect(placeFor('c')).toBe(2);
  second();
  expect(placeFor('c')).toBe(0);
  expect(rested).toEqual([]);
  third();
  expect(rested.sort()).toEqual([1, 2]);
});

test('a question of one request keeps even the same client away', () => {
  const { at, questions, placeFor } = stage();
  questions.begin(at(0), { key: undefined });
  expect(placeFor('a')).toBe(1);
});

test('there are eight at most; who comes later goes to the first', () => {
  const { at, questions, placeFor } = stage();
  for (let place = 0; place < 8; place += 1) {
    expect(placeFor('other')).toBe(place);
    questions.begin(at(place), { key: `client ${place}` });
  }
  expect(placeFor('other')).toBe(0);
  expect(placeFor('client 3')).toBe(3);
});

test('a holder with many clients keeps to its share, so that others find a place', () => {
  const { at, questions, placeFor } = stage();
  const places = Array.from({ length: 10 }, (_, client) => {
    const place = placeFor(`client ${client}`, 'token "greedy"');
    questions.begin(at(place), { key: undefined, holder: 'token "greedy"' });
    return place;
  });
  expect(places).toEqual([0, 1, 2, 3, 4, 5, 0, 0, 0, 0]);
  expect(placeFor('other', 'token "modest"')).toBe(6);
});
