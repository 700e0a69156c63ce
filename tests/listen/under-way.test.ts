/** Requests under way, and who is told that an answer is slow. */
import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { Trace } from '../../src/listen/trace.ts';
import { createUnderWay } from '../../src/listen/under-way.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const trace = (id: string) => new Trace(id, '::1', {} as ServerResponse);

function stage() {
  const looks: string[][] = [];
  const underWay = createUnderWay((all) => void looks.push([...all].map(({ request }) => request)));
  const names = () => [...underWay].map(({ request }) => request);
  return { underWay, looks, names };
}

test('they are in the order in which they came, wherever others leave', () => {
  const { underWay, names } = stage();
  const [a, b, c, d] = [trace('a'), trace('b'), trace('c'), trace('d')];
  for (const one of [a, b, c, d]) underWay.add(one);
  underWay.remove(b);
  expect(names()).toEqual(['a', 'c', 'd']);
  underWay.remove(a);
  underWay.remove(d);
  expect(names()).toEqual(['c']);
  underWay.remove(c);
  expect(names()).toEqual([]);
  underWay.add(b);
  expect(names()).toEqual(['b']);
  expect([b.before, b.after, a.before, a.after, c.before, c.after]).toEqual(Array(6).fill(undefined));
});

test('one may leave while they are looked at', () => {
  const { underWay } = stage();
  const all = ['a', 'b', 'c'].map(trace);
  for (const one of all) underWay.add(one);
  const seen: string[] = [];
  for (const one of underWay) {
    seen.push(one.request);
    underWay.remove(one);
  }
  expect(seen).toEqual(['a', 'b', 'c']);
  expect([...underWay]).toEqual([]);
});

test('they are looked at while there are any, and nothing is left running after the last', () => {
  const { underWay, looks } = stage();
  const a = trace('a');
  underWay.add(a);
  vi.advanceTimersByTime(300);
  expect(looks).toEqual([['a'], ['a']]);
  underWay.remove(a);
  vi.advanceTimersByTime(1000);
  expect(looks).toEqual([['a'], ['a'], []]);
  expect(vi.getTimerCount()).toBe(0);
  underWay.add(trace('b'));
  expect(vi.getTimerCount()).toBe(1);
  underWay.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('whoever waits for a slow answer is told once, after half a second', () => {
  const { underWay } = stage();
  const told: string[] = [];
  const add = (id: string) => {
    const one = trace(id);
    one.whenSlow = { slow: () => void told.push(id) };
    underWay.add(one);
    return one;
  };
  add('early');
  const gone = add('gone');
  vi.advanceTimersByTime(300);
  add('late');
  underWay.remove(gone);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(400);
  expect(told).toEqual(['early']);
  vi.advanceTimersByTime(2000);
  expect(told).toEqual(['early', 'late']);
});
